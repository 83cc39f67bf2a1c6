"""Jobs, as their controller reads and reports them."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from rayward.kube.core.objects import KubeObject, Slim

FINALIZER: Final = "batch.kubernetes.io/job-tracking"
INDEX: Final = "batch.kubernetes.io/job-completion-index"
NAME_LABEL: Final = "batch.kubernetes.io/job-name"
CONTROLLER: Final = "kubernetes.io/job-controller"
_ENDS: Final = ("Complete", "Failed")


class _PodSpec(Slim, frozen=True, gc=False):
    restart_policy: str = ""


class _Template(Slim, frozen=True, gc=False):
    spec: _PodSpec = _PodSpec()


class JobSpec(Slim, frozen=True, gc=False):
    """What is asked for."""

    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    backoff_limit: int = 6
    backoff_limit_per_index: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False
    pod_replacement_policy: str = "TerminatingOrFailed"
    pod_failure_policy: dict[str, Any] | None = None
    success_policy: dict[str, Any] | None = None
    managed_by: str | None = None
    template: _Template = _Template()

    @property
    def indexed(self) -> bool:
        """Whether each completion has a number."""
        return self.completion_mode == "Indexed"

    @property
    def waits_for_end(self) -> bool:
        """Whether a pod that is going is replaced only when it has ended."""
        return self.pod_replacement_policy == "Failed"


class Uncounted(Slim, frozen=True, gc=False):
    """Pods that have ended and still carry the finalizer: they are counted when it is gone."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobCondition(Slim, frozen=True, gc=False):
    """A condition of a job."""

    type: str = ""
    status: str = ""
    last_probe_time: str | None = None
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class JobStatus(Slim, frozen=True, gc=False):
    """How far a job is."""

    active: int = 0
    ready: int | None = None
    terminating: int | None = None
    succeeded: int = 0
    failed: int = 0
    completed_indexes: str = ""
    uncounted_terminated_pods: Uncounted | None = None
    start_time: str | None = None
    completion_time: str | None = None
    conditions: tuple[JobCondition, ...] | None = None

    def condition(self, kind: str) -> JobCondition | None:
        """The condition of one type, if it is True."""
        found = (each for each in self.conditions or () if each.type == kind and each.status == "True")
        return next(found, None)


class SeenJob(KubeObject, frozen=True, gc=False):
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def end(self) -> JobCondition | None:
        """The condition that ended it."""
        return next((found for kind in _ENDS if (found := self.status.condition(kind)) is not None), None)

    @property
    def ours(self) -> bool:
        """Whether no other controller was asked to run it."""
        return self.spec.managed_by in (None, CONTROLLER)


def with_condition(status: JobStatus, new: JobCondition) -> JobStatus:
    """The status with a condition in place of the one of its type; unchanged if that says the same."""
    conditions = status.conditions or ()
    old = next((found for found in conditions if found.type == new.type), None)
    if old is None:
        # From nothing to false is no news.
        return status if new.status == "False" else msgspec.structs.replace(status, conditions=(*conditions, new))
    if (old.status, old.reason, old.message) == (new.status, new.reason, new.message):
        return status
    return msgspec.structs.replace(status, conditions=tuple(new if found is old else found for found in conditions))
