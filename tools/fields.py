"""Writes the tables of every field of Ray's kinds, and what Rayward does with each.

``python tools/fields.py`` writes ``docs/reference/raycluster-fields.md`` and its like of the other kinds from the
definitions that ship and from the sentences below. A field that has no sentence stops it.
"""

# ruff: noqa: E501 - a row is a line

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

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

_OBJECT: Final = {
    "apiVersion": "`ray.io/v1`; `v1alpha1` is read too",
    "kind": "names the kind",
    "metadata": "`name` and `namespace` as Kubernetes has them; `labels` that name a queue make it wait for quota, "
    "`annotations` under `rayward.dev/` are [commands](annotations.md)",
}

CLUSTER: Final[dict[str, str]] = {
    **_OBJECT,
    "spec": "validated as a whole; a rejected one sets `Stalled` and what runs stays",
    "spec.authOptions": "Ray asks callers for a token",
    "spec.authOptions.enableK8sTokenAuth": "lets the API server judge callers by their Kubernetes tokens",
    "spec.authOptions.mode": "`token` makes a Secret and hands it to every pod; options without a mode warn",
    "spec.authOptions.secretName": "takes the token from this Secret instead of making one",
    "spec.autoscalerOptions": "shapes the autoscaler's container; without `enableInTreeAutoscaling` an event warns",
    "spec.autoscalerOptions.args": "replaces the arguments of the autoscaler",
    "spec.autoscalerOptions.command": "replaces its command; the usual one is in `KUBERAY_GEN_AUTOSCALER_START_CMD`",
    "spec.autoscalerOptions.env": "is added to its container",
    "spec.autoscalerOptions.envFrom": "is added to its container",
    "spec.autoscalerOptions.idleTimeoutSeconds": "the autoscaler reads it from the object: 60 if unset",
    "spec.autoscalerOptions.image": "is the image of its container; the head's if unset",
    "spec.autoscalerOptions.imagePullPolicy": "is set on its container",
    "spec.autoscalerOptions.resources": "replaces 500m and 512Mi of its container",
    "spec.autoscalerOptions.securityContext": "is set on its container",
    "spec.autoscalerOptions.upscalingMode": "the autoscaler reads it from the object",
    "spec.autoscalerOptions.version": "`v2` or `v1`; Ray decides if unset, and a variable that says otherwise is rejected",
    "spec.autoscalerOptions.volumeMounts": "is added to its container",
    "spec.enableInTreeAutoscaling": "adds the autoscaler's container, account, role and binding; then the autoscaler owns `replicas`",
    "spec.gcsFaultToleranceOptions": "keeps the head's state, so that workers and replicas outlive the head",
    "spec.gcsFaultToleranceOptions.backend": "`redis` or `rocksdb`; a change is rejected",
    "spec.gcsFaultToleranceOptions.externalStorageNamespace": "names the keys in Redis; the cluster's uid if unset",
    "spec.gcsFaultToleranceOptions.redisAddress": "is handed to the head as `RAY_REDIS_ADDRESS`",
    "spec.gcsFaultToleranceOptions.redisPassword": "is handed to the head, and to the Job that removes the keys in the end",
    "spec.gcsFaultToleranceOptions.redisPassword.value": "the password itself",
    "spec.gcsFaultToleranceOptions.redisPassword.valueFrom": "the password from a Secret",
    "spec.gcsFaultToleranceOptions.redisUsername": "is handed over with the password",
    "spec.gcsFaultToleranceOptions.redisUsername.value": "the name itself",
    "spec.gcsFaultToleranceOptions.redisUsername.valueFrom": "the name from a Secret",
    "spec.gcsFaultToleranceOptions.storage": "makes or takes the volume for `rocksdb`",
    "spec.gcsFaultToleranceOptions.storage.accessModes": "of the claim that is made: `[ReadWriteOnce]` if unset",
    "spec.gcsFaultToleranceOptions.storage.claimName": "takes this claim instead of making one",
    "spec.gcsFaultToleranceOptions.storage.deletionPolicy": "`Retain` keeps the claim when the cluster goes",
    "spec.gcsFaultToleranceOptions.storage.size": "of the claim that is made: 1Gi if unset",
    "spec.gcsFaultToleranceOptions.storage.storageClassName": "of the claim that is made",
    "spec.gcsFaultToleranceOptions.storage.subPath": "the folder of the volume that is mounted",
    "spec.headGroupSpec": "makes the one head pod and its Service",
    "spec.headGroupSpec.enableIngress": "makes an Ingress to the dashboard; on the local stack an event warns that nobody serves it",
    "spec.headGroupSpec.headService": "is completed and used in place of the head's Service",
    "spec.headGroupSpec.ingressOptions": "shapes the Ingress",
    "spec.headGroupSpec.ingressOptions.host": "the host of its rule",
    "spec.headGroupSpec.ingressOptions.path": "the path of its rule",
    "spec.headGroupSpec.ingressOptions.pathType": "the path's type: `Prefix` if unset",
    "spec.headGroupSpec.ingressOptions.tls": "is copied to it",
    "spec.headGroupSpec.labels": "become labels of the pod and of the Ray node",
    "spec.headGroupSpec.rayResources": "another name of `resources`; numbers may be written as numbers",
    "spec.headGroupSpec.rayStartParams": "become flags of `ray start`; `num-cpus`, `memory` and the rest come from the container's limits if unset",
    "spec.headGroupSpec.resources": "is what Ray is told that the pod has; an amount that does not parse is rejected",
    "spec.headGroupSpec.serviceType": "the type of the head's Service; another word than Kubernetes' is rejected",
    "spec.headGroupSpec.template": "is the head's pod, completed with what Ray needs; an image that is not the Ray that runs warns",
    "spec.headServiceAnnotations": "become annotations of the head's Service",
    "spec.historyServerOptions": "is rejected with `FeatureNotAvailable`",
    **{
        f"spec.historyServerOptions.collectorOptions{field}": "is rejected with its whole, `historyServerOptions`"
        for field in ("", ".env", ".image", ".imagePullPolicy", ".resources")
    },
    "spec.managedBy": "another controller's name makes Rayward leave the object alone",
    "spec.networkPolicy": "makes NetworkPolicies; pods of the cluster always reach each other",
    "spec.networkPolicy.head": "rules for the head, beyond what the cluster needs",
    "spec.networkPolicy.mode": "what is denied unless allowed",
    "spec.networkPolicy.worker": "rules for workers",
    "spec.networkPolicy.workerGroups": "rules for single groups, in place of `worker`",
    "spec.networkPolicy.workerGroups[].egressRules": "where the group's pods may connect to",
    "spec.networkPolicy.workerGroups[].groupName": "which group",
    "spec.networkPolicy.workerGroups[].ingressRules": "who may connect to the group's pods",
    "spec.rayVersion": "decides which features a pod may use; a Ray that runs with another version warns",
    "spec.suspend": "deletes the pods and keeps the rest; `Suspended` says when it is done",
    "spec.tlsOptions": "is rejected with `FeatureNotAvailable` when enabled",
    "spec.tlsOptions.enabled": "is rejected with `FeatureNotAvailable` when true",
    "spec.upgradeStrategy": "says what a changed template does to pods that run",
    "spec.upgradeStrategy.type": "`Recreate` replaces all pods; with `None` they stay, and `Stalled` says that they differ",
    "spec.workerGroupSpecs": "make groups of equal workers; an event names a group that a merge patch drops",
    "spec.workerGroupSpecs[].groupName": "names pods and labels; two of one name are rejected",
    "spec.workerGroupSpecs[].idleTimeoutSeconds": "autoscaler v2 reads it from the object; rejected without v2",
    "spec.workerGroupSpecs[].labels": "become labels of the pods and of the Ray nodes",
    "spec.workerGroupSpecs[].maxReplicas": "the most replicas",
    "spec.workerGroupSpecs[].minReplicas": "the fewest replicas",
    "spec.workerGroupSpecs[].numOfHosts": "pods of one replica, which come and go together",
    "spec.workerGroupSpecs[].priority": "the autoscaler prefers the higher; needs Ray 2.56 and v2",
    "spec.workerGroupSpecs[].rayResources": "another name of `resources`; numbers may be written as numbers",
    "spec.workerGroupSpecs[].rayStartParams": "become flags of `ray start`",
    "spec.workerGroupSpecs[].replicas": "how many replicas there are; left out it is `minReplicas`, as with KubeRay",
    "spec.workerGroupSpecs[].resources": "is what Ray is told that each pod has; an amount that does not parse is rejected",
    "spec.workerGroupSpecs[].scaleStrategy": "is the autoscaler's wish",
    "spec.workerGroupSpecs[].scaleStrategy.workersToDelete": "these pods go first",
    "spec.workerGroupSpecs[].suspend": "deletes the group's pods and makes no new ones",
    "spec.workerGroupSpecs[].template": "is each worker's pod, completed with what Ray needs",
    "status": "is written by the operator alone",
    "status.availableWorkerReplicas": "worker pods that run",
    "status.conditions": "[what holds now, and why](status.md)",
    "status.desiredCPU": "what all pods ask for together",
    "status.desiredGPU": "what all pods ask for together",
    "status.desiredMemory": "what all pods ask for together",
    "status.desiredTPU": "what all pods ask for together",
    "status.desiredWorkerReplicas": "worker pods that should be",
    "status.endpoints": "ports of the head's Service by name",
    "status.head": "where the head is",
    "status.head.podIP": "the address of its pod",
    "status.head.podName": "the name of its pod",
    "status.head.serviceIP": "the address of its Service",
    "status.head.serviceName": "the name of its Service",
    "status.lastUpdateTime": "when this status was last written",
    "status.maxWorkerReplicas": "the most worker pods",
    "status.minWorkerReplicas": "the fewest worker pods",
    "status.observedGeneration": "moves when a generation is true, or will not become so by itself",
    "status.readyWorkerReplicas": "worker pods that are ready",
    "status.reason": "why it is not ready",
    "status.state": "`ready` or `suspended`; empty before it is either",
    "status.stateTransitionTimes": "when each state was last entered",
}

