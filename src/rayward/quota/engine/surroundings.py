"""What the next update of a Workload depends on, read from the caches and from what the engine makes of the queues."""

from __future__ import annotations

from dataclasses import dataclass

from rayward.kinds.kueue import ClusterQueue, LocalQueue, Workload
from rayward.kube.core.objects import Key
from rayward.kube.runtime.cache import Cache
from rayward.quota.engine.engine import Engine
from rayward.quota.engine.lifecycle import PodsReady, Surroundings


@dataclass(frozen=True)
class SurroundingsOf:
    """Reads the surroundings of Workloads."""

    engine: Engine
    local_queues: Cache[LocalQueue]
    cluster_queues: Cache[ClusterQueue]
    pods_ready: PodsReady | None

    def queue_of(self, workload: Workload) -> str:
        """The ClusterQueue where it waits or holds quota; empty when its LocalQueue is not there."""
        if workload.status.admission is not None:
            return workload.status.admission.cluster_queue
        local = self.local_queues.get(Key(workload.metadata.namespace, workload.spec.queue_name))
        return local.spec.cluster_queue if local else ""

    def of(self, workload: Workload) -> Surroundings:
        """What surrounds it now."""
        name = self.queue_of(workload)
        queue = self.cluster_queues.get(Key("", name))
        admission = workload.status.admission
        flavors: set[str] | None = None
        if admission is not None:
            flavors = {flavor for one in admission.pod_set_assignments for flavor in (one.flavors or {}).values()}
        return Surroundings(
            local_queue=self.local_queues.get(Key(workload.metadata.namespace, workload.spec.queue_name)),
            cluster_queue=name,
            state=self.engine.inventory.state(name),
            stopped=(queue.spec.stop_policy or "") if queue else "",
            checks=tuple(self.engine.inventory.checks_for(name, flavors)),
            refused=self.engine.refused.get(str(workload.key), ""),
            pods_ready=self.pods_ready,
        )
