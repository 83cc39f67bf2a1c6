"""Where a change of a RayService on worker clusters stands, in words."""

from __future__ import annotations

from collections.abc import Sequence

from rayward.kinds.kueue import Workload, names
from rayward.quota.multicluster.claims import holds, release_of
from rayward.quota.multicluster.state import Goal, Report, State


def report_of(state: State, live: Sequence[Workload], goal: Goal, *, current: bool) -> Report:
    """What condition ``QuotaReserved`` says.

    Args:
        state: What was read.
        live: The claims that are not finished, oldest first.
        goal: What the user asks for.
        current: Whether the worker cluster has it.
    """
    where = f" on worker cluster {state.pinned}" if state.pinned else ""
    waiting = [one for one in live if not holds(one)]
    mine = [one for one in waiting if release_of(one) == goal.release]
    if current and not waiting:
        return Report(True, "QuotaReserved", f"Quota is reserved here and{where}", current=True)
    claim = (mine or waiting or [None])[-1]
    if claim is None:
        return Report(False, "Pending", "The Workload is being created", current=current)
    name = claim.metadata.name
    if claim.evicted and claim.reserved:
        found = claim.condition(names.EVICTED)
        assert found is not None
        return Report(False, found.reason, f"Workload {name} was evicted: {found.message}", current)
    if claim.reserved:
        answers = (one.message for one in claim.status.admission_checks or () if one.name in state.checks)
        message = f"Workload {name} has quota here and waits for {next(answers, '') or 'a worker cluster'}"
        return Report(False, "WaitingForWorkerCluster", message, current)
    return Report(False, "Pending", f"Workload {name}: {_said(claim)}", current)


def why_it_waits(twin: Workload) -> str:
    """What a worker cluster says about a Workload that it has not admitted."""
    evicted = twin.condition(names.EVICTED)
    if evicted is not None and evicted.status == "True":
        return f"evicted: {evicted.message}"
    return _said(twin)


def _said(workload: Workload) -> str:
    found = workload.condition(names.QUOTA_RESERVED)
    return (found.message if found is not None else "") or f"waits in LocalQueue {workload.spec.queue_name}"
