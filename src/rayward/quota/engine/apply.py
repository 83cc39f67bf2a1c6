"""Carries out what the engine decided about a Workload: it is admitted, evicted, or finished because it is replaced."""

from __future__ import annotations

from dataclasses import dataclass

from rayward.kinds.kueue import Workload, names
from rayward.kinds.resources import WORKLOADS
from rayward.kube.core.meta import is_true
from rayward.kube.core.objects import Key
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import Clock
from rayward.kube.runtime.events import ComponentRecorder
from rayward.quota.engine import status as to
from rayward.quota.engine.cycle import Admit, Evict, preemption_message
from rayward.quota.engine.engine import Engine
from rayward.quota.engine.writes import WorkloadWrites


@dataclass(frozen=True)
class DecisionWriter:
    """Writes decisions, and tells what it wrote in an event."""

    engine: Engine
    workloads: Cache[Workload]
    writes: WorkloadWrites
    recorder: ComponentRecorder
    clock: Clock

    async def apply(self, workload: Workload, decision: Admit | Evict) -> bool:
        """Write a decision; False where the workload is not the one that was decided upon any longer."""
        known = self.engine.item(decision.key)
        if known is None or known.generation != workload.metadata.generation or workload.finished:
            return False
        if isinstance(decision, Evict):
            return await self._evict(workload, decision)
        return await self._admit(workload, decision)

    async def finish_replaced(self, workload: Workload) -> bool:
        """A slice is finished once the one that replaces it is admitted, also by a process that has died since."""
        namespace, _, name = workload.replaces.partition("/")
        replaced = self.workloads.get(Key(namespace, name))
        if replaced is None or replaced.finished or replaced.key == workload.key:
            return False
        message = f"Replaced to accommodate workload {workload.key} due to workload slice aggregation"
        status = to.finished(replaced, names.SLICE_REPLACED, message, self.clock.utc())
        await self.writes.apply(replaced, status)
        self.recorder.event(WORKLOADS, replaced, "Normal", names.SLICE_REPLACED, message)
        return True

    async def _evict(self, workload: Workload, decision: Evict) -> bool:
        if not workload.reserved:
            return False
        preemptor = self.engine.workload(decision.preemptor)
        message = preemption_message(decision, preemptor.metadata.label(names.JOB_UID) if preemptor else "")
        now = self.clock.utc()
        status = to.evicted(workload, names.BY_PREEMPTION, message, now, preempted=decision.reason)
        await self.writes.apply(workload, status)
        self.recorder.event(WORKLOADS, workload, "Normal", "Preempted", message)
        return True

    async def _admit(self, workload: Workload, decision: Admit) -> bool:
        queue = decision.cluster_queue
        flavors = {flavor for grant in decision.grants for flavor in grant.flavors.values()}
        required = self.engine.inventory.checks_for(queue, flavors)
        status = to.reserved(workload, queue, decision.grants, required, self.clock.utc())
        if not await self.writes.apply(workload, status):
            return False
        # One write, one event: who is admitted has quota.
        if is_true(status.conditions, names.ADMITTED):
            self.recorder.event(WORKLOADS, workload, "Normal", "Admitted", f"Admitted by ClusterQueue {queue}")
        else:
            message = f"Quota reserved in ClusterQueue {queue}"
            self.recorder.event(WORKLOADS, workload, "Normal", "QuotaReserved", message)
        if decision.replaces:
            await self.finish_replaced(workload)
        return True
