"""Writes the tables of every field of Ray's kinds, and what Rayward does with each.

``python tools/fields.py`` writes ``docs/reference/raycluster-fields.md`` and its like of the other kinds from the
definitions that ship and from the sentences below. A field that has no sentence stops it.
"""

# ruff: noqa: E501 - a row is a line

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from rayward.kinds import crds

Object = dict[str, Any]

_DOCS: Final = Path(__file__).parents[1] / "docs" / "reference"

KUBERNETES: Final = (
    "spec.headGroupSpec.template",
    "spec.workerGroupSpecs[].template",
    "spec.headGroupSpec.headService",
    "spec.headGroupSpec.ingressOptions.tls",
    "spec.autoscalerOptions.env",
    "spec.autoscalerOptions.envFrom",
    "spec.autoscalerOptions.resources",
    "spec.autoscalerOptions.securityContext",
    "spec.autoscalerOptions.volumeMounts",
    "spec.gcsFaultToleranceOptions.redisPassword.valueFrom",
    "spec.gcsFaultToleranceOptions.redisUsername.valueFrom",
    "spec.historyServerOptions.collectorOptions.env",
    "spec.historyServerOptions.collectorOptions.resources",
    "spec.networkPolicy.head",
    "spec.networkPolicy.worker",
    "spec.networkPolicy.workerGroups[].ingressRules",
    "spec.networkPolicy.workerGroups[].egressRules",
    "spec.serveService",
    "status.conditions",
    "status.activeServiceStatus.rayClusterStatus",
    "status.pendingServiceStatus",
    "spec.rayClusterConfig",
    "spec.rayClusterSpec",
    "spec.submitterPodTemplate",
    "spec.jobTemplate",
    "status.rayClusterStatus",
    "metadata",
)
"""Fields whose row is for all that is inside them: Kubernetes' own types, and what another row or page tells."""


class Effect(StrEnum):
    """What becomes of a field. ``tests/docs/test_field_effects.py`` holds each row to it by running the code."""

    SERVER = "read by the API server"
    HONOURED = "honoured"
    """What the operator makes, writes or decides is another thing with it."""
    READ_BY_RAY = "read by Ray"
    """Ray's autoscaler reads it from the RayCluster; the operator makes nothing of it."""
    WARNED = "warned of"
    REJECTED = "rejected"
    REPORTED = "reported"
    """The operator writes it into the status."""
    UNSET = "never set"


class Row(NamedTuple):
    """What Rayward does with a field: in one word, and in a sentence."""

    effect: Effect
    says: str


_Rows = Callable[[str], Row]
server: Final[_Rows] = partial(Row, Effect.SERVER)
honoured: Final[_Rows] = partial(Row, Effect.HONOURED)
read_by_ray: Final[_Rows] = partial(Row, Effect.READ_BY_RAY)
warned: Final[_Rows] = partial(Row, Effect.WARNED)
rejected: Final[_Rows] = partial(Row, Effect.REJECTED)
reported: Final[_Rows] = partial(Row, Effect.REPORTED)
unset: Final[_Rows] = partial(Row, Effect.UNSET)

_OBJECT: Final = {
    "apiVersion": server("`ray.io/v1`; `v1alpha1` is read too"),
    "kind": server("names the kind"),
    "metadata": honoured(
        "`name` and `namespace` as Kubernetes has them; `labels` that name a queue make it wait for quota, "
        "`annotations` under `rayward.dev/` are [commands](annotations.md)"
    ),
}

