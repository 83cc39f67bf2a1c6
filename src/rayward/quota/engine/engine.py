"""The engine: objects go in as they change, decisions come out.

It holds all state that decisions need and reads no clock: whoever calls says what time it is. A change marks the trees
that it can affect; only those are looked at again, until a round decides nothing more. The same objects in any order
give the same quota, usage and queues.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rayward.kinds.kueue import ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Workload
from rayward.kinds.kueue.queues import FairSharing, FlavorFungibility, Preemption, ResourceGroup
from rayward.kinds.validation import cluster_queue_problems, cohort_problems, listed, workload_problems
from rayward.kube.machinery.quantity import QuantityError
from rayward.kube.machinery.quantity import parse as parse_quantity
from rayward.kube.machinery.selectors import LabelSelector, SelectorError
from rayward.kube.machinery.selectors.labels import from_object
from rayward.quota.engine import cycle
from rayward.quota.engine.amounts import FlavorResource, Usage, quota_of
from rayward.quota.engine.assign import PODS, Group, QueueRules
from rayward.quota.engine.cycle import Decision
from rayward.quota.engine.fair import FairPreemptor
from rayward.quota.engine.flavor import Flavor
from rayward.quota.engine.item import Item, UnreadableError, item_of
from rayward.quota.engine.preempt import Preemptor
from rayward.quota.engine.queue import PendingQueue, Requeue
from rayward.quota.engine.tree import Forest, Node, Quota

_STOPPING: Final = ("Hold", "HoldAndDrain")


@dataclass(frozen=True, slots=True)
class Settings:
    """What Kueue has in its configuration."""

    fair_sharing: bool = False
    block_until_pods_ready: bool = False
    """Nothing is admitted while an admitted workload waits for its pods."""


@dataclass(frozen=True, slots=True)
class QueueState:
    """Whether a queue admits; ``reason`` and ``message`` say why it does not."""

    active: bool
    reason: str = "Ready"
    message: str = "Can admit new workloads"


_UNKNOWN_SELECTOR: Final = from_object(None)


class Engine:
    """Quota, queues and who holds what."""

    def __init__(self, settings: Settings = Settings()) -> None:  # noqa: B008 -- frozen
        self.settings = settings
        self.forest = Forest()
        self.flavors: dict[str, Flavor] = {}
        self.pending: dict[str, PendingQueue] = {}
        self.holders: dict[str, dict[str, Item]] = {}
        self.refused: dict[str, str] = {}
        """Workloads that are not queued at all, and why."""
        self._rules: dict[str, QueueRules] = {}
        self._queues: dict[str, ClusterQueue] = {}
        self._selectors: dict[str, LabelSelector] = {}
        self._problems: dict[str, str] = {}
        self._cohort_problems: dict[str, str] = {}
        self._local: dict[str, LocalQueue] = {}
        self._checks: dict[str, bool] = {}
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._workloads: dict[str, tuple[Workload, Item | None]] = {}
        self._of_local: dict[str, set[str]] = {}
        self._orphans: dict[str, dict[str, Item]] = {}
        """Workloads that hold quota of a queue that is not there."""
        self._dirty: dict[Node, None] = {}
        self._waking: dict[str, float] = {}
        self._not_ready: set[str] = set()
        find = FairPreemptor if settings.fair_sharing else Preemptor
        self._world = cycle.World(
            self.forest.queues,
            self._rules,
            self.pending,
            self.holders,
            self.flavors,
            find(self.forest.queues, self.holders, self._rules),
            self._objection,
            self._may_admit,
        )

    # what there is

    def set_flavor(self, flavor: ResourceFlavor) -> None:
        """A ResourceFlavor is new or changed."""
        self.flavors[flavor.metadata.name] = Flavor(flavor)
        self._flavor_changed(flavor.metadata.name)

    def remove_flavor(self, name: str) -> None:
        """A ResourceFlavor is gone: queues that have it stop."""
        if self.flavors.pop(name, None) is not None:
            self._flavor_changed(name)

    def set_check(self, name: str, *, active: bool) -> None:
        """An AdmissionCheck is new or changed."""
        self._checks[name] = active
        self._retry_everywhere()

    def remove_check(self, name: str) -> None:
        """An AdmissionCheck is gone."""
        if self._checks.pop(name, None) is not None:
            self._retry_everywhere()

    def set_namespace(self, name: str, labels: Mapping[str, str]) -> None:
        """A Namespace is new or its labels changed."""
        if self._namespaces.get(name) != labels:
            self._namespaces[name] = dict(labels)
            self._retry_everywhere()

    def remove_namespace(self, name: str) -> None:
        """A Namespace is gone."""
        self._namespaces.pop(name, None)

    def set_cohort(self, cohort: Cohort) -> None:
        """A Cohort is new or changed."""
        name, spec = cohort.metadata.name, cohort.spec
        problems = cohort_problems(cohort)
        self._cohort_problems[name] = listed(problems) if problems else ""
        quotas = {} if problems else quotas_of(spec.resource_groups or ())
        self._changed(self.forest.set_cohort(name, spec.parent_name, quotas, weight_of(spec.fair_sharing)))

    def remove_cohort(self, name: str) -> None:
        """A Cohort is gone."""
        self._cohort_problems.pop(name, None)
        self._changed(self.forest.remove_cohort(name))

    def set_cluster_queue(self, queue: ClusterQueue) -> None:
        """A ClusterQueue is new or changed."""
        name, spec = queue.metadata.name, queue.spec
        before = self._queues.get(name)
        self._queues[name] = queue
        if before is not None and before.spec == spec and before.deleting == queue.deleting:
            return
        problems = cluster_queue_problems(queue)
        self._problems[name] = listed(problems) if problems else ""
        groups = () if problems else spec.resource_groups or ()
        try:
            self._selectors[name] = from_object(spec.namespace_selector)
        except SelectorError as error:
            self._selectors[name] = _UNKNOWN_SELECTOR
            self._problems[name] = f"spec.namespaceSelector: {error}"
        self.pending.setdefault(name, PendingQueue()).strict = spec.queueing_strategy == "StrictFIFO"
        is_new = name not in self.holders
        self.holders.setdefault(name, {})
        self._rules[name] = QueueRules(
            tuple(
                Group(frozenset(group.covered_resources), tuple(flavor.name for flavor in group.flavors))
                for group in groups
            ),
            spec.flavor_fungibility or FlavorFungibility(),
            spec.preemption or Preemption(),
        )
        affected = self.forest.set_queue(name, spec.cohort_name, quotas_of(groups), weight_of(spec.fair_sharing))
        if is_new:
            for item in self._orphans.pop(name, {}).values():
                self._hold(item)
            for local in self._local.values():
                if local.spec.cluster_queue == name:
                    self._requeue_local(f"{local.metadata.namespace}/{local.metadata.name}")
        self._changed(affected)

    def remove_cluster_queue(self, name: str) -> None:
        """A ClusterQueue is gone; what waited goes on waiting, what ran goes on running."""
        if self._queues.pop(name, None) is None:
            return
        self._orphans[name] = self.holders.pop(name)
        waiting = self.pending.pop(name)
        for mapping in (self._rules, self._problems, self._selectors):
            mapping.pop(name, None)
        affected = self.forest.remove_queue(name)
        for item in list(waiting):
            self._queue(item)
        self._changed(affected)

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
            item = None if problems and not workload.reserved else item_of(workload)
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
            if root.root is not root or not self._is_there(root):
                continue
            again = True
            while again:
                decisions, again = cycle.run(root, self._world)
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

    def queue_state(self, name: str) -> QueueState:
        """Whether a ClusterQueue admits."""
        queue = self._queues.get(name)
        if queue is None:
            return QueueState(False, "NotFound", f"ClusterQueue {name} doesn't exist")
        if queue.deleting:
            return QueueState(False, "Terminating", "Can't admit new workloads; clusterQueue is terminating")
        if problem := self._problems[name]:
            return QueueState(False, "Misconfigured", f"Can't admit new workloads: {problem}")
        if queue.spec.stop_policy in _STOPPING:
            return QueueState(False, "Stopped", "Can't admit new workloads: is stopped.")
        node = self.forest.queues[name]
        if not self.forest.is_active(node):
            return QueueState(False, "CohortCycle", "Can't admit new workloads: its cohort is its own ancestor")
        for cohort in node.ancestors():
            if problem := self._cohort_problems.get(cohort.name):
                return QueueState(False, "Misconfigured", f"Can't admit new workloads: cohort {cohort.name}: {problem}")
        return self._references_state(name)

    def _references_state(self, name: str) -> QueueState:
        flavors = [flavor for group in self._rules[name].groups for flavor in group.flavors]
        if missing := sorted({flavor for flavor in flavors if flavor not in self.flavors}):
            message = f"Can't admit new workloads: references missing ResourceFlavor(s): {', '.join(missing)}."
            return QueueState(False, "FlavorNotFound", message)
        if topologies := sorted({one for one in flavors if self.flavors[one].topology}):
            message = f"Can't admit new workloads: topology of flavor(s) {', '.join(topologies)} is not supported."
            return QueueState(False, "TopologyNotSupported", message)
        checks = [rule.name for rule in self._check_rules(name)]
        if missing := sorted({check for check in checks if check not in self._checks}):
            message = f"Can't admit new workloads: references missing AdmissionCheck(s): {', '.join(missing)}."
            return QueueState(False, "AdmissionCheckNotFound", message)
        if inactive := sorted({check for check in checks if not self._checks[check]}):
            message = f"Can't admit new workloads: references inactive AdmissionCheck(s): {', '.join(inactive)}."
            return QueueState(False, "AdmissionCheckInactive", message)
        return QueueState(True)

    def checks_for(self, name: str, flavors: set[str] | None) -> list[str]:
        """The checks of a workload with these flavors; with None, those of every flavor of the queue."""
        if name not in self._rules:
            return []
        every = {flavor for group in self._rules[name].groups for flavor in group.flavors}
        found: list[str] = []
        for rule in self._check_rules(name):
            of = set(rule.on_flavors) if rule.on_flavors else every
            if (flavors is None and of >= every) or (flavors is not None and flavors & of):
                found.append(rule.name)
        return found

    def exceeds(self, item: Item, held: Usage | None = None) -> dict[FlavorResource, tuple[int, float]]:
        """Where a workload can never fit, even alone: what it needs, with what is held for it, and what there is.

        Told by totals: a slice counts whole, and ``held`` is what its owner goes on holding beside it.
        """
        rules = self._rules.get(item.cluster_queue)
        node = self.forest.queues.get(item.cluster_queue)
        if rules is None or node is None:
            return {}
        over: dict[FlavorResource, tuple[int, float]] = {}
        for resource, amount in _least(item, rules).items():
            group = rules.group_of(resource)
            if group is None:
                continue
            best = max(
                ((node.potential((flavor, resource)) - (held or {}).get((flavor, resource), 0), flavor))
                for flavor in group.flavors
            )
            if amount > best[0]:
                fr = (best[1], resource)
                over[fr] = (amount + (held or {}).get(fr, 0), node.potential(fr))
        return over

    def draining(self) -> Iterator[tuple[str, str]]:
        """Workloads that hold quota of a queue that is being emptied, and which kind of queue that is."""
        for name, items in self.holders.items():
            stopped = self._queues[name].spec.stop_policy == "HoldAndDrain"
            for item in items.values():
                local = self._local.get(item.queue)
                if stopped:
                    yield item.key, "ClusterQueue"
                elif local is not None and local.spec.stop_policy == "HoldAndDrain":
                    yield item.key, "LocalQueue"

    # inside

    def _objection(self, item: Item) -> tuple[str, Requeue] | None:
        name = item.cluster_queue
        if item.failed_checks:
            return "The workload has failed admission checks", Requeue.INADMISSIBLE
        if any(demand.topology for demand in item.demands):
            return "Topology-aware scheduling is not supported by the embedded engine", Requeue.INADMISSIBLE
        if not self.queue_state(name).active:
            return f"ClusterQueue {name} is inactive", Requeue.INADMISSIBLE
        labels = self._namespaces.get(item.namespace)
        if labels is None or not self._selectors[name].matches(labels):
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
            self._retry_everywhere()
        if (waiting := self.pending.get(item.cluster_queue)) is not None:
            waiting.remove(item.key)
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
                    self._retry_everywhere()
            return
        after.tried, after.tried_generation, after.message = before.tried, before.tried_generation, before.message
        if before.generation != after.generation:
            after.tried = ()
        self._release(before)
        if before.queue != after.queue:
            self._of_local.get(before.queue, set()).discard(before.key)

    def _queue(self, item: Item, now: float = 0.0) -> None:
        local = self._local.get(item.queue)
        item.cluster_queue = local.spec.cluster_queue if local else ""
        queue = self.pending.get(item.cluster_queue)
        if local is None or queue is None or local.spec.stop_policy in _STOPPING:
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

    def _flavor_changed(self, name: str) -> None:
        for queue, rules in self._rules.items():
            if any(name in group.flavors for group in rules.groups):
                self._retry(self.forest.queues[queue].root)

    def _changed(self, roots: set[Node]) -> None:
        for root in roots:
            self._retry(root)

    def _retry_everywhere(self) -> None:
        for node in self.forest.queues.values():
            if self.forest.is_active(node):
                self._retry(node.root)

    def _retry(self, root: Node) -> None:
        for node in root.leaves():
            node.generation += 1
            queue = self.pending.get(node.name)
            if queue is not None and queue.retry():
                self._dirty[root] = None

    def _is_there(self, root: Node) -> bool:
        return (self.forest.queues if root.is_queue else self.forest.cohorts).get(root.name) is root

    def _check_rules(self, name: str) -> Any:
        strategy = self._queues[name].spec.admission_checks_strategy
        return (strategy.admission_checks or ()) if strategy else ()


def quotas_of(groups: tuple[ResourceGroup, ...]) -> dict[FlavorResource, Quota]:
    """The quotas of a node by flavor and resource."""
    return {
        (flavor.name, quota.name): Quota(
            quota_of(quota.name, quota.nominal_quota),
            None if quota.borrowing_limit is None else quota_of(quota.name, quota.borrowing_limit),
            None if quota.lending_limit is None else quota_of(quota.name, quota.lending_limit),
        )
        for group in groups
        for flavor in group.flavors
        for quota in flavor.resources
    }


def weight_of(sharing: FairSharing | None) -> float:
    """The weight of a node; 1 where none is said."""
    if sharing is None or sharing.weight is None:
        return 1.0
    try:
        weight = parse_quantity(sharing.weight)
    except QuantityError:
        return 1.0
    return float(weight.unscaled * 10.0**weight.scale)


def _least(item: Item, rules: QueueRules) -> dict[str, int]:
    total: dict[str, int] = {}
    for demand in item.demands:
        count = demand.count if demand.min_count is None else min(demand.min_count, demand.count)
        requests = demand.total(count)
        if rules.group_of(PODS) is not None:
            requests[PODS] = count
        for resource, amount in requests.items():
            total[resource] = total.get(resource, 0) + amount
    return total
