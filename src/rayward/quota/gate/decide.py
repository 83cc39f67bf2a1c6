"""What the gate does about one RayCluster: a pure function of what was read.

Quota is asked for before pods run and given back after they are gone. A grant that shrinks is written first; what it
frees is given back once the operator has said that it acts by it and no pod is left. Everything is derived anew from
objects each time, so a gate that dies between two writes goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rayward.kinds import labels
from rayward.kinds.admission import NEVER_FITS, Grant
from rayward.kinds.kueue import Workload, names
from rayward.quota.gate import grants
from rayward.quota.gate.demand import (
    Demand,
    adopted,
    counts_of,
    form_of,
    is_form,
    origin_of,
    recounted,
    reshaped,
    workload_body,
)
from rayward.quota.gate.state import (
    AbortUpgrade,
    CreateWorkload,
    Decision,
    Event,
    FinishWorkload,
    PatchWorkload,
    PodUse,
    ReleaseWorkload,
    ReportReady,
    State,
    SuspendJob,
    Unreserve,
    Write,
    WriteGrant,
)
from rayward.quota.gate.violation import violation

VIOLATION = "GateViolation"
STOPPED_BY_QUEUE = "StoppedByQueue"
QUEUE_TIMEOUT = "UpgradeQueueTimeout"
_PODS_GONE = "All pods are gone"
_SUPERSEDED = "The RayCluster no longer requests these pods"


def decide(state: State) -> Decision:
    """One step towards pods that run within quota, and quota that is held for pods."""
    uid = state.cluster.metadata.uid if state.cluster is not None else ""
    writes: list[Write] = []
    for workload in state.workloads:
        if _cluster_uid(workload) != uid:
            writes += _retire(state, workload)
    mine = [workload for workload in state.workloads if _cluster_uid(workload) == uid]
    if state.cluster is None:
        return Decision(tuple(writes))
    writes += [ReleaseWorkload(workload, delete=not workload.deleting) for workload in mine if workload.finished]
    live = [workload for workload in mine if not workload.finished]
    if state.terms is None:
        message = "The RayCluster is no longer under the gate"
        writes += [FinishWorkload(workload, names.OUT_OF_SYNC, message) for workload in live]
        return Decision(tuple(writes))
    if state.cluster.deleting:
        # Its pods are on their way out; what they use is given back when they are gone, by _retire.
        return Decision(tuple(writes))
    return _Step(state, live, tuple(writes)).decide()


def _retire(state: State, workload: Workload) -> list[Write]:
    """Of a RayCluster that is gone: finished when its last pod is, and then deleted."""
    if workload.finished:
        return [ReleaseWorkload(workload, delete=not workload.deleting)]
    if _still_runs(state, workload) or not state.lingering.isdisjoint(("", origin_of(workload))):
        return []
    return [FinishWorkload(workload, names.SUCCEEDED, _PODS_GONE)]


def _still_runs(state: State, workload: Workload) -> bool:
    """Whether a pod of its RayCluster is left: owned by it, or orphaned or adopted by another and marked as its own."""
    uid, origin = _cluster_uid(workload), origin_of(workload)
    return any(
        owner == uid or pod.workload == origin or not (owner or pod.workload)
        for owner, pods in state.pods.items()
        for pod in pods
    )


def gives_back(decision: Decision) -> bool:
    """Whether quota comes free by it: what runs has to be read from the server then, a cache may be too old."""
    return any(
        write.workload.reserved
        for write in decision.writes
        if isinstance(write, (FinishWorkload, Unreserve))
        or (isinstance(write, PatchWorkload) and "spec" in write.change)
    )


@dataclass(frozen=True)
class _Step:
    """The decision about a RayCluster that is there and in a queue."""

    state: State
    live: Sequence[Workload]
    """Its Workloads that are not finished, oldest first."""
    first: tuple[Write, ...]

    def decide(self) -> Decision:
        demand = self.state.demand
        active = demand is not None and self.state.problem is None and not self.state.stopped
        same = [one for one in self.live if active and demand is not None and is_form(one, demand)]
        same = [one for one in same if not one.deleting]
        holder = _newest(one for one in same if _holds(one))
        others = [one for one in self.live if one not in same]
        # A spec that cannot be counted asks for nothing, and takes nothing away from what runs.
        keep = [] if self.state.stopped else [one for one in others if _holds(one)]
        want: Mapping[str, int] = {}
        if active and demand is not None:
            want = self._wanted(demand, holder, same)
        lowered = self._lowered(holder, want)
        grant = grants.grant_of(self.state, holder, lowered, keep, waiting=self._waiting(same, others))
        writes: list[Write] = list(self.first)
        if grant != self.state.grant and not self._is_stale_wording(grant):
            writes.append(WriteGrant(grant))
        settled = grants.is_same_permission(grant, self.state.grant) and self.state.acknowledged
        writes += self._evictions(settled)
        if active and demand is not None:
            writes += self._asks(demand, want, holder, same, others, settled)
            if holder is not None and lowered != counts_of(holder) and settled:
                writes.append(PatchWorkload(holder, recounted(holder, lowered)))
        if holder is not None and settled and self.state.ready and not holder.holds(names.PODS_READY):
            # Told of each RayCluster alone: a service is ready by its old release while an upgrade never comes up.
            writes.append(ReportReady(holder))
        writes += self._leftovers(same, others, active, settled)
        writes += self._relabelled()
        if holder is None:
            writes += self._abort()
        said = violation(self.state, self.live, self._pods())
        events = (Event("Warning", VIOLATION, said),) if said else self._stopped_by_queue(grant)
        return Decision(tuple(writes), events, bool(said))

    # how many

    def _pods(self) -> Sequence[PodUse]:
        assert self.state.cluster is not None
        return self.state.pods.get(self.state.cluster.metadata.uid, ())

    def _chain_pods(self, workload: Workload) -> list[PodUse]:
        """Pods of its chain; those without a mark are of any."""
        origin = origin_of(workload)
        return [pod for pod in self._pods() if pod.workload in ("", origin)]

    def _wanted(self, demand: Demand, holder: Workload | None, same: Sequence[Workload]) -> Mapping[str, int]:
        """Pods by pod set; those that run under other shapes and stay are not asked for a second time."""
        chain = holder or _newest(same)
        origin = origin_of(chain) if chain is not None else ""
        held = {origin_of(one) for one in self.live if _holds(one) and origin_of(one) != origin}
        elsewhere: dict[str, int] = {}
        for pod in self._pods():
            if pod.workload in held:
                elsewhere[pod.group] = elsewhere.get(pod.group, 0) + 1
        return {one.name: max(one.count - elsewhere.get(one.group, 0), 0) for one in demand.sets}

    def _lowered(self, holder: Workload | None, want: Mapping[str, int]) -> Mapping[str, int]:
        """What the holder's pod sets still need: what is wanted, and what has not gone yet."""
        if holder is None:
            return {}
        form = form_of(holder)
        running: dict[str, int] = {}
        for pod in self._chain_pods(holder):
            running[pod.group] = running.get(pod.group, 0) + 1
        return {
            name: min(count, max(want.get(name, 0), running.get(form[name].group, 0) if name in form else 0))
            for name, count in counts_of(holder).items()
        }

    # what to ask for

    def _asks(
        self,
        demand: Demand,
        want: Mapping[str, int],
        holder: Workload | None,
        same: Sequence[Workload],
        others: Sequence[Workload],
        settled: bool,
    ) -> list[Write]:
        waiting = [one for one in same if not one.reserved]
        if holder is not None:
            return self._slice(demand, want, holder, waiting)
        if any(one.reserved for one in same):
            # Its admission checks are not ready, or it is being evicted: nothing can be changed now.
            return []
        terms = self.state.terms
        assert terms is not None
        assert self.state.cluster is not None
        wanted = demand.with_counts(want)
        if waiting:
            first, surplus = waiting[0], waiting[1:]
            writes: list[Write] = [FinishWorkload(one, names.OUT_OF_SYNC, _SUPERSEDED) for one in surplus]
            if wanted.is_empty:
                return [*writes, FinishWorkload(first, names.OUT_OF_SYNC, _SUPERSEDED)]
            change = recounted(first, want) if counts_of(first) != want else {}
            if first.spec.queue_name != terms.queue:
                change.setdefault("spec", {})["queueName"] = terms.queue
            if change:
                writes.append(PatchWorkload(first, change))
            return writes
        if wanted.is_empty:
            return []
        if self.state.prebuilt is not None:
            # Its quota was taken on a manager cluster too: nobody else asks for it.
            given = next((one for one in self.state.prebuilt if is_form(one, demand)), None)
            return [PatchWorkload(given, adopted(self.state.cluster, given, terms.role))] if given is not None else []
        asks = next((one for one in others if _may_be_reshaped(one)), None)
        if asks is not None:
            return [PatchWorkload(asks, reshaped(wanted))]
        last = self.state.workloads[-1].metadata.uid if self.state.workloads else ""
        return [CreateWorkload(workload_body(self.state.cluster, wanted, terms, None, last))]

    def _slice(
        self, demand: Demand, want: Mapping[str, int], holder: Workload, waiting: Sequence[Workload]
    ) -> list[Write]:
        """More pods of the same shapes are asked for by a slice that replaces the one that holds quota."""
        terms = self.state.terms
        assert terms is not None
        assert self.state.cluster is not None
        held = counts_of(holder)
        replacing = [one for one in waiting if one.replaces == str(holder.key)]
        writes: list[Write] = [
            FinishWorkload(one, names.OUT_OF_SYNC, _SUPERSEDED) for one in waiting if one not in replacing[:1]
        ]
        if not any(want[name] > held.get(name, 0) for name in want):
            return [*writes, *(FinishWorkload(one, names.OUT_OF_SYNC, _SUPERSEDED) for one in replacing[:1])]
        lowered = self._lowered(holder, want)
        counts = {name: max(count, lowered.get(name, 0)) for name, count in want.items()}
        if not replacing:
            body = workload_body(self.state.cluster, demand.with_counts(counts), terms, holder, "")
            return [*writes, CreateWorkload(body)]
        if counts_of(replacing[0]) != counts:
            writes.append(PatchWorkload(replacing[0], recounted(replacing[0], counts)))
        return writes

    # what to give back

    def _evictions(self, settled: bool) -> list[Write]:
        writes: list[Write] = []
        for workload in self.live:
            if workload.evicted and not workload.deleting and self.state.job and workload.reserved:
                if not self.state.job_suspended:
                    deactivated = grants.evicted_because(workload).startswith(names.BY_DEACTIVATION)
                    writes.append(SuspendJob(self.state.job, mark=not deactivated))
                continue
            if not settled or self._chain_pods(workload):
                continue
            if workload.deleting:
                writes.append(FinishWorkload(workload, names.OUT_OF_SYNC, _PODS_GONE))
            elif workload.evicted and workload.reserved:
                replacements = [one for one in self.live if one.replaces == str(workload.key) and not one.reserved]
                writes += [FinishWorkload(one, names.OUT_OF_SYNC, _SUPERSEDED) for one in replacements]
                writes.append(Unreserve(workload))
        return writes

    def _leftovers(
        self, same: Sequence[Workload], others: Sequence[Workload], active: bool, settled: bool
    ) -> list[Write]:
        """Workloads of shapes that are no longer asked for: finished when the last of their pods is gone."""
        if not settled:
            return []
        writes: list[Write] = []
        for workload in others:
            if workload.deleting or (workload.evicted and workload.reserved) or self._chain_pods(workload):
                continue
            if not workload.reserved and active and not same and not workload.replaces:
                # It is asked to ask for something else.
                continue
            reason = self.state.stopped or _SUPERSEDED
            writes.append(FinishWorkload(workload, names.OUT_OF_SYNC, reason))
        return writes

    def _relabelled(self) -> list[Write]:
        """A surge is the base once its RayCluster serves."""
        role = self.state.terms.role if self.state.terms is not None else ""
        stale = [one for one in self.live if one.metadata.label(labels.ROLE) != role and not one.deleting]
        return [PatchWorkload(one, {"metadata": {"labels": {labels.ROLE: role}}}) for one in stale]

    def _abort(self) -> list[Write]:
        """An upgrade that holds no quota is given up where its RayService asks for that."""
        state = self.state
        never = state.standing.never_fits if state.rejects else ""
        reason, why = (NEVER_FITS, never) if never else (QUEUE_TIMEOUT, state.overdue)
        if not (state.upgrade_of and why):
            return []
        assert state.cluster is not None
        return [AbortUpgrade(state.upgrade_of, state.cluster.metadata.name, reason, why)]

    # what is said

    def _is_stale_wording(self, grant: Grant) -> bool:
        """Whether a grant differs from the one that is written in numbers alone, and those were told a moment ago."""
        known = self.state.grant
        same = known is not None and grants.is_same_permission(grant, known) and grant.reason == known.reason
        return same and self.state.told_lately

    def _stopped_by_queue(self, grant: Grant) -> tuple[Event, ...]:
        """A cluster that ran before it was put in a queue."""
        pods = len(self._pods())
        if self.state.grant is not None or not pods or not grant.is_closed or self.state.stopped:
            return ()
        assert self.state.terms is not None
        message = (
            f"{pods} pods run and no quota is reserved for them: they are stopped until LocalQueue "
            f"{self.state.terms.queue} admits this RayCluster"
        )
        return (Event("Warning", STOPPED_BY_QUEUE, message),)

    def _waiting(self, same: Sequence[Workload], others: Sequence[Workload]) -> Workload | None:
        """The Workload whose wait is worth reporting."""
        return _newest(one for one in same if not _holds(one)) or _newest(one for one in others if not _holds(one))


def _holds(workload: Workload) -> bool:
    """Whether pods may run by it."""
    return workload.reserved and workload.admitted and not workload.evicted and not workload.deleting


def _may_be_reshaped(workload: Workload) -> bool:
    return not (workload.reserved or workload.deleting or workload.replaces)


def _newest(workloads: Iterable[Workload]) -> Workload | None:
    return max(workloads, key=lambda one: (one.metadata.creation_timestamp or "", bool(one.replaces)), default=None)


def _cluster_uid(workload: Workload) -> str:
    return workload.metadata.label(labels.CLUSTER_UID)