CLUSTER: Final[dict[str, Row]] = {
    **_OBJECT,
    "spec": honoured("validated as a whole; a rejected one sets `Stalled` and what runs stays"),
    "spec.authOptions": honoured("Ray asks callers for a token"),
    "spec.authOptions.enableK8sTokenAuth": honoured("lets the API server judge callers by their Kubernetes tokens"),
    "spec.authOptions.mode": honoured("`token` makes a Secret and hands it to every pod; options without a mode warn"),
    "spec.authOptions.secretName": honoured(
        "takes the token from this Secret instead of making one; with mode `disabled` it warns"
    ),
    "spec.autoscalerOptions": honoured(
        "shapes the autoscaler's container; without `enableInTreeAutoscaling` an event warns"
    ),
    "spec.autoscalerOptions.args": honoured("replaces the arguments of the autoscaler"),
    "spec.autoscalerOptions.command": honoured(
        "replaces its command; the usual one is in `KUBERAY_GEN_AUTOSCALER_START_CMD`"
    ),
    "spec.autoscalerOptions.env": honoured("is added to its container"),
    "spec.autoscalerOptions.envFrom": honoured("is added to its container"),
    "spec.autoscalerOptions.idleTimeoutSeconds": read_by_ray("the autoscaler reads it from the object: 60 if unset"),
    "spec.autoscalerOptions.image": honoured("is the image of its container; the head's if unset"),
    "spec.autoscalerOptions.imagePullPolicy": honoured("is set on its container"),
    "spec.autoscalerOptions.resources": honoured("replaces 500m and 512Mi of its container"),
    "spec.autoscalerOptions.securityContext": honoured("is set on its container"),
    "spec.autoscalerOptions.upscalingMode": read_by_ray("the autoscaler reads it from the object"),
    "spec.autoscalerOptions.version": honoured(
        "`v2` or `v1`; Ray decides if unset, and a variable that says otherwise is rejected"
    ),
    "spec.autoscalerOptions.volumeMounts": honoured("is added to its container"),
    "spec.enableInTreeAutoscaling": honoured(
        "adds the autoscaler's container, account, role and binding; then the autoscaler owns `replicas`"
    ),
    "spec.gcsFaultToleranceOptions": honoured("keeps the head's state, so that workers and replicas outlive the head"),
    "spec.gcsFaultToleranceOptions.backend": honoured("`redis` or `rocksdb`; a change is rejected"),
    "spec.gcsFaultToleranceOptions.externalStorageNamespace": honoured(
        "names the keys in Redis; the cluster's uid if unset"
    ),
    "spec.gcsFaultToleranceOptions.redisAddress": honoured("is handed to the head as `RAY_REDIS_ADDRESS`"),
    "spec.gcsFaultToleranceOptions.redisPassword": honoured(
        "is handed to the head, and to the Job that removes the keys in the end"
    ),
    "spec.gcsFaultToleranceOptions.redisPassword.value": honoured("the password itself"),
    "spec.gcsFaultToleranceOptions.redisPassword.valueFrom": honoured("the password from a Secret"),
    "spec.gcsFaultToleranceOptions.redisUsername": honoured("is handed over with the password"),
    "spec.gcsFaultToleranceOptions.redisUsername.value": honoured("the name itself"),
    "spec.gcsFaultToleranceOptions.redisUsername.valueFrom": honoured("the name from a Secret"),
    "spec.gcsFaultToleranceOptions.storage": honoured("makes or takes the volume for `rocksdb`"),
    "spec.gcsFaultToleranceOptions.storage.accessModes": honoured(
        "of the claim that is made: `[ReadWriteOnce]` if unset"
    ),
    "spec.gcsFaultToleranceOptions.storage.claimName": honoured(
        "takes this claim instead of making one; in a RayService, whose releases would share it, it warns"
    ),
    "spec.gcsFaultToleranceOptions.storage.deletionPolicy": honoured(
        "`Retain` keeps the claim when the cluster goes; beside `claimName` it warns"
    ),
    "spec.gcsFaultToleranceOptions.storage.size": honoured("of the claim that is made: 1Gi if unset"),
    "spec.gcsFaultToleranceOptions.storage.storageClassName": honoured("of the claim that is made"),
    "spec.gcsFaultToleranceOptions.storage.subPath": honoured("the folder of the volume that is mounted"),
    "spec.headGroupSpec": honoured("makes the one head pod and its Service"),
    "spec.headGroupSpec.enableIngress": honoured(
        "makes an Ingress to the dashboard; on the local stack an event warns that nobody serves it"
    ),
    "spec.headGroupSpec.headService": honoured("is completed and used in place of the head's Service"),
    "spec.headGroupSpec.ingressOptions": honoured("shapes the Ingress"),
    "spec.headGroupSpec.ingressOptions.host": honoured("the host of its rule"),
    "spec.headGroupSpec.ingressOptions.path": honoured("the path of its rule"),
    "spec.headGroupSpec.ingressOptions.pathType": honoured("the path's type: `Prefix` if unset"),
    "spec.headGroupSpec.ingressOptions.tls": honoured("is copied to it"),
    "spec.headGroupSpec.labels": honoured("become labels of the pod and of the Ray node"),
    "spec.headGroupSpec.rayResources": honoured("another name of `resources`; numbers may be written as numbers"),
    "spec.headGroupSpec.rayStartParams": honoured(
        "become flags of `ray start`; `num-cpus`, `memory` and the rest come from the container's limits if unset"
    ),
    "spec.headGroupSpec.resources": honoured(
        "is what Ray is told that the pod has; an amount that does not parse is rejected"
    ),
    "spec.headGroupSpec.serviceType": honoured(
        "the type of the head's Service; another word than Kubernetes' is rejected"
    ),
    "spec.headGroupSpec.template": honoured(
        "is the head's pod, completed with what Ray needs; an image that is not the Ray that runs warns"
    ),
    "spec.headServiceAnnotations": honoured("become annotations of the head's Service"),
    "spec.historyServerOptions": rejected("is rejected with `FeatureNotAvailable`"),
    **{
        f"spec.historyServerOptions.collectorOptions{field}": rejected(
            "is rejected with its whole, `historyServerOptions`"
        )
        for field in ("", ".env", ".image", ".imagePullPolicy", ".resources")
    },
    "spec.managedBy": honoured("another controller's name makes Rayward leave the object alone"),
    "spec.networkPolicy": honoured(
        "makes NetworkPolicies; pods of the cluster always reach each other; on the local stack an event warns that nothing enforces them"
    ),
    "spec.networkPolicy.head": honoured("rules for the head, beyond what the cluster needs"),
    "spec.networkPolicy.mode": honoured("what is denied unless allowed"),
    "spec.networkPolicy.worker": honoured("rules for workers"),
    "spec.networkPolicy.workerGroups": honoured("rules for single groups, in place of `worker`"),
    "spec.networkPolicy.workerGroups[].egressRules": honoured("where the group's pods may connect to"),
    "spec.networkPolicy.workerGroups[].groupName": honoured("which group"),
    "spec.networkPolicy.workerGroups[].ingressRules": honoured("who may connect to the group's pods"),
    "spec.rayVersion": honoured("decides which features a pod may use; a Ray that runs with another version warns"),
    "spec.suspend": honoured("deletes the pods and keeps the rest; `Suspended` says when it is done"),
    "spec.tlsOptions": rejected("is rejected with `FeatureNotAvailable` when enabled"),
    "spec.tlsOptions.enabled": rejected("is rejected with `FeatureNotAvailable` when true"),
    "spec.upgradeStrategy": honoured("says what a changed template does to pods that run"),
    "spec.upgradeStrategy.type": honoured(
        "`Recreate` replaces all pods; with `None` they stay, and `Stalled` says that they differ"
    ),
    "spec.workerGroupSpecs": honoured("make groups of equal workers; an event names a group that a merge patch drops"),
    "spec.workerGroupSpecs[].groupName": honoured("names pods and labels; two of one name are rejected"),
    "spec.workerGroupSpecs[].idleTimeoutSeconds": read_by_ray(
        "autoscaler v2 reads it from the object; rejected without v2"
    ),
    "spec.workerGroupSpecs[].labels": honoured("become labels of the pods and of the Ray nodes"),
    "spec.workerGroupSpecs[].maxReplicas": honoured("the most replicas"),
    "spec.workerGroupSpecs[].minReplicas": honoured("the fewest replicas"),
    "spec.workerGroupSpecs[].numOfHosts": honoured("pods of one replica, which come and go together"),
    "spec.workerGroupSpecs[].priority": read_by_ray("the autoscaler prefers the higher; needs Ray 2.56 and v2"),
    "spec.workerGroupSpecs[].rayResources": honoured("another name of `resources`; numbers may be written as numbers"),
    "spec.workerGroupSpecs[].rayStartParams": honoured("become flags of `ray start`"),
    "spec.workerGroupSpecs[].replicas": honoured(
        "how many replicas there are; left out it is `minReplicas`, as with KubeRay"
    ),
    "spec.workerGroupSpecs[].resources": honoured(
        "is what Ray is told that each pod has; an amount that does not parse is rejected"
    ),
    "spec.workerGroupSpecs[].scaleStrategy": honoured("is the autoscaler's wish"),
    "spec.workerGroupSpecs[].scaleStrategy.workersToDelete": honoured("these pods go first"),
    "spec.workerGroupSpecs[].suspend": honoured("deletes the group's pods and makes no new ones"),
    "spec.workerGroupSpecs[].template": honoured("is each worker's pod, completed with what Ray needs"),
    "status": reported("is written by the operator alone"),
    "status.availableWorkerReplicas": reported("worker pods that run"),
    "status.conditions": reported("[what holds now, and why](status.md)"),
    "status.desiredCPU": reported("what all pods ask for together"),
    "status.desiredGPU": reported("what all pods ask for together"),
    "status.desiredMemory": reported("what all pods ask for together"),
    "status.desiredTPU": reported("what all pods ask for together"),
    "status.desiredWorkerReplicas": reported("worker pods that should be"),
    "status.endpoints": reported("ports of the head's Service by name"),
    "status.head": reported("where the head is"),
    "status.head.podIP": reported("the address of its pod"),
    "status.head.podName": reported("the name of its pod"),
    "status.head.serviceIP": reported("the address of its Service"),
    "status.head.serviceName": reported("the name of its Service"),
    "status.lastUpdateTime": reported("when this status was last written"),
    "status.maxWorkerReplicas": reported("the most worker pods"),
    "status.minWorkerReplicas": reported("the fewest worker pods"),
    "status.observedGeneration": reported("moves when a generation is true, or will not become so by itself"),
    "status.readyWorkerReplicas": reported("worker pods that are ready"),
    "status.reason": unset("stays empty, as with KubeRay: conditions say why"),
    "status.state": reported("`ready` or `suspended`; empty before it is either"),
    "status.stateTransitionTimes": reported("when each state was last entered"),
}

