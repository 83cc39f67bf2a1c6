"""RayJob, typed as far as the operator reads it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from rayward.kinds.raycluster import Object, RayClusterSpec
from rayward.kube.core.objects import Condition, KubeObject, Slim


class JobStatus(StrEnum):
    """What Ray says of the job; NEW before it said anything, or when nobody can know any more."""

    NEW = ""
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    STOPPED = "STOPPED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"

    @property
    def ended(self) -> bool:
        """Whether Ray will say nothing else any more."""
        return self in (JobStatus.STOPPED, JobStatus.SUCCEEDED, JobStatus.FAILED)


class DeploymentStatus(StrEnum):
    """``jobDeploymentStatus``: where the RayJob is, its cluster and submission included."""

    NEW = ""
    INITIALIZING = "Initializing"
    WAITING = "Waiting"
    RUNNING = "Running"
    COMPLETE = "Complete"
    FAILED = "Failed"
    VALIDATION_FAILED = "ValidationFailed"
    SUSPENDING = "Suspending"
    SUSPENDED = "Suspended"
    RETRYING = "Retrying"

    @property
    def ended(self) -> bool:
        """Whether it stays as it is for good."""
        return self in (DeploymentStatus.COMPLETE, DeploymentStatus.FAILED)


class SubmissionMode(StrEnum):
    """Who hands the job to Ray."""

    K8S_JOB = "K8sJobMode"
    HTTP = "HTTPMode"
    INTERACTIVE = "InteractiveMode"
    SIDECAR = "SidecarMode"


def submission_mode(spec: Object) -> str:
    """The mode of a spec that may not have been defaulted yet."""
    return str(spec.get("submissionMode") or SubmissionMode.K8S_JOB)


class DeletionPolicy(StrEnum):
    """What goes when a job has ended, the least first."""

    NONE = "DeleteNone"
    WORKERS = "DeleteWorkers"
    CLUSTER = "DeleteCluster"
    SELF = "DeleteSelf"


class SubmitterConfig(Slim, frozen=True, gc=False):
    """The Kubernetes Job that submits."""

    backoff_limit: int | None = None


class LegacyPolicy(Slim, frozen=True, gc=False):
    """``onSuccess`` and ``onFailure``, which deletion rules have replaced."""

    policy: str | None = None


class DeletionCondition(Slim, frozen=True, gc=False):
    """When a rule applies: by one of both statuses."""

    job_status: str | None = None
    job_deployment_status: str | None = None
    ttl_seconds: int = 0


_NO_CONDITION: Final = DeletionCondition()


class DeletionRule(Slim, frozen=True, gc=False):
    """One step of the clean-up."""

    policy: str = ""
    condition: DeletionCondition = _NO_CONDITION


class DeletionStrategy(Slim, frozen=True, gc=False):
    """What is deleted after the end, and when."""

    on_success: LegacyPolicy | None = None
    on_failure: LegacyPolicy | None = None
    deletion_rules: list[DeletionRule] | None = None


class RayJobSpec(Slim, frozen=True, gc=False):
    """What the user asks for."""

    entrypoint: str = ""
    runtime_env_yaml: str = msgspec.field(default="", name="runtimeEnvYAML")
    metadata: dict[str, str] | None = None
    job_id: str = ""
    submission_mode: str = SubmissionMode.K8S_JOB.value
    ray_cluster_spec: RayClusterSpec | None = None
    cluster_selector: dict[str, str] | None = None
    submitter_pod_template: Object | None = None
    submitter_config: SubmitterConfig | None = None
    entrypoint_num_cpus: float = 0.0
    entrypoint_num_gpus: float = 0.0
    entrypoint_resources: str = ""
    active_deadline_seconds: int | None = None
    pre_running_deadline_seconds: int | None = None
    backoff_limit: int | None = None
    shutdown_after_job_finishes: bool = False
    ttl_seconds_after_finished: int = 0
    deletion_strategy: DeletionStrategy | None = None
    managed_by: str | None = None
    suspend: bool = False


class RayJobInfo(Slim, frozen=True, gc=False):
    """Ray's own times of the job."""

    start_time: str | None = None
    end_time: str | None = None


class AttemptStatus(Slim, frozen=True, gc=False):
    """One attempt that ended: ours, beside KubeRay's fields."""

    number: int = 0
    ray_cluster_name: str = ""
    job_id: str = ""
    job_status: str = ""
    reason: str = ""
    message: str = ""
    exit_code: int | None = None
    start_time: str | None = None
    end_time: str | None = None
    log_tail: str = ""


class RayJobStatus(Slim, frozen=True, gc=False):
    """What is, as last written."""

    job_id: str = ""
    ray_cluster_name: str = ""
    dashboard_url: str = msgspec.field(default="", name="dashboardURL")
    job_status: str = ""
    job_deployment_status: str = ""
    reason: str = ""
    message: str = ""
    start_time: str | None = None
    end_time: str | None = None
    succeeded: int | None = None
    failed: int | None = None
    ray_cluster_status: Object | None = None
    ray_job_info: RayJobInfo | None = None
    job_status_check_failure_start_time: str | None = None
    conditions: tuple[Condition, ...] | None = None
    attempts: tuple[AttemptStatus, ...] | None = None
    observed_generation: int = 0


_NO_SPEC: Final = RayJobSpec()
_NO_STATUS: Final = RayJobStatus()


class RayJob(KubeObject, frozen=True, gc=False):
    """A program that a Ray cluster runs to its end."""

    spec: RayJobSpec = _NO_SPEC
    status: RayJobStatus = _NO_STATUS
