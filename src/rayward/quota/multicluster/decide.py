"""Admit, then apply: what to do about one RayService of a manager cluster. A pure function of what was read.

Quota is taken on the manager cluster first, then on the worker cluster, and only then does the edit reach the worker
cluster's RayService. A claim that loses quota on either side has its twin deactivated, so that the RayCluster behind
it stops and whatever else the RayService runs goes on. Everything is derived anew from objects each time. While the
worker cluster of a RayService cannot be reached nothing is changed: it may well be serving.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rayward.kinds import labels
from rayward.kinds.kueue import Workload, names
from rayward.quota.gate.demand import counts_of, demand_of, form_of, is_form
from rayward.quota.multicluster.claims import bound_to, claim_body, covers, holds, release_of
from rayward.quota.multicluster.report import report_of, why_it_waits
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
    RecountClaim,
    RecountTwin,
    ReleaseClaim,
    Report,
    RequeueClaim,
    SetFinalizer,
    State,
    Worker,
    Write,
)

_SUPERSEDED = "The RayService no longer asks for this release"
_GONE = "Nothing runs by it on the worker cluster any more"


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
            reason, message = self.state.problem or ("Pending", "")
            return Decision(tuple(writes), Report(False, reason, message))
        # a slice that lost its quota and is not asked for any more is finished once, whichever rule says so
        writes += [one for one in self._ask(goal) if one not in writes]
        current = self._remote_digest() == goal.digest
        if not current and self._may_forward(goal):
            assert self.pinned is not None
            writes.append(Forward(self.pinned.name, goal))
        return Decision(tuple(writes), report_of(self.state, self.live, goal, current=current))

    # what is asked for

    def _ask(self, goal: Goal) -> list[Write]:
        mine = [one for one in self.live if release_of(one) == goal.release and not one.deleting]
        settled = [one for one in mine if not self._waits_to_replace(one)]
        running = [one for one in settled if bound_to(one) and is_form(one, goal.demand)]
        if running:
            covered = any(self._is_for(one, goal) for one in settled)
            writes = self._supersede(running[-1]) if covered else self._grow(goal, running[-1])
            return writes or self._uncovered()
        waiting = [one for one in mine if not (one.reserved or bound_to(one)) and is_form(one, goal.demand)]
        if waiting and counts_of(waiting[0]) != goal.demand.counts:
            return [RecountClaim(waiting[0], goal.demand.counts)]
        if not any(self._is_for(one, goal) for one in mine):
            return [CreateClaim(claim_body(self.state, goal.release, goal.demand))]
        return self._uncovered()

    def _grow(self, goal: Goal, running: Workload) -> list[Write]:
        """More pods of a release that runs: a slice that replaces the claim by which it does."""
        replacing = self._replacing(running)
        counts = {name: max(count, counts_of(running).get(name, 0)) for name, count in goal.demand.counts.items()}
        if replacing:
            return [RecountClaim(replacing[0], counts)] if counts_of(replacing[0]) != counts else []
        if not holds(running):
            return []
        body = claim_body(self.state, goal.release, goal.demand.with_counts(counts), running)
        return [CreateClaim(body)]

    def _waits_to_replace(self, claim: Workload) -> bool:
        """Whether a claim is a slice beside the one that it is to replace."""
        return not claim.reserved and any(claim.replaces == str(one.key) for one in self.live)

    def _replacing(self, claim: Workload) -> list[Workload]:
        """Slices that wait to replace a claim."""
        return [one for one in self.live if one.replaces == str(claim.key) and not one.reserved]

    def _supersede(self, claim: Workload) -> list[Write]:
        return [FinishClaim(one, names.OUT_OF_SYNC, _SUPERSEDED) for one in self._replacing(claim)]

    def _lowered(self, claim: Workload, twins: Sequence[tuple[str, Workload]]) -> Mapping[str, int]:
        """What a claim still has to ask for: what the user does, and what the worker cluster has not given back yet.

        Before the worker cluster was told of it, what it runs may still grow to what was asked for before.
        """
        goal, held = self.state.goal, counts_of(claim)
        if goal is None or self._remote_digest() != goal.digest or not self._is_of(claim, goal):
            return held
        assert self.pinned is not None
        uid = bound_to(claim)
        clusters = (demand_of(one).counts for one in self.pinned.clusters if one.metadata.uid == uid)
        used = [goal.demand.counts, *clusters, *(counts_of(twin) for _, twin in twins)]
        return {name: min(count, max(one.get(name, 0) for one in used)) for name, count in held.items()}

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

    def _is_of(self, claim: Workload, goal: Goal) -> bool:
        return release_of(claim) == goal.release and is_form(claim, goal.demand)

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
        if goal is None:
            return True
        # One that waits is asked for other counts in its place.
        return self._is_of(claim, goal) and (covers(claim, goal.demand.counts) or not claim.reserved)

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
        if self._waits_to_replace(claim):
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
            if claim.reserved:
                return [*writes, *self._supersede(claim), RequeueClaim(claim)]
            return writes or self._give_back(claim, twins)
        worker = twins[0][0]
        if any(holds(twin) for _, twin in twins):
            writes += self._answer(claim, "Ready", f"Quota is reserved on worker cluster {worker}")
            return writes or self._give_back(claim, twins)
        return [*writes, *self._lost(claim, worker, twins[-1][1])]

    def _give_back(self, claim: Workload, twins: Sequence[tuple[str, Workload]]) -> list[Write]:
        lowered = self._lowered(claim, twins)
        return [RecountClaim(claim, lowered)] if lowered != counts_of(claim) else []

    def _dispatch(self, claim: Workload, twins: Sequence[tuple[str, Workload]]) -> list[Write]:
        """The first worker cluster that admits a claim's twin gets it; one that runs the RayService is the only one."""
        fewer = self._ask_less(claim, twins)
        if fewer:
            return fewer
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
        message = "; ".join(f"worker cluster {worker}: {why_it_waits(twin)}" for worker, twin in twins)
        if not candidates:
            message = (
                f"None of the worker clusters is connected: {', '.join(self.state.allowed) or 'none is configured'}"
            )
        return [*writes, *self._answer(claim, "Pending", message or "Asking worker clusters for quota")]

    def _ask_less(self, claim: Workload, twins: Sequence[tuple[str, Workload]]) -> list[Write]:
        """Fewer pods than were asked for, while worker clusters are asked and nothing runs."""
        goal, counts = self.state.goal, counts_of(claim)
        forwarded = self.pinned.service.release if self.pinned is not None and self.pinned.service is not None else ""
        if goal is not None and self._is_for(claim, goal) and self._is_of(claim, goal) and forwarded != goal.release:
            counts = goal.demand.counts
        if counts != counts_of(claim):
            return [RecountClaim(claim, counts)]
        return [RecountTwin(worker, twin, counts) for worker, twin in twins if counts_of(twin) != counts]

    def _lost(self, claim: Workload, worker: str, twin: Workload) -> list[Write]:
        """The worker cluster took its quota back, or has not given it again yet."""
        message = f"worker cluster {worker}: {why_it_waits(twin)}"
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


def _twins(state: State, claim: Workload, pinned: Worker | None) -> list[tuple[str, Workload]]:
    """The Workloads of worker clusters that stand for a claim, by worker."""
    uid = bound_to(claim)
    if uid:
        workloads = pinned.workloads if pinned is not None else ()
        name = pinned.name if pinned is not None else ""
        form = list(form_of(claim).items())
        return [
            (name, one)
            for one in workloads
            if bound_to(one) == uid and list(form_of(one).items()) == form and not one.finished
        ]
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
