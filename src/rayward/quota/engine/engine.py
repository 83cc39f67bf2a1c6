"""The engine: objects go in as they change, decisions come out.

It holds all state that decisions need and reads no clock: whoever calls says what time it is. A change marks the trees
that it can affect; only those are looked at again, until a round decides nothing more. The same objects in any order
give the same quota, usage and queues.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rayward.kinds.kueue import ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Workload
from rayward.kinds.validation import listed, workload_problems
from rayward.kube.core.poddefaults import LimitRange, RuntimeClass
from rayward.quota.engine import cycle, forecast
from rayward.quota.engine.amounts import Usage
from rayward.quota.engine.cycle import Decision
from rayward.quota.engine.fair import FairPreemptor
from rayward.quota.engine.inventory import STOPPING, Inventory
from rayward.quota.engine.item import NO_TIME, Item, UnreadableError, item_of
from rayward.quota.engine.poddefaults import PodDefaults
from rayward.quota.engine.preempt import Preemptor
from rayward.quota.engine.queue import PendingQueue, Requeue
from rayward.quota.engine.tree import Node


@dataclass(frozen=True, slots=True)
class Settings:
    """What Kueue has in its configuration."""

    fair_sharing: bool = False
    block_until_pods_ready: bool = False
    """Nothing is admitted while an admitted workload waits for its pods."""


class Engine:
    """Quota, queues and who holds what."""

    def __init__(self, settings: Settings = Settings()) -> None:  # noqa: B008 -- frozen
        self.settings = settings
        self.inventory = Inventory()
        self.forest = self.inventory.forest
        self.pending: dict[str, PendingQueue] = {}
        self.holders: dict[str, dict[str, Item]] = {}
        self.refused: dict[str, str] = {}
        """Workloads that are not queued at all, and why."""
        self._defaults = PodDefaults()
        self._local: dict[str, LocalQueue] = {}
        self._workloads: dict[str, tuple[Workload, Item | None]] = {}
        self._of_local: dict[str, set[str]] = {}
        self._orphans: dict[str, dict[str, Item]] = {}
        """Workloads that hold quota of a queue that is not there."""
        self._dirty: dict[Node, None] = {}
        self._waking: dict[str, float] = {}
        self._not_ready: set[str] = set()
        find = FairPreemptor if settings.fair_sharing else Preemptor
        self.world = cycle.World(
            self.forest.queues,
            self.inventory.rules,
            self.pending,
            self.holders,
            self.inventory.flavors,
            find(self.forest.queues, self.holders, self.inventory.rules),
            self._objection,
            self._may_admit,
        )

    # what there is

    def set_flavor(self, flavor: ResourceFlavor) -> None:
        """A ResourceFlavor is new or changed."""
        self._retry_all(self.inventory.put_flavor(flavor))

    def remove_flavor(self, name: str) -> None:
        """A ResourceFlavor is gone."""
        self._retry_all(self.inventory.drop_flavor(name))

    def set_check(self, name: str, *, active: bool, controller: str = "") -> None:
        """An AdmissionCheck is new or changed; ``controller`` is who answers it."""
        self._retry_all(self.inventory.put_check(name, active=active, controller=controller))

    def remove_check(self, name: str) -> None:
        """An AdmissionCheck is gone."""
        self._retry_all(self.inventory.drop_check(name))

    def set_namespace(self, name: str, labels: Mapping[str, str]) -> None:
        """A Namespace is new or its labels changed."""
        self._retry_all(self.inventory.put_namespace(name, labels))

    def remove_namespace(self, name: str) -> None:
        """A Namespace is gone."""
        self.inventory.drop_namespace(name)

    def set_pod_defaults(self, found: LimitRange | RuntimeClass, *, gone: bool = False) -> None:
        """What the API server adds to pods changed: what waits may ask for more or less now."""
        if not self._defaults.put(found, gone=gone):
            return
        for workload, item in list(self._workloads.values()):
            # what holds quota keeps what it was given
            if item is not None and not item.reserved and found.metadata.namespace in ("", item.namespace):
                self.set_workload(workload, NO_TIME)

    def set_cohort(self, cohort: Cohort) -> None:
        """A Cohort is new or changed."""
        self._retry_all(self.inventory.put_cohort(cohort))

    def remove_cohort(self, name: str) -> None:
        """A Cohort is gone."""
        self._retry_all(self.inventory.drop_cohort(name))

    def set_cluster_queue(self, queue: ClusterQueue) -> None:
        """A ClusterQueue is new or changed."""
        name = queue.metadata.name
        is_new = name not in self.holders
        affected = self.inventory.put_queue(queue)
        self.pending.setdefault(name, PendingQueue()).strict = queue.spec.queueing_strategy == "StrictFIFO"
        self.holders.setdefault(name, {})
        if is_new:
            for item in self._orphans.pop(name, {}).values():
                self._hold(item)
            for key, local in self._local.items():
                if local.spec.cluster_queue == name:
                    self._requeue_local(key)
        self._retry_all(affected)

    def remove_cluster_queue(self, name: str) -> None:
        """A ClusterQueue is gone; what waited goes on waiting, what ran goes on running."""
        if name not in self.holders:
            return
        self._orphans[name] = self.holders.pop(name)
        waiting = self.pending.pop(name)
        affected = self.inventory.drop_queue(name)
        for item in list(waiting):
            self._queue(item)
        self._retry_all(affected)

    def set_local_queue(self, queue: LocalQueue) -> None:
        """A LocalQueue is new or changed."""
        key = f"{queue.metadata.namespace}/{queue.metadata.name}"
        before = self._local.get(key)
        self._local[key] = queue
        if before is None or before.spec != queue.spec:
            self._requeue_local(key)

    def remove_local_queue(self, key: str) -> None:
        """A LocalQueue is gone."""
        if self._local.pop(key, None) is not None:
            self._requeue_local(key)

    # who asks

    def set_workload(self, workload: Workload, now: float) -> None:
        """A Workload is new or changed, by somebody else or by our own write."""
        key = f"{workload.metadata.namespace}/{workload.metadata.name}"
        known = self._workloads.get(key)
        if workload.finished or (workload.deleting and not workload.reserved):
            self.remove_workload(key)
            return
        problems = workload_problems(workload)
        try:
            before = known[1] if known else None
            item = None if problems and not workload.reserved else item_of(workload, before, self._defaults)
        except UnreadableError as error:
            problems, item = [], None
            self.refused[key] = str(error)
        if item is None:
            self.remove_workload(key)
            self.refused[key] = listed(problems) if problems else self.refused.get(key, "")
            self._workloads[key] = (workload, None)
            return
        if known is not None and known[1] is not None:
            self._replace(known[1], item)
        else:
            self.refused.pop(key, None)
        self._workloads[key] = (workload, item)
        self._of_local.setdefault(item.queue, set()).add(key)
        if item.reserved:
            self._hold(item)
        elif workload.spec.active and not workload.deleting:
            self._queue(item, now)

    def remove_workload(self, key: str) -> None:
        """A Workload is finished or gone."""
        self.refused.pop(key, None)
        known = self._workloads.pop(key, None)
        if known is not None and known[1] is not None:
            self._of_local.get(known[1].queue, set()).discard(key)
            self._release(known[1])

    def workload(self, key: str) -> Workload | None:
        """The object as last given."""
        known = self._workloads.get(key)
        return known[0] if known else None

    def item(self, key: str) -> Item | None:
        """What the engine makes of it."""
        known = self._workloads.get(key)
        return known[1] if known else None

    # decisions

    def run(self, now: float) -> list[Decision]:
        """Everything that can be decided now."""
        self._wake(now)
        decided: list[Decision] = []
        while self._dirty:
            root = next(iter(self._dirty))
            del self._dirty[root]
            # What has a parent by now is no root; in a circle of cohorts nothing is.
            if root.root is not root or root.parent is not None or not self._is_there(root):
                continue
            again = True
            while again:
                decisions, again = cycle.run(root, self.world)
                for decision in decisions:
                    if isinstance(decision, cycle.Admit):
                        self._assumed(decision, now)
                decided += decisions
        return decided

    def not_evicted(self, key: str) -> None:
        """A decision to evict could not be written: whoever it was for is tried again."""
        item = self.item(key)
        node = self.forest.queues.get(item.cluster_queue) if item else None
        if item is not None and node is not None:
            item.evicted = False
            self._retry(node.root)

    def next_wake(self) -> float | None:
        """When somebody's wait outside its queue ends."""
        return min(self._waking.values(), default=None)

    def lacks(self, item: Item, freed: Usage | None = None) -> str:
        """Why a workload would not be admitted now without evictions; empty where it would be.

        ``freed`` is what its owner holds of the same queue and gives up for it.
        """
        return forecast.now(item, self.world, freed or {})

    def exceeds(self, item: Item, held: Usage | None = None) -> str:
        """Why a workload can never fit, though nobody else held anything; empty where it may.

        Told by totals: a slice counts whole, and ``held`` is what its owner goes on holding of the same queue.
        """
        return forecast.alone(item, self.world, held or {}) if item.cluster_queue in self.forest.queues else ""

    # inside

    def _objection(self, item: Item) -> tuple[str, Requeue] | None:
        name = item.cluster_queue
        if item.failed_checks:
            return "The workload has failed admission checks", Requeue.INADMISSIBLE
        if any(demand.topology for demand in item.demands):
            return "Topology-aware scheduling is not supported by the embedded engine", Requeue.INADMISSIBLE
        if not self.inventory.state(name).active:
            return f"ClusterQueue {name} is inactive", Requeue.INADMISSIBLE
        if not self.inventory.selects(name, item.namespace):
            return "Workload namespace doesn't match ClusterQueue selector", Requeue.NAMESPACE_MISMATCH
        replaced = self.holders[name].get(item.replaces) if item.replaces else None
        if replaced and [one.name for one in replaced.grants] != [one.name for one in item.demands]:
            return "The pod sets are not those of the slice that is replaced", Requeue.INADMISSIBLE
        return None

    def _may_admit(self) -> bool:
        return not self.settings.block_until_pods_ready or not self._not_ready

    def _assumed(self, decision: cycle.Admit, now: float) -> None:
        self._waking.pop(decision.key, None)
        if item := self.item(decision.key):
            item.reserved_at = now
            self._not_ready.add(decision.key)
        if decision.replaces:
            self._not_ready.discard(decision.replaces)

    def _hold(self, item: Item) -> None:
        if not item.pods_ready:
            self._not_ready.add(item.key)
        node = self.forest.queues.get(item.cluster_queue)
        if node is None:
            self._orphans.setdefault(item.cluster_queue, {})[item.key] = item
            return
        node.add(item.usage)
        self.holders[node.name][item.key] = item

    def _release(self, item: Item) -> None:
        """It holds nothing and waits for nothing any longer."""
        self._waking.pop(item.key, None)
        ready = item.key in self._not_ready
        self._not_ready.discard(item.key)
        if ready and self.settings.block_until_pods_ready and not self._not_ready:
            self._retry_all(self.inventory.roots())
        waiting = self.pending.get(item.cluster_queue)
        if waiting is not None and waiting.remove(item.key) is not None:
            # it may have stood in somebody's way: as the first of a strict queue, or by the room kept for it
            self._dirty[self.forest.queues[item.cluster_queue].root] = None
        if (orphans := self._orphans.get(item.cluster_queue)) is not None:
            orphans.pop(item.key, None)
        held = self.holders.get(item.cluster_queue, {}).pop(item.key, None)
        if held is not None:
            node = self.forest.queues[item.cluster_queue]
            node.remove(held.usage)
            self._retry(node.root)

    def _replace(self, before: Item, after: Item) -> None:
        """What the engine decided lately is kept until the object says so too."""
        same_place = before.reserved and after.reserved and before.usage == after.usage
        if same_place and before.cluster_queue == after.cluster_queue:
            # no room came free, and nothing that waits has to be tried again
            held = self.holders.get(before.cluster_queue, {}).pop(before.key, None)
            if held is not None:
                self.forest.queues[before.cluster_queue].remove(held.usage)
            after.reserved_at = after.reserved_at or before.reserved_at
            after.evicted = after.evicted or before.evicted
            if after.pods_ready and before.key in self._not_ready:
                self._not_ready.discard(before.key)
                if self.settings.block_until_pods_ready and not self._not_ready:
                    self._retry_all(self.inventory.roots())
            return
        after.tried, after.tried_generation, after.message = before.tried, before.tried_generation, before.message
        if before.read_from != after.read_from:
            after.tried = ()
        self._release(before)
        if before.queue != after.queue:
            self._of_local.get(before.queue, set()).discard(before.key)

    def _queue(self, item: Item, now: float = 0.0) -> None:
        local = self._local.get(item.queue)
        item.cluster_queue = local.spec.cluster_queue if local else ""
        queue = self.pending.get(item.cluster_queue)
        if local is None or queue is None or local.spec.stop_policy in STOPPING:
            return
        may_try = not item.held_back and item.requeue_at <= now
        if not may_try and item.requeue_at > now and not item.held_back:
            self._waking[item.key] = item.requeue_at
        if queue.push(item, may_try=may_try):
            self._dirty[self.forest.queues[item.cluster_queue].root] = None

    def _wake(self, now: float) -> None:
        for key in [key for key, when in self._waking.items() if when <= now]:
            del self._waking[key]
            item = self.item(key)
            if item is not None and not item.reserved:
                self._queue(item, now)

    def _requeue_local(self, key: str) -> None:
        for name in sorted(self._of_local.get(key, ())):
            item = self.item(name)
            known = self.workload(name)
            if item is None or known is None or item.reserved or not known.spec.active:
                continue
            if (queue := self.pending.get(item.cluster_queue)) is not None:
                queue.remove(name)
            self._queue(item)

    def _retry_all(self, roots: Iterable[Node]) -> None:
        for root in roots:
            self._retry(root)

    def _retry(self, root: Node) -> None:
        for node in root.leaves():
            node.generation += 1
            queue = self.pending.get(node.name)
            if queue is not None and queue.retry():
                self._dirty[root] = None

    def _is_there(self, root: Node) -> bool:
        return (self.forest.queues if root.is_queue else self.forest.cohorts).get(root.name) is root