_APPLICATIONS: Final = "status.activeServiceStatus.applicationStatuses"
SERVICE: Final[dict[str, str]] = {
    **_OBJECT,
    "spec": "validated as a whole; a rejected one sets `Stalled` and what serves stays",
    "spec.deploymentUnhealthyRestartThreshold": "how many new clusters an unhealthy application may get; alone it warns",
    "spec.deploymentUnhealthySecondThreshold": "after so many seconds unhealthy, applications are started anew, once",
    "spec.excludeHeadPodFromServeSvc": "keeps requests away from the head's pod; rejected where no worker group may have a worker",
    "spec.managedBy": "another controller's name makes Rayward leave the object alone",
    "spec.rayClusterConfig": "is the [RayCluster](raycluster-fields.md) that serves; a changed one is a new cluster beside it",
    "spec.rayClusterDeletionDelaySeconds": "how long a replaced cluster stays for a return: 60 if unset",
    "spec.serveConfigV2": "is validated, with line and column, and sent to Serve; a change is made in place and undone if it fails",
    "spec.serveDeploymentGraphSpec": "the same as `serveConfigV2` written as an object; both at once are rejected",
    "spec.serveService": "is completed and used in place of the Service that serves",
    "spec.serviceUnhealthySecondThreshold": "an event warns: write `deploymentUnhealthySecondThreshold`",
    "spec.suspend": "deletes clusters and Services and keeps the object; `Suspended` says when it is done",
    "spec.upgradeStrategy": "says what a changed cluster does",
    "spec.upgradeStrategy.clusterUpgradeOptions": "belongs to the incremental strategy, which is rejected",
    "spec.upgradeStrategy.clusterUpgradeOptions.gatewayClassName": "belongs to the incremental strategy, which is rejected",
    "spec.upgradeStrategy.clusterUpgradeOptions.intervalSeconds": "belongs to the incremental strategy, which is rejected",
    "spec.upgradeStrategy.clusterUpgradeOptions.maxSurgePercent": "belongs to the incremental strategy, which is rejected",
    "spec.upgradeStrategy.clusterUpgradeOptions.stepSizePercent": "belongs to the incremental strategy, which is rejected",
    "spec.upgradeStrategy.type": "`NewCluster`, or `None`: the cluster stays, and `Stalled` says that it differs",
    "status": "is written by the operator alone",
    "status.activeServiceStatus": "the cluster that serves",
    _APPLICATIONS: "its applications by name, as the dashboard tells",
    f"{_APPLICATIONS}{{}}.healthLastUpdateTime": "when its status last changed",
    f"{_APPLICATIONS}{{}}.message": "what Serve says of it",
    f"{_APPLICATIONS}{{}}.serveDeploymentStatuses": "its deployments by name",
    f"{_APPLICATIONS}{{}}.serveDeploymentStatuses{{}}.healthLastUpdateTime": "when its status last changed",
    f"{_APPLICATIONS}{{}}.serveDeploymentStatuses{{}}.message": "what Serve says of it",
    f"{_APPLICATIONS}{{}}.serveDeploymentStatuses{{}}.status": "Serve's word for it",
    f"{_APPLICATIONS}{{}}.status": "Serve's word for it",
    "status.activeServiceStatus.lastTrafficMigratedTime": "stays unset: it belongs to the incremental strategy, which is rejected",
    "status.activeServiceStatus.rayClusterName": "its name",
    "status.activeServiceStatus.rayClusterStatus": "its [status](raycluster-fields.md)",
    "status.activeServiceStatus.targetCapacity": "stays unset: it belongs to the incremental strategy, which is rejected",
    "status.activeServiceStatus.trafficRoutedPercent": "stays unset: it belongs to the incremental strategy, which is rejected",
    "status.appStatus": "the applications of the serving cluster in short",
    "status.appStatus.applications": "each by name",
    "status.appStatus.applications{}.message": "what Serve says of it",
    "status.appStatus.applications{}.status": "Serve's word for it",
    "status.appStatus.message": "what Serve says of one that is not well",
    "status.appStatus.status": "`HEALTHY`, `DEPLOYING` or `UNHEALTHY`",
    "status.conditions": "[what holds now, and why](status.md)",
    "status.deploymentStatuses": "the deployments of the serving cluster",
    "status.deploymentStatuses[].application": "whose it is",
    "status.deploymentStatuses[].message": "what Serve says of it",
    "status.deploymentStatuses[].name": "its name",
    "status.deploymentStatuses[].status": "Serve's word for it",
    "status.endTime": "when it was suspended; it goes with a resume",
    "status.lastUpdateTime": "when this status was last written",
    "status.numServeEndpoints": "pods that answer requests",
    "status.observedGeneration": "moves when a generation is true, or will not become so by itself",
    "status.pendingServiceStatus": "the same fields for the cluster that is made ready",
    "status.rayClusterName": "the serving cluster",
    "status.serviceStatus": "`Running` while requests are answered",
    "status.startTime": "when it first served",
    "status.status": "`RUNNING`, `DEPLOYING`, `FAILED` or `SUSPENDED`",
}