_APPLICATIONS: Final = "status.activeServiceStatus.applicationStatuses"
SERVICE: Final[dict[str, Row]] = {
    **_OBJECT,
    "spec": honoured("validated as a whole; a rejected one sets `Stalled` and what serves stays"),
    "spec.deploymentUnhealthyRestartThreshold": honoured(
        "how many new clusters an unhealthy application may get; alone it warns"
    ),
    "spec.deploymentUnhealthySecondThreshold": honoured(
        "after so many seconds unhealthy, applications are started anew, once"
    ),
    "spec.excludeHeadPodFromServeSvc": honoured(
        "keeps requests away from the head's pod; rejected where no worker group may have a worker"
    ),
    "spec.managedBy": honoured("another controller's name makes Rayward leave the object alone"),
    "spec.rayClusterConfig": honoured(
        "is the [RayCluster](raycluster-fields.md) that serves; a changed one is a new cluster beside it"
    ),
    "spec.rayClusterDeletionDelaySeconds": honoured("how long a replaced cluster stays for a return: 60 if unset"),
    "spec.serveConfigV2": honoured(
        "is validated, with line and column, and sent to Serve; a change is made in place and undone if it fails"
    ),
    "spec.serveDeploymentGraphSpec": honoured(
        "the same as `serveConfigV2` written as an object; both at once are rejected"
    ),
    "spec.serveService": honoured("is completed and used in place of the Service that serves"),
    "spec.serviceUnhealthySecondThreshold": warned("an event warns: write `deploymentUnhealthySecondThreshold`"),
    "spec.suspend": honoured("deletes clusters and Services and keeps the object; `Suspended` says when it is done"),
    "spec.upgradeStrategy": honoured("says what a changed cluster does"),
    "spec.upgradeStrategy.clusterUpgradeOptions": warned(
        "an event warns: it belongs to the incremental strategy, which is rejected"
    ),
    "spec.upgradeStrategy.clusterUpgradeOptions.gatewayClassName": warned(
        "an event warns: it belongs to the incremental strategy, which is rejected"
    ),
    "spec.upgradeStrategy.clusterUpgradeOptions.intervalSeconds": warned(
        "an event warns: it belongs to the incremental strategy, which is rejected"
    ),
    "spec.upgradeStrategy.clusterUpgradeOptions.maxSurgePercent": warned(
        "an event warns: it belongs to the incremental strategy, which is rejected"
    ),
    "spec.upgradeStrategy.clusterUpgradeOptions.stepSizePercent": warned(
        "an event warns: it belongs to the incremental strategy, which is rejected"
    ),
    "spec.upgradeStrategy.type": honoured(
        "`NewCluster`, or `None`: the cluster stays, and `Stalled` says that it differs"
    ),
    "status": reported("is written by the operator alone"),
    "status.activeServiceStatus": reported("the cluster that serves"),
    _APPLICATIONS: reported("its applications by name, as the dashboard tells"),
    f"{_APPLICATIONS}{{}}.healthLastUpdateTime": unset(
        "stays unset: of KubeRay's v1alpha1, and Serve does not tell it"
    ),
    f"{_APPLICATIONS}{{}}.message": reported("what Serve says of it"),
    f"{_APPLICATIONS}{{}}.serveDeploymentStatuses": reported("its deployments by name"),
    f"{_APPLICATIONS}{{}}.serveDeploymentStatuses{{}}.healthLastUpdateTime": unset(
        "stays unset: of KubeRay's v1alpha1, and Serve does not tell it"
    ),
    f"{_APPLICATIONS}{{}}.serveDeploymentStatuses{{}}.message": reported("what Serve says of it"),
    f"{_APPLICATIONS}{{}}.serveDeploymentStatuses{{}}.status": reported("Serve's word for it"),
    f"{_APPLICATIONS}{{}}.status": reported("Serve's word for it"),
    "status.activeServiceStatus.lastTrafficMigratedTime": unset(
        "stays unset: it belongs to the incremental strategy, which is rejected"
    ),
    "status.activeServiceStatus.rayClusterName": reported("its name"),
    "status.activeServiceStatus.rayClusterStatus": reported("its [status](raycluster-fields.md)"),
    "status.activeServiceStatus.targetCapacity": unset(
        "stays unset: it belongs to the incremental strategy, which is rejected"
    ),
    "status.activeServiceStatus.trafficRoutedPercent": unset(
        "stays unset: it belongs to the incremental strategy, which is rejected"
    ),
    "status.appStatus": reported("the applications of the serving cluster in short"),
    "status.appStatus.applications": reported("each by name"),
    "status.appStatus.applications{}.message": reported("what Serve says of it"),
    "status.appStatus.applications{}.status": reported("Serve's word for it"),
    "status.appStatus.message": reported("what Serve says of one that is not well"),
    "status.appStatus.status": reported("`HEALTHY`, `DEPLOYING` or `UNHEALTHY`"),
    "status.conditions": reported("[what holds now, and why](status.md)"),
    "status.deploymentStatuses": reported("the deployments of the serving cluster"),
    "status.deploymentStatuses[].application": reported("whose it is"),
    "status.deploymentStatuses[].message": reported("what Serve says of it"),
    "status.deploymentStatuses[].name": reported("its name"),
    "status.deploymentStatuses[].status": reported("Serve's word for it"),
    "status.endTime": reported("when it was suspended; it goes with a resume"),
    "status.lastUpdateTime": reported("when this status was last written"),
    "status.numServeEndpoints": reported("pods that answer requests"),
    "status.observedGeneration": reported("moves when a generation is true, or will not become so by itself"),
    "status.pendingServiceStatus": reported("the same fields for the cluster that is made ready"),
    "status.rayClusterName": reported("the serving cluster"),
    "status.serviceStatus": reported("`Running` while requests are answered"),
    "status.startTime": reported("when it first served"),
    "status.status": reported("`RUNNING`, `DEPLOYING`, `FAILED` or `SUSPENDED`"),
}

