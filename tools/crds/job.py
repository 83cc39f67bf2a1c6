"""RayJob: its spec (which RayCronJob embeds), status and CRD."""

from __future__ import annotations

from typing import Final

from tools.crds import builtin, cluster, options
from tools.crds.definition import column, conditions, definition, name_rules
from tools.crds.shape import (
    Object,
    boolean,
    described,
    integer,
    listing,
    mapping,
    number,
    rule,
    structure,
    text,
    time,
    with_rules,
)

NAME_MAX: Final = 47

_COLUMNS: Final = [
    column("job status", ".status.jobStatus"),
    column("deployment status", ".status.jobDeploymentStatus"),
    column("ray cluster name", ".status.rayClusterName"),
    column("start time", ".status.startTime"),
    column("end time", ".status.endTime"),
    column("age", ".metadata.creationTimestamp", "date"),
    column("reason", ".status.reason", wide=True),
]
_MODES: Final = ("K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode")
_POLICIES: Final = ["DeleteCluster", "DeleteWorkers", "DeleteSelf", "DeleteNone"]


def crd() -> Object:
    """The manifest."""
    return definition(
        "RayJob",
        _COLUMNS,
        {"spec": spec("What the job should be."), "status": _status()},
        name_rules("RayJob", NAME_MAX),
    )


def spec(description: str) -> Object:
    """What is asked for."""
    return structure(
        {
            "entrypoint": text("The command that Ray runs."),
            "runtimeEnvYAML": text("Ray's runtime environment, as YAML in a string."),
            "metadata": mapping(text(), "Data that Ray keeps with the job."),
            "jobId": text("The submission id; one is made if unset. In InteractiveMode, the job to follow."),
            "submissionMode": text(
                "Who hands the job to Ray.",
                default="K8sJobMode",
                **with_rules(rule(f"self in {list(_MODES)}", f"write one of {', '.join(_MODES)}, or delete the field")),
            ),
            "rayClusterSpec": cluster.spec("The cluster that runs the job; a new one for each attempt."),
            "clusterSelector": mapping(text(), "A cluster that is there already: ray.io/cluster names it."),
            "submitterPodTemplate": described(builtin.pod_template(), "The pod that submits in K8sJobMode."),
            "submitterConfig": structure(
                {"backoffLimit": integer("How many more pods may try to submit; 2 if unset.")},
                "The Kubernetes Job that submits.",
            ),
            "entrypointNumCpus": number("CPUs that Ray reserves for the command."),
            "entrypointNumGpus": number("GPUs that Ray reserves for the command."),
            "entrypointResources": text("Other resources that Ray reserves for the command, as a JSON object."),
            "activeDeadlineSeconds": integer("How long an attempt may take, its cluster's start included."),
            "preRunningDeadlineSeconds": integer("How long an attempt may take to be submitted.", minimum=1),
            "backoffLimit": integer("How many more attempts a failed job gets.", default=0),
            "shutdownAfterJobFinishes": boolean("Deletes the cluster after the end."),
            "ttlSecondsAfterFinished": integer("How long the cluster stays after the end.", default=0),
            "deletionStrategy": _deletion_strategy(),
            "managedBy": options.managed_by(),
            "suspend": boolean("Stops the job and deletes its cluster; unset again, a new attempt begins."),
        },
        description,
    )


def _deletion_strategy() -> Object:
    legacy = structure({"policy": text("What is deleted.", enum=_POLICIES)}, "Replaced by deletionRules.")
    condition = structure(
        {
            "jobStatus": text("Ray's word on the job.", enum=["SUCCEEDED", "FAILED"]),
            "jobDeploymentStatus": text("The RayJob's own end.", enum=["Failed"]),
            "ttlSeconds": integer("How long after the end.", default=0, minimum=0),
        },
        "When: by one of both statuses.",
        rules=(
            rule(
                "!(has(self.jobStatus) && has(self.jobDeploymentStatus))",
                "a condition is about one status: keep jobStatus or jobDeploymentStatus",
            ),
            rule(
                "has(self.jobStatus) || has(self.jobDeploymentStatus)",
                "a condition needs a status: write jobStatus or jobDeploymentStatus",
                reason="FieldValueRequired",
            ),
        ),
    )
    return structure(
        {
            "onSuccess": legacy,
            "onFailure": legacy,
            "deletionRules": listing(
                structure({"policy": text(enum=_POLICIES), "condition": condition}, required=("policy", "condition")),
                "Steps of the clean-up.",
                minItems=1,
                **{"x-kubernetes-list-type": "atomic"},
            ),
        },
        "What is deleted after the end, and when.",
        rules=(
            rule(
                "!((has(self.onSuccess) || has(self.onFailure)) && has(self.deletionRules))",
                "deletionRules replace onSuccess and onFailure: delete both",
            ),
            rule(
                "(has(self.onSuccess) && has(self.onFailure)) || has(self.deletionRules)",
                "write deletionRules, or both onSuccess and onFailure",
                reason="FieldValueRequired",
            ),
        ),
    )


def _status() -> Object:
    attempt = structure(
        {
            "number": integer("1 for the first."),
            "rayClusterName": text(),
            "jobId": text(),
            "jobStatus": text("Ray's last word on it."),
            "reason": text("Why it ended."),
            "message": text(),
            "exitCode": integer("Of the driver, where Ray gave one."),
            "startTime": time(),
            "endTime": time(),
            "logTail": text("The end of the driver's log."),
        }
    )
    return structure(
        {
            "jobId": text("Ray's submission id."),
            "rayClusterName": text("The cluster of the latest attempt."),
            "dashboardURL": text("Where the cluster's dashboard listens."),
            "jobStatus": text("PENDING, RUNNING, STOPPED, SUCCEEDED or FAILED as Ray said; empty when nobody knows."),
            "jobDeploymentStatus": text("Where the RayJob is, its cluster and submission included."),
            "reason": text("Why it failed."),
            "message": text("What happened, and what to do."),
            "startTime": time("When the latest attempt began."),
            "endTime": time("When the job ended."),
            "succeeded": integer("Attempts that succeeded.", default=0),
            "failed": integer("Attempts that failed.", default=0),
            "rayClusterStatus": cluster.status(),
            "rayJobInfo": structure({"startTime": time(), "endTime": time()}, "Ray's own times of the job."),
            "jobStatusCheckFailureStartTime": time("Since when Ray does not answer."),
            "attempts": listing(
                attempt, "Attempts that ended, the latest last.", maxItems=20, **{"x-kubernetes-list-type": "atomic"}
            ),
            "conditions": conditions(),
            "observedGeneration": integer("The generation of the spec that was last acted upon.", bits=64),
        },
        "What the job is.",
    )
