"""Ending a RayJob before its time."""

from __future__ import annotations

from typing import Any, Final

from rayward.changes import writing
from rayward.changes.outcomes import WaitTimeout
from rayward.changes.raydashboard import dashboard_of
from rayward.changes.refs import Ref
from rayward.changes.steps import Now, Operation, Pause, Send
from rayward.kube.client import errors, verbs
from rayward.kube.client.errors import ApiError
from rayward.kube.client.options import PatchOptions, PatchType
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.net.errors import NetworkError

_POLL: Final = 0.5
_AGAIN: Final = 10
"""After so many polls Ray is asked once more."""
_OVER: Final = frozenset(("Complete", "Failed"))


def stop(ref: Ref, *, timeout: float = 120.0, manager: str = writing.MANAGER) -> Operation[Object]:
    """Have Ray end the job, and wait until the RayJob says so.

    A job that Ray does not have yet is suspended instead: nothing of it runs, and it can be resumed or deleted. One
    that has ended is left as it is.

    Raises:
        WaitTimeout: It has not ended in time.
    """
    began: float = yield Now()
    asked = 0
    while True:
        live = yield from writing.read(ref)
        status = section(live, "status")
        phase: Any = status.get("jobDeploymentStatus")
        if phase in _OVER or phase in ("Suspended", "ValidationFailed"):
            return live
        if phase == "Running":
            if asked % _AGAIN == 0:
                yield from _ask(ref, status)
            asked += 1
        elif not section(live, "spec").get("suspend"):
            yield from _suspend(ref, live, manager)
        if (yield Now()) - began > timeout:
            what = f"{ref} has not ended after {timeout:g} s"
            following = f"rayward stop {ref.name}   # again; or delete it: rayward delete {ref}"
            raise WaitTimeout(what, f"it is {phase}", following, object=str(ref))
        yield Pause(_POLL)


def _ask(ref: Ref, status: Object) -> Operation[None]:
    job_id, cluster = str(status.get("jobId") or ""), str(status.get("rayClusterName") or "")
    try:
        dashboard = yield from dashboard_of(ref.namespace, cluster)
        if dashboard is not None and job_id:
            yield Send(dashboard.stop(job_id))
    except errors.Forbidden:
        raise
    except (ApiError, NetworkError):
        # the head is away, or Ray does not have the job yet: it is asked again
        return


def _suspend(ref: Ref, live: Object, manager: str) -> Operation[None]:
    version = section(live, "metadata").get("resourceVersion")
    change: Object = {"metadata": {"resourceVersion": version}, "spec": {"suspend": True}}
    options = PatchOptions(field_manager=manager)
    try:
        yield Send(verbs.patch(ref.resource, ref.name, change, PatchType.MERGE, ref.namespace, **options))
    except ApiError as error:
        if not error.retryable and error.code != 409:
            raise