_DELETION: Final = "spec.deletionStrategy"
JOB: Final[dict[str, Row]] = {
    **_OBJECT,
    "spec": honoured(
        "validated as a whole; a rejected one sets `Stalled`, and an attempt that runs goes on by the spec it began with"
    ),
    "spec.activeDeadlineSeconds": honoured(
        "an attempt that takes longer is stopped and fails with `DeadlineExceeded`; time in a queue does not count"
    ),
    "spec.backoffLimit": honoured(
        "how many more attempts a failed job gets, each on a new cluster; rejected where there is none of its own"
    ),
    "spec.clusterSelector": honoured("`ray.io/cluster: NAME` runs the job on that cluster, which is never deleted"),
    _DELETION: honoured("what goes after the end, and when"),
    f"{_DELETION}.deletionRules": honoured(
        "rules by result; of several overdue ones the one that deletes most is followed"
    ),
    f"{_DELETION}.deletionRules[].condition": honoured("after which end; one status of both"),
    f"{_DELETION}.deletionRules[].condition.jobDeploymentStatus": honoured("after this `jobDeploymentStatus`"),
    f"{_DELETION}.deletionRules[].condition.jobStatus": honoured("after this `jobStatus`"),
    f"{_DELETION}.deletionRules[].condition.ttlSeconds": honoured("so many seconds after the end"),
    f"{_DELETION}.deletionRules[].policy": honoured("`DeleteWorkers`, `DeleteCluster`, `DeleteSelf` or `DeleteNone`"),
    f"{_DELETION}.onFailure": honoured("the older form of a rule; rejected beside `deletionRules`"),
    f"{_DELETION}.onFailure.policy": honoured("what goes `ttlSecondsAfterFinished` after a job that did not succeed"),
    f"{_DELETION}.onSuccess": honoured("the older form of a rule; rejected beside `deletionRules`"),
    f"{_DELETION}.onSuccess.policy": honoured("what goes `ttlSecondsAfterFinished` after a job that succeeded"),
    "spec.entrypoint": honoured(
        "the command that Ray runs on the head; required unless you submit or your pod template does"
    ),
    "spec.entrypointNumCpus": honoured("is reserved for the driver, which may then run on a worker"),
    "spec.entrypointNumGpus": honoured("is reserved for the driver, which may then run on a worker"),
    "spec.entrypointResources": honoured(
        "a JSON object of numbers, reserved for the driver; text that is none is rejected"
    ),
    "spec.jobId": honoured("the submission id, made from the name if unset; in `InteractiveMode` the job to follow"),
    "spec.managedBy": honoured("another controller's name makes Rayward leave the object alone"),
    "spec.metadata": honoured("is handed to Ray with the job; needs Ray 2.6"),
    "spec.preRunningDeadlineSeconds": honoured(
        "an attempt that is not submitted by then fails with `PreRunningDeadlineExceeded`"
    ),
    "spec.rayClusterSpec": honoured(
        "the [RayCluster](raycluster-fields.md) that every attempt makes; warns beside `clusterSelector`"
    ),
    "spec.runtimeEnvYAML": honoured("is validated, with line and column, and handed to Ray"),
    "spec.shutdownAfterJobFinishes": honoured(
        "deletes the cluster `ttlSecondsAfterFinished` after the end, once the log is kept"
    ),
    "spec.submissionMode": honoured(
        "[who hands the job to Ray](../guides/rayjob.md): `K8sJobMode`, `HTTPMode`, `SidecarMode` or `InteractiveMode`"
    ),
    "spec.submitterConfig": honoured("belongs to `K8sJobMode`; elsewhere it warns or is rejected"),
    "spec.submitterConfig.backoffLimit": honoured(
        "how many pods the submitter's Job may try: 2 if unset; a later one never submits to a head that began anew"
    ),
    "spec.submitterPodTemplate": honoured(
        "is the submitter's pod in `K8sJobMode`, completed with the command and variables; elsewhere it warns or is rejected"
    ),
    "spec.suspend": honoured(
        "stops the job and deletes its cluster at any moment before the end; a resume is a new attempt"
    ),
    "spec.ttlSecondsAfterFinished": honoured(
        "how long after the end the cluster goes; rejected without `shutdownAfterJobFinishes`"
    ),
    "status": reported("is written by the operator alone"),
    "status.attempts": reported("a row for each attempt that ended, the last 20"),
    "status.attempts[].endTime": reported("when it ended"),
    "status.attempts[].exitCode": reported("of the driver, as Ray tells"),
    "status.attempts[].jobId": reported("its submission id"),
    "status.attempts[].jobStatus": reported("how it ended in Ray's word; empty where Ray did not say"),
    "status.attempts[].logTail": reported("the end of the driver's log, else of the submitter's: 4 KiB"),
    "status.attempts[].message": reported("why it ended so"),
    "status.attempts[].number": reported("counts from 1"),
    "status.attempts[].rayClusterName": reported("the cluster it ran on"),
    "status.attempts[].reason": reported("why it ended, in one word"),
    "status.attempts[].startTime": reported("when it began"),
    "status.conditions": reported("[what holds now, and why](status.md)"),
    "status.dashboardURL": reported("host and port of the dashboard, from when it can be asked"),
    "status.endTime": reported("when the last attempt ended"),
    "status.failed": reported("attempts that failed; suspended ones are not counted"),
    "status.jobDeploymentStatus": reported("[where the job is](rayjob-states.md)"),
    "status.jobId": reported("the submission id of the attempt"),
    "status.jobStatus": reported("Ray's word for the job; empty when nobody can know how it ended"),
    "status.jobStatusCheckFailureStartTime": reported("since when the dashboard does not answer"),
    "status.message": reported("why it ended, or what is wrong with the spec"),
    "status.observedGeneration": reported(
        "the generation that was last acted upon; it stays while the job is `Reconciling`"
    ),
    "status.rayClusterName": reported("the cluster of the attempt"),
    "status.rayClusterStatus": reported(
        "the status that the [RayCluster](raycluster-fields.md) had when the attempt began on it"
    ),
    "status.rayJobInfo": reported("Ray's own times"),
    "status.rayJobInfo.endTime": reported("when the driver ended"),
    "status.rayJobInfo.startTime": reported("when Ray took the job"),
    "status.reason": reported("why it failed, in one word"),
    "status.startTime": reported("when the attempt began"),
    "status.succeeded": reported("1 after a success"),
}

