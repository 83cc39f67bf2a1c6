"""What there is: flavors, queues and cohorts as they are configured, and which queues can be used.

Each change says which trees it affects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from rayward.kinds.kueue import ClusterQueue, Cohort, ResourceFlavor, names
from rayward.kinds.kueue.queues import CheckRule, FairSharing, FlavorFungibility, Preemption, ResourceGroup
from rayward.kinds.validation import cluster_queue_problems, cohort_problems, listed
from rayward.kube.machinery.quantity import QuantityError
from rayward.kube.machinery.quantity import parse as parse_quantity
from rayward.kube.machinery.selectors import LabelSelector, SelectorError
from rayward.kube.machinery.selectors.labels import from_object
from rayward.quota.engine.amounts import FlavorResource, quota_of
from rayward.quota.engine.assign import Group, QueueRules
from rayward.quota.engine.flavor import Flavor
from rayward.quota.engine.tree import Forest, Node, Quota

STOPPING: Final = ("Hold", "HoldAndDrain")
_NOTHING_SELECTED: Final = from_object(None)


@dataclass(frozen=True, slots=True)
class QueueState:
    """Whether a queue admits; ``reason`` and ``message`` say why it does not."""

    active: bool
    reason: str = "Ready"
    message: str = "Can admit new workloads"


class Inventory:
    def __init__(self) -> None:
        self.forest = Forest()
        self.flavors: dict[str, Flavor] = {}
        self.rules: dict[str, QueueRules] = {}
        self.queues: dict[str, ClusterQueue] = {}
        self._selectors: dict[str, LabelSelector] = {}
        self._problems: dict[str, str] = {}
        self._cohort_problems: dict[str, str] = {}
        self._checks: dict[str, bool] = {}
        self._provisioning: set[str] = set()
        """Checks that ask for nodes, which nobody answers here."""
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._states: dict[str, QueueState] = {}
        """Computed since the last change: every workload of a queue asks."""

    def roots(self, queues: Iterable[str] | None = None) -> set[Node]:
        """The trees of these queues, or all; those of cohorts in a circle are none."""
        nodes = self.forest.queues
        found = nodes.values() if queues is None else (nodes[name] for name in queues)
        return {node.root for node in found if self.forest.is_active(node)}

    def put_flavor(self, flavor: ResourceFlavor) -> set[Node]:
        """A ResourceFlavor is new or changed."""
        self._states.clear()
        self.flavors[flavor.metadata.name] = Flavor(flavor)
        return self._with_flavor(flavor.metadata.name)

    def drop_flavor(self, name: str) -> set[Node]:
        """A ResourceFlavor is gone: queues that have it stop."""
        self._states.clear()
        return self._with_flavor(name) if self.flavors.pop(name, None) is not None else set()

    def put_check(self, name: str, *, active: bool, controller: str = "") -> set[Node]:
        """An AdmissionCheck is new or changed."""
        self._states.clear()
        self._checks[name] = active
        self._provisioning.discard(name)
        if controller == names.PROVISIONING_CONTROLLER:
            self._provisioning.add(name)
        return self.roots()

    def drop_check(self, name: str) -> set[Node]:
        """An AdmissionCheck is gone."""
        self._states.clear()
        self._provisioning.discard(name)
        return self.roots() if self._checks.pop(name, None) is not None else set()

    def put_namespace(self, name: str, labels: Mapping[str, str]) -> set[Node]:
        """A Namespace is new or its labels changed."""
        if self._namespaces.get(name) == labels:
            return set()
        self._namespaces[name] = dict(labels)
        return self.roots()

    def drop_namespace(self, name: str) -> None:
        """A Namespace is gone."""
        self._namespaces.pop(name, None)

    def put_cohort(self, cohort: Cohort) -> set[Node]:
        """A Cohort is new or changed."""
        self._states.clear()
        name, spec = cohort.metadata.name, cohort.spec
        problems = cohort_problems(cohort)
        self._cohort_problems[name] = listed(problems) if problems else ""
        quotas = {} if problems else quotas_of(spec.resource_groups or ())
        return self.forest.set_cohort(name, spec.parent_name, quotas, weight_of(spec.fair_sharing))

    def drop_cohort(self, name: str) -> set[Node]:
        """A Cohort is gone."""
        self._states.clear()
        self._cohort_problems.pop(name, None)
        return self.forest.remove_cohort(name)

    def put_queue(self, queue: ClusterQueue) -> set[Node]:
        """A ClusterQueue is new or changed; nothing is affected when only its status is."""
        name, spec = queue.metadata.name, queue.spec
        before = self.queues.get(name)
        self.queues[name] = queue
        if before is not None and before.spec == spec and before.deleting == queue.deleting:
            return set()
        self._states.clear()
        problems = cluster_queue_problems(queue)
        self._problems[name] = listed(problems) if problems else ""
        groups = () if problems else spec.resource_groups or ()
        try:
            self._selectors[name] = from_object(spec.namespace_selector)
        except SelectorError as error:
            self._selectors[name] = _NOTHING_SELECTED
            self._problems[name] = f"spec.namespaceSelector: {error}"
        self.rules[name] = QueueRules(
            tuple(
                Group(frozenset(group.covered_resources), tuple(flavor.name for flavor in group.flavors))
                for group in groups
            ),
            spec.flavor_fungibility or FlavorFungibility(),
            spec.preemption or Preemption(),
        )
        return self.forest.set_queue(name, spec.cohort_name, quotas_of(groups), weight_of(spec.fair_sharing))

    def drop_queue(self, name: str) -> set[Node]:
        """A ClusterQueue is gone."""
        self._states.clear()
        for mapping in (self.queues, self.rules, self._problems, self._selectors):
            mapping.pop(name, None)
        return self.forest.remove_queue(name)

    def selects(self, name: str, namespace: str) -> bool:
        """Whether a ClusterQueue is for workloads of a namespace."""
        labels = self._namespaces.get(namespace)
        return labels is not None and self._selectors[name].matches(labels)

    def state(self, name: str) -> QueueState:
        """Whether a ClusterQueue admits."""
        known = self._states.get(name)
        if known is None:
            known = self._states[name] = self._state(name)
        return known

    def _state(self, name: str) -> QueueState:
        queue = self.queues.get(name)
        if queue is None:
            return QueueState(False, "NotFound", f"ClusterQueue {name} doesn't exist")
        if queue.deleting:
            return QueueState(False, "Terminating", "Can't admit new workloads; clusterQueue is terminating")
        if problem := self._problems[name]:
            return QueueState(False, "Misconfigured", f"Can't admit new workloads: {problem}")
        if queue.spec.stop_policy in STOPPING:
            return QueueState(False, "Stopped", "Can't admit new workloads: is stopped.")
        node = self.forest.queues[name]
        if not self.forest.is_active(node):
            return QueueState(False, "CohortCycle", "Can't admit new workloads: its cohort is its own ancestor")
        for cohort in node.ancestors():
            if problem := self._cohort_problems.get(cohort.name):
                return QueueState(False, "Misconfigured", f"Can't admit new workloads: cohort {cohort.name}: {problem}")
        return self._references_state(name)

    def checks_for(self, name: str, flavors: set[str] | None) -> list[str]:
        """The checks of a workload with these flavors; with None, those of every flavor of the queue."""
        if name not in self.rules:
            return []
        every = {flavor for group in self.rules[name].groups for flavor in group.flavors}
        found: list[str] = []
        for rule in self._check_rules(name):
            of = set(rule.on_flavors) if rule.on_flavors else every
            if (flavors is None and of >= every) or (flavors is not None and flavors & of):
                found.append(rule.name)
        return found

    def _references_state(self, name: str) -> QueueState:
        flavors = [flavor for group in self.rules[name].groups for flavor in group.flavors]
        checks = [rule.name for rule in self._check_rules(name)]
        if provisioning := sorted(self._provisioning.intersection(checks)):
            message = f"provisioning requests of AdmissionCheck(s) {', '.join(provisioning)} are not supported."
            return QueueState(False, "ProvisioningRequestNotSupported", f"Can't admit new workloads: {message}")
        for reason, what, found in (
            ("FlavorNotFound", "missing ResourceFlavor(s)", [one for one in flavors if one not in self.flavors]),
            ("AdmissionCheckNotFound", "missing AdmissionCheck(s)", [one for one in checks if one not in self._checks]),
            ("AdmissionCheckInactive", "inactive AdmissionCheck(s)", [one for one in checks if not self._checks[one]])
            if all(one in self._checks for one in checks)
            else ("", "", []),
        ):
            if found:
                shown = ", ".join(sorted(set(found)))
                return QueueState(False, reason, f"Can't admit new workloads: references {what}: {shown}.")
        if topologies := sorted({one for one in flavors if self.flavors[one].topology}):
            message = f"Can't admit new workloads: topology of flavor(s) {', '.join(topologies)} is not supported."
            return QueueState(False, "TopologyNotSupported", message)
        return QueueState(True)

    def _with_flavor(self, name: str) -> set[Node]:
        return self.roots(
            queue for queue, rules in self.rules.items() if any(name in group.flavors for group in rules.groups)
        )

    def _check_rules(self, name: str) -> tuple[CheckRule, ...]:
        strategy = self.queues[name].spec.admission_checks_strategy
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