_DELETION: Final = "spec.deletionStrategy"
JOB: Final[dict[str, str]] = {
    **_OBJECT,
    "spec": "validated as a whole; a rejected one sets `Stalled`, and an attempt that runs goes on by the spec it began with",
    "spec.activeDeadlineSeconds": "an attempt that takes longer is stopped and fails with `DeadlineExceeded`; time in a queue does not count",
    "spec.backoffLimit": "how many more attempts a failed job gets, each on a new cluster; rejected where there is none of its own",
    "spec.clusterSelector": "`ray.io/cluster: NAME` runs the job on that cluster, which is never deleted",
    _DELETION: "what goes after the end, and when",
    f"{_DELETION}.deletionRules": "rules by result; of several overdue ones the one that deletes most is followed",
    f"{_DELETION}.deletionRules[].condition": "after which end; one status of both",
    f"{_DELETION}.deletionRules[].condition.jobDeploymentStatus": "after this `jobDeploymentStatus`",
    f"{_DELETION}.deletionRules[].condition.jobStatus": "after this `jobStatus`",
    f"{_DELETION}.deletionRules[].condition.ttlSeconds": "so many seconds after the end",
    f"{_DELETION}.deletionRules[].policy": "`DeleteWorkers`, `DeleteCluster`, `DeleteSelf` or `DeleteNone`",
    f"{_DELETION}.onFailure": "the older form of a rule; rejected beside `deletionRules`",
    f"{_DELETION}.onFailure.policy": "what goes `ttlSecondsAfterFinished` after a job that did not succeed",
    f"{_DELETION}.onSuccess": "the older form of a rule; rejected beside `deletionRules`",
    f"{_DELETION}.onSuccess.policy": "what goes `ttlSecondsAfterFinished` after a job that succeeded",
    "spec.entrypoint": "the command that Ray runs on the head; required unless you submit or your pod template does",
    "spec.entrypointNumCpus": "is reserved for the driver, which may then run on a worker",
    "spec.entrypointNumGpus": "is reserved for the driver, which may then run on a worker",
    "spec.entrypointResources": "a JSON object of numbers, reserved for the driver; text that is none is rejected",
    "spec.jobId": "the submission id, made from the name if unset; in `InteractiveMode` the job to follow",
    "spec.managedBy": "another controller's name makes Rayward leave the object alone",
    "spec.metadata": "is handed to Ray with the job; needs Ray 2.6",
    "spec.preRunningDeadlineSeconds": "an attempt that is not submitted by then fails with `PreRunningDeadlineExceeded`",
    "spec.rayClusterSpec": "the [RayCluster](raycluster-fields.md) that every attempt makes; warns beside `clusterSelector`",
    "spec.runtimeEnvYAML": "is validated, with line and column, and handed to Ray",
    "spec.shutdownAfterJobFinishes": "deletes the cluster `ttlSecondsAfterFinished` after the end, once the log is kept",
    "spec.submissionMode": "[who hands the job to Ray](../guides/rayjob.md): `K8sJobMode`, `HTTPMode`, `SidecarMode` or `InteractiveMode`",
    "spec.submitterConfig": "belongs to `K8sJobMode`; rejected in `SidecarMode`",
    "spec.submitterConfig.backoffLimit": "how many pods the submitter's Job may try: 2 if unset; a later one never submits to a head that began anew",
    "spec.submitterPodTemplate": "is the submitter's pod in `K8sJobMode`, completed with the command and variables; elsewhere it warns or is rejected",
    "spec.suspend": "stops the job and deletes its cluster at any moment before the end; a resume is a new attempt",
    "spec.ttlSecondsAfterFinished": "how long after the end the cluster goes; rejected without `shutdownAfterJobFinishes`",
    "status": "is written by the operator alone",
    "status.attempts": "a row for each attempt that ended, the last 20",
    "status.attempts[].endTime": "when it ended",
    "status.attempts[].exitCode": "of the driver, as Ray tells",
    "status.attempts[].jobId": "its submission id",
    "status.attempts[].jobStatus": "how it ended in Ray's word; empty where Ray did not say",
    "status.attempts[].logTail": "the end of the driver's log, else of the submitter's: 4 KiB",
    "status.attempts[].message": "why it ended so",
    "status.attempts[].number": "counts from 1",
    "status.attempts[].rayClusterName": "the cluster it ran on",
    "status.attempts[].reason": "why it ended, in one word",
    "status.attempts[].startTime": "when it began",
    "status.conditions": "[what holds now, and why](status.md)",
    "status.dashboardURL": "host and port of the dashboard, from when it can be asked",
    "status.endTime": "when the last attempt ended",
    "status.failed": "attempts that failed; suspended ones are not counted",
    "status.jobDeploymentStatus": "[where the job is](rayjob-states.md)",
    "status.jobId": "the submission id of the attempt",
    "status.jobStatus": "Ray's word for the job; empty when nobody can know how it ended",
    "status.jobStatusCheckFailureStartTime": "since when the dashboard does not answer",
    "status.message": "why it ended, or what is wrong with the spec",
    "status.observedGeneration": "the generation that was last acted upon; it stays while the job is `Reconciling`",
    "status.rayClusterName": "the cluster of the attempt",
    "status.rayClusterStatus": "the status that the [RayCluster](raycluster-fields.md) had when the attempt began on it",
    "status.rayJobInfo": "Ray's own times",
    "status.rayJobInfo.endTime": "when the driver ended",
    "status.rayJobInfo.startTime": "when Ray took the job",
    "status.reason": "why it failed, in one word",
    "status.startTime": "when the attempt began",
    "status.succeeded": "1 after a success",
}