CRON_JOB: Final[dict[str, Row]] = {
    **_OBJECT,
    "apiVersion": server("`ray.io/v1`"),
    "spec": honoured("validated as a whole; a rejected one sets `Stalled`, and no RayJob is made"),
    "spec.concurrencyPolicy": honoured(
        "`Allow`, `Forbid` or `Replace`: what a tick does while an earlier job has not ended"
    ),
    "spec.failedJobsHistoryLimit": honoured("how many failed jobs are kept; all if unset"),
    "spec.jobTemplate": honoured("the spec of the [RayJob](rayjob-fields.md) that each tick makes"),
    "spec.schedule": honoured("five fields as cron has them, `@daily` and the like, or `@every 90s`"),
    "spec.startingDeadlineSeconds": honoured("a tick that is later is left out, and an event says so"),
    "spec.successfulJobsHistoryLimit": honoured("how many jobs that succeeded are kept; all if unset"),
    "spec.suspend": honoured("no ticks while true"),
    "spec.timeZone": honoured("where the schedule's hours are: UTC if unset"),
    "status": reported("is written by the operator alone"),
    "status.active": reported("RayJobs that have not ended, at most 100"),
    "status.active[].name": reported("its name"),
    "status.active[].uid": reported("tells it apart from another of its name"),
    "status.conditions": reported("[what holds now, and why](status.md)"),
    "status.lastScheduleTime": reported("the latest tick that was acted upon"),
    "status.lastSuccessfulTime": reported("when a RayJob last succeeded"),
    "status.observedGeneration": reported("the generation that was last acted upon"),
}

