"""Job, as far as controllers read it."""

from __future__ import annotations

from rayward.kube.core.objects import Condition, KubeObject, Slim


class JobSpec(Slim, frozen=True, gc=False):
    """The part of a job's spec that is read."""

    parallelism: int | None = None
    completions: int | None = None
    backoff_limit: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False


class JobStatus(Slim, frozen=True, gc=False):
    """How far a job is."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    ready: int = 0
    start_time: str | None = None
    completion_time: str | None = None
    conditions: tuple[Condition, ...] | None = None


_NO_SPEC = JobSpec()
_NO_STATUS = JobStatus()


class Job(KubeObject, frozen=True, gc=False):
    spec: JobSpec = _NO_SPEC
    status: JobStatus = _NO_STATUS

    def finished(self) -> str | None:
        """The condition type that ended it, ``Complete`` or ``Failed``; None while it may still run."""
        for condition in self.status.conditions or ():
            if condition.status == "True" and condition.type in ("Complete", "Failed"):
                return condition.type
        return None