CRON_JOB: Final[dict[str, str]] = {
    **_OBJECT,
    "apiVersion": "`ray.io/v1`",
    "spec": "validated as a whole; a rejected one sets `Stalled`, and no RayJob is made",
    "spec.concurrencyPolicy": "`Allow`, `Forbid` or `Replace`: what a tick does while an earlier job has not ended",
    "spec.failedJobsHistoryLimit": "how many failed jobs are kept; all if unset",
    "spec.jobTemplate": "the spec of the [RayJob](rayjob-fields.md) that each tick makes",
    "spec.schedule": "five fields as cron has them, `@daily` and the like, or `@every 90s`",
    "spec.startingDeadlineSeconds": "a tick that is later is left out, and an event says so",
    "spec.successfulJobsHistoryLimit": "how many jobs that succeeded are kept; all if unset",
    "spec.suspend": "no ticks while true",
    "spec.timeZone": "where the schedule's hours are: UTC if unset",
    "status": "is written by the operator alone",
    "status.active": "RayJobs that have not ended, at most 100",
    "status.active[].name": "its name",
    "status.active[].uid": "tells it apart from another of its name",
    "status.conditions": "[what holds now, and why](status.md)",
    "status.lastScheduleTime": "the latest tick that was acted upon",
    "status.lastSuccessfulTime": "when a RayJob last succeeded",
    "status.observedGeneration": "the generation that was last acted upon",
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
    lines = [f"| `{path}` | {rows[path]} |" for path in defined(plural)]
    return "\n".join(
        [
            f"# Every field of a {kind}",
            "",
            "What Rayward does with each field of the definition, KubeRay 1.7's and ours. No field is without effect and without a word.",
            "Fields inside Kubernetes' own types (pod templates, environment variables, network rules) are in the row of the type.",
            "`python tools/fields.py` writes this page; `tests/docs/test_fields.py` keeps it complete.",
            "",
            "| field | what Rayward does with it |",
            "|---|---|",
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