PAGES: Final = {
    "raycluster-fields.md": ("rayclusters", "RayCluster", CLUSTER),
    "rayservice-fields.md": ("rayservices", "RayService", SERVICE),
    "rayjob-fields.md": ("rayjobs", "RayJob", JOB),
    "raycronjob-fields.md": ("raycronjobs", "RayCronJob", CRON_JOB),
}


def defined(plural: str) -> list[str]:
    """The paths of every field of a kind in v1, down to the types that are Kubernetes' own."""
    (found,) = [crd for crd in crds.manifests() if crd["spec"]["names"]["plural"] == plural]
    (version,) = [each for each in found["spec"]["versions"] if each["name"] == "v1"]
    return list(_walk(version["schema"]["openAPIV3Schema"], ""))


def _walk(node: Object, at: str) -> Iterator[str]:
    for name, inner in (node.get("properties") or {}).items():
        path = f"{at}{name}"
        yield path
        if path in KUBERNETES:
            continue
        yield from _walk(inner, f"{path}.")
        yield from _walk(inner.get("items") or {}, f"{path}[].")
        values = inner.get("additionalProperties")
        yield from _walk(values if isinstance(values, dict) else {}, f"{path}{{}}.")


def page(name: str) -> str:
    """The text of one page.

    Raises:
        KeyError: A field of the definition has no sentence.
    """
    plural, kind, rows = PAGES[name]
    lines = [f"| `{path}` | {rows[path].effect} | {rows[path].says} |" for path in defined(plural)]
    return "\n".join(
        [
            f"# Every field of a {kind}",
            "",
            "What Rayward does with each field of the definition, KubeRay 1.7's and ours. No field is without effect and without a word.",
            "Fields inside Kubernetes' own types (pod templates, environment variables, network rules) are in the row of the type.",
            "`python tools/fields.py` writes this page; `tests/docs/test_fields.py` keeps it complete, and",
            "`tests/docs/test_field_effects.py` holds the effects of RayCluster and RayService to what the operator does.",
            "",
            "| field | effect | what Rayward does with it |",
            "|---|---|---|",
            *lines,
            "",
        ]
    )


def main() -> int:
    """Write the pages."""
    for name in PAGES:
        (_DOCS / name).write_text(page(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
