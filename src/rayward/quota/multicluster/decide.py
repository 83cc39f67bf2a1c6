"""Admit, then apply: what to do about one RayService of a manager cluster. A pure function of what was read.

Quota is taken on the manager cluster first, then on the worker cluster, and only then does the edit reach the worker
cluster's RayService. A claim that loses quota on either side has its twin deactivated, so that the RayCluster behind
it stops and whatever else the RayService runs goes on. Everything is derived anew from objects each time. While the
worker cluster of a RayService cannot be reached nothing is changed: it may well be serving.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rayward.kinds import labels
from rayward.kinds.kueue import Workload, names
from rayward.quota.gate.demand import counts_of, demand_of, is_form
from rayward.quota.multicluster.claims import bound_to, claim_body, covers, holds, release_of
from rayward.quota.multicluster.state import (
    ActivateTwin,
    AnswerCheck,
    BindClaim,
    CheckAnswer,
    CreateClaim,
    CreateTwin,
    Decision,
    DeleteService,
    DeleteTwin,
    FinishClaim,
    Forward,
    Goal,
    Pin,
    ReleaseClaim,
    Report,
    RequeueClaim,
    SetFinalizer,
    State,
    Worker,
    Write,
)

_SUPERSEDED = "The RayService no longer asks for this release"
_GONE = "The RayCluster on the worker cluster is gone"


def decide(state: State) -> Decision:
    """One step towards a RayService that runs on one worker cluster, within the quota of both."""
    released = tuple(ReleaseClaim(one) for one in state.claims if one.finished)
    live = tuple(one for one in state.claims if not one.finished)
    pinned = state.workers.get(state.pinned) if state.pinned else None
    if state.pinned and (pinned is None or not pinned.connected):
        message = f"Worker cluster {state.pinned} is not connected; what runs there is left alone until it is"
        return Decision(released, Report(False, "WorkerUnreachable", message))
    if state.service is None or state.service.deleting:
        return Decision((*released, *_end(state, live, pinned)))
    if labels.MULTICLUSTER not in (state.service.metadata.finalizers or ()):
        return Decision((*released, SetFinalizer(present=True)))
    if pinned is not None and pinned.service is not None and not pinned.service.ours:
        message = (
            f"RayService {state.service.key} exists on worker cluster {pinned.name} and was not made from this one"
        )
        return Decision(released, Report(False, "NameConflict", message))
    return _Step(state, live, pinned).decide(released)


def _end(state: State, live: Sequence[Workload], pinned: Worker | None) -> list[Write]:
    """What runs on the worker cluster goes first, then what was reserved for it."""
    writes: list[Write] = []
    if pinned is not None and pinned.service is not None and pinned.service.ours:
        if not pinned.service.deleting:
            writes.append(DeleteService(pinned.name, pinned.service.uid))
        return writes
    for claim in live:
        twins = _twins(state, claim, pinned)
        if not twins:
            writes.append(FinishClaim(claim, names.SUCCEEDED, "The RayService is deleted"))
        writes += [DeleteTwin(worker, twin) for worker, twin in twins if not bound_to(twin) and not twin.deleting]
    if state.service is not None and not state.claims and _has_finalizer(state):
        writes.append(SetFinalizer(present=False))
    return writes


@dataclass(frozen=True)
class _Step:
    """The decision about a RayService that is there, and whose worker cluster, if it has one, answers."""

    state: State
    live: Sequence[Workload]
    pinned: Worker | None

    def decide(self, first: tuple[Write, ...]) -> Decision:
        writes: list[Write] = list(first)
        for claim in self.live:
            writes += self._keep(claim)
        goal = self.state.goal
        if goal is None:
            return Decision(tuple(writes), Report(False, "InvalidSpec", self.state.problem))
        writes += self._ask(goal)
        current = self._remote_digest() == goal.digest
        if not current and self._may_forward(goal):
            assert self.pinned is not None
            writes.append(Forward(self.pinned.name, goal))
        return Decision(tuple(writes), self._report(goal, current=current))

    # what is asked for

    def _ask(self, goal: Goal) -> list[Write]:
        mine = [one for one in self.live if release_of(one) == goal.release and not one.deleting]
        running = [one for one in mine if bound_to(one) and is_form(one, goal.demand)]
        if running and not any(covers(one, goal.demand.counts) for one in mine):
            return self._grow(goal, running[-1], mine)
        if not any(self._is_for(one, goal) for one in mine) and not running:
            return [CreateClaim(claim_body(self.state, goal.release, goal.demand))]
        return self._uncovered()

    def _grow(self, goal: Goal, running: Workload, mine: Sequence[Workload]) -> list[Write]:
        """More pods of a release that runs: a slice that replaces the claim by which it does."""
        waiting = [one for one in mine if one.replaces and not one.reserved]
        if waiting or not holds(running):
            return []
        counts = {name: max(count, counts_of(running).get(name, 0)) for name, count in goal.demand.counts.items()}
        body = claim_body(self.state, goal.release, goal.demand.with_counts(counts), running)
        return [CreateClaim(body)]

    def _uncovered(self) -> list[Write]:
        """RayClusters that the worker cluster's operator made by itself, to replace a broken one, say."""
        if self.pinned is None:
            return []
        known = {bound_to(one) for one in self.pinned.workloads if not one.finished}
        free = [one for one in self.live if not bound_to(one)]
        for cluster in self.pinned.clusters:
            if cluster.deleting or cluster.spec.suspend or cluster.metadata.uid in known:
                continue
            demand = demand_of(cluster)
            if not demand.is_empty and not any(is_form(one, demand) for one in free):
                release = cluster.metadata.annotation(labels.SPEC_HASH)
                return [CreateClaim(claim_body(self.state, release, demand))]
        return []

    def _is_for(self, claim: Workload, goal: Goal) -> bool:
        return is_form(claim, goal.demand) and covers(claim, goal.demand.counts)

    def _is_needed(self, claim: Workload) -> bool:
        """Whether a claim by which nothing runs yet is still of use."""
        goal, release = self.state.goal, release_of(claim)
        if self.pinned is not None:
            forwarded = self.pinned.service.release if self.pinned.service is not None else ""
            unbound = [one for one in self.pinned.clusters if not one.deleting and not self._runs(one.metadata.uid)]
            if any(is_form(claim, demand_of(one)) for one in unbound):
                return True
            if release == forwarded and not any(bound_to(one) and release_of(one) == release for one in self.live):
                # Its RayCluster is about to be made.
                return True
            if goal is not None and goal.release == forwarded:
                return False
        return goal is None or (release == goal.release and self._is_for(claim, goal))

    def _runs(self, uid: str) -> bool:
        return self.pinned is not None and any(
            bound_to(one) == uid and not one.finished for one in self.pinned.workloads
        )

    # what becomes of each claim

    def _keep(self, claim: Workload) -> list[Write]:
        twins = _twins(self.state, claim, self.pinned)
        if bound_to(claim):
            return self._keep_bound(claim, twins)
        adopted = [uid for _, twin in twins if (uid := bound_to(twin))]
        if adopted:
            return [BindClaim(claim, adopted[0])]
        if not self._is_needed(claim) or claim.deleting:
            return self._withdraw(twins) or [FinishClaim(claim, names.OUT_OF_SYNC, _SUPERSEDED)]
        if claim.evicted and claim.reserved:
            return self._withdraw(twins) or [RequeueClaim(claim)]
        if not claim.reserved:
            return self._withdraw(twins)
        return self._dispatch(claim, twins)

    def _keep_bound(self, claim: Workload, twins: Sequence[tuple[str, Workload]]) -> list[Write]:
        if not twins:
            return [FinishClaim(claim, names.SUCCEEDED, _GONE)]
        if claim.replaces and not claim.reserved:
            # A slice that waits takes nothing from what runs by the one that it is to replace.
            return []
        active = claim.reserved and not claim.evicted and not claim.deleting
        writes: list[Write] = [
            ActivateTwin(worker, twin, active)
            for worker, twin in twins
            if twin.spec.active != active and not twin.deleting
        ]
        if not active:
            if any(twin.reserved for _, twin in twins):
                return writes
            if claim.deleting:
                return [*writes, FinishClaim(claim, names.OUT_OF_SYNC, _GONE)]
            return [*writes, RequeueClaim(claim)] if claim.reserved else writes
        worker = twins[0][0]
        if any(holds(twin) for _, twin in twins):
            return [*writes, *self._answer(claim, "Ready", f"Quota is reserved on worker cluster {worker}")]
        return [*writes, *self._lost(claim, worker, twins[-1][1])]

    def _dispatch(self, claim: Workload, twins: Sequence[tuple[str, Workload]]) -> list[Write]:
        """The first worker cluster that admits a claim's twin gets it; one that runs the RayService is the only one."""
        candidates = (self.state.pinned,) if self.state.pinned else self._connected()
        winner = next((worker for worker, twin in twins if holds(twin) and worker in candidates), "")
        if winner:
            writes: list[Write] = [DeleteTwin(worker, twin) for worker, twin in twins if worker != winner]
            if not self.state.pinned:
                writes.append(Pin(winner))
            message = f"Quota is reserved on worker cluster {winner}"
            return [*writes, *self._answer(claim, "Ready", message)]
        asked = {worker for worker, _ in twins}
        writes = [CreateTwin(worker, claim) for worker in candidates if worker not in asked]
        for worker, twin in twins:
            if worker not in candidates:
                writes.append(DeleteTwin(worker, twin))
            elif not twin.spec.active:
                writes.append(ActivateTwin(worker, twin, active=True))
        if self._answered(claim, "Ready") and twins:
            return [*writes, *self._lost(claim, *twins[0])]
        message = "; ".join(f"worker cluster {worker}: {_waits(twin)}" for worker, twin in twins)
        if not candidates:
            message = (
                f"None of the worker clusters is connected: {', '.join(self.state.allowed) or 'none is configured'}"
            )
        return [*writes, *self._answer(claim, "Pending", message or "Asking worker clusters for quota")]

    def _lost(self, claim: Workload, worker: str, twin: Workload) -> list[Write]:
        """The worker cluster took its quota back, or has not given it again yet."""
        message = f"worker cluster {worker}: {_waits(twin)}"
        return self._answer(claim, "Retry" if self._answered(claim, "Ready") else "Pending", message)

    def _withdraw(self, twins: Iterable[tuple[str, Workload]]) -> list[Write]:
        return [DeleteTwin(worker, twin) for worker, twin in twins if not twin.deleting]

    def _connected(self) -> tuple[str, ...]:
        workers = self.state.workers
        return tuple(name for name in self.state.allowed if name in workers and workers[name].connected)

    def _answered(self, claim: Workload, answer: str) -> bool:
        return any(one.name in self.state.checks and one.state == answer for one in claim.status.admission_checks or ())

    def _answer(self, claim: Workload, answer: CheckAnswer, message: str) -> list[Write]:
        return [
            AnswerCheck(claim, one.name, answer, message)
            for one in claim.status.admission_checks or ()
            if one.name in self.state.checks
            and (one.state, one.message) != (answer, message)
            # An eviction resets the answer; until then another one would only undo it.
            and one.state != "Retry"
        ]

    # the edit

    def _may_forward(self, goal: Goal) -> bool:
        if self.pinned is None:
            return False
        if self.pinned.service is not None and self.pinned.service.deleting:
            return False
        return any(
            release_of(claim) == goal.release
            and holds(claim)
            and self._is_for(claim, goal)
            and any(holds(twin) for _, twin in _twins(self.state, claim, self.pinned))
            for claim in self.live
        )

    def _remote_digest(self) -> str:
        if self.pinned is None or self.pinned.service is None:
            return ""
        return self.pinned.service.forwarded

    def _report(self, goal: Goal, *, current: bool) -> Report:
        where = f" on worker cluster {self.pinned.name}" if self.pinned is not None else ""
        waiting = [one for one in self.live if not holds(one)]
        mine = [one for one in waiting if release_of(one) == goal.release]
        if current and not waiting:
            return Report(True, "QuotaReserved", f"Quota is reserved here and{where}", current=True)
        claim = (mine or waiting or [None])[-1]
        if claim is None:
            return Report(False, "Pending", "The Workload is being created", current=current)
        if claim.evicted and claim.reserved:
            found = claim.condition(names.EVICTED)
            assert found is not None
            return Report(False, found.reason, f"Workload {claim.metadata.name} was evicted: {found.message}", current)
        if claim.reserved:
            said = next(
                (one.message for one in claim.status.admission_checks or () if one.name in self.state.checks), ""
            )
            message = f"Workload {claim.metadata.name} has quota here and waits for {said or 'a worker cluster'}"
            return Report(False, "WaitingForWorkerCluster", message, current)
        found = claim.condition(names.QUOTA_RESERVED)
        message = (
            found.message if found is not None and found.message else f"waits in LocalQueue {claim.spec.queue_name}"
        )
        return Report(False, "Pending", f"Workload {claim.metadata.name}: {message}", current)


def _twins(state: State, claim: Workload, pinned: Worker | None) -> list[tuple[str, Workload]]:
    """The Workloads of worker clusters that stand for a claim, by worker."""
    uid = bound_to(claim)
    if uid:
        workloads = pinned.workloads if pinned is not None else ()
        name = pinned.name if pinned is not None else ""
        return [(name, one) for one in workloads if bound_to(one) == uid and not one.finished]
    return [
        (worker.name, one)
        for worker in state.workers.values()
        if worker.connected
        for one in worker.workloads
        if one.metadata.name == claim.metadata.name and not one.finished
    ]


def _has_finalizer(state: State) -> bool:
    assert state.service is not None
    return labels.MULTICLUSTER in (state.service.metadata.finalizers or ())


def _waits(twin: Workload) -> str:
    evicted = twin.condition(names.EVICTED)
    if evicted is not None and evicted.status == "True":
        return f"evicted: {evicted.message}"
    found = twin.condition(names.QUOTA_RESERVED)
    return (found.message if found is not None else "") or f"waits in LocalQueue {twin.spec.queue_name}"
