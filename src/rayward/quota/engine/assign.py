"""Which flavors a workload would get, and what would have to happen first.

A pod set (or several of one group) takes one flavor for each group of resources; flavors are tried in the queue's
order until one is good enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, Protocol

from rayward.kinds.kueue.queues import BorrowWithinCohort, FlavorFungibility, Preemption
from rayward.quota.engine.amounts import FlavorResource, Usage, text_of
from rayward.quota.engine.flavor import Flavor
from rayward.quota.engine.item import Grant, Item, PodSetDemand
from rayward.quota.engine.requests import Requests
from rayward.quota.engine.tree import Node

PODS: Final = "pods"
_TRY_NEXT: Final = "TryNextFlavor"


class Mode(IntEnum):
    """What it takes to get quota; more is better."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    """Preemption would be allowed, but there is nobody to evict."""
    PREEMPT = 2
    """Own workloads would be evicted."""
    RECLAIM = 3
    """Workloads of others would be evicted."""
    FIT = 4


_Granular = tuple[Mode, int]
"""Mode, and how far away the quota comes from: 0 is the queue's own."""


@dataclass(frozen=True, slots=True)
class Group:
    """Resources that come from one flavor together."""

    resources: frozenset[str]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueueRules:
    """What a ClusterQueue says about admission."""

    groups: tuple[Group, ...] = ()
    fungibility: FlavorFungibility = field(default_factory=FlavorFungibility)
    preemption: Preemption = field(default_factory=Preemption)

    def group_of(self, resource: str) -> Group | None:
        """The group that covers a resource."""
        return next((group for group in self.groups if resource in group.resources), None)

    @property
    def borrow(self) -> BorrowWithinCohort | None:
        """Whether preemptors may borrow; None where they may not."""
        rule = self.preemption.borrow_within_cohort
        return rule if rule is not None and rule.policy != "Never" else None


@dataclass(slots=True)
class Choice:
    """The flavor of one resource."""

    flavor: str
    mode: Mode
    borrow: int
    tried: int = -1


@dataclass(slots=True)
class PodSetChoice:
    """The flavors of one pod set; none when nothing fits."""

    name: str
    count: int
    requests: Requests
    flavors: dict[str, Choice]
    reasons: list[str]

    @property
    def mode(self) -> Mode:
        """The worst of its resources."""
        if not self.reasons:
            return Mode.FIT
        if not self.flavors:
            return Mode.NO_FIT
        return min(choice.mode for choice in self.flavors.values())


@dataclass(slots=True)
class Assignment:
    """The flavors of a workload."""

    pod_sets: list[PodSetChoice]
    usage: Usage
    """What it adds to the usage of its queue: for a slice, to that of the one it replaces."""
    borrow: int = 0
    tried: tuple[Mapping[str, int], ...] = ()
    complete: bool = True

    @property
    def mode(self) -> Mode:
        """The worst of its pod sets."""
        if not self.pod_sets or not self.complete:
            return Mode.NO_FIT
        return min(pod_set.mode for pod_set in self.pod_sets)

    @property
    def message(self) -> str:
        """Why it is no fit."""
        return "; ".join(
            f"couldn't assign flavors to pod set {pod_set.name}: {', '.join(sorted(pod_set.reasons))}"
            for pod_set in self.pod_sets
            if pod_set.reasons
        )

    def grants(self) -> tuple[Grant, ...]:
        """What the pod sets are given."""
        return tuple(
            Grant(
                one.name,
                one.count,
                {resource: choice.flavor for resource, choice in one.flavors.items()},
                {resource: one.requests[resource] for resource in one.flavors},
            )
            for one in self.pod_sets
        )

    def needing_preemption(self) -> set[FlavorResource]:
        """Where somebody has to go first."""
        return {
            (choice.flavor, resource)
            for pod_set in self.pod_sets
            for resource, choice in pod_set.flavors.items()
            if choice.mode in (Mode.NO_CANDIDATES, Mode.PREEMPT, Mode.RECLAIM)
        }


class Oracle(Protocol):
    """Says what preemption could do for one flavor and resource."""

    def __call__(self, item: Item, fr: FlavorResource, amount: int) -> _Granular:
        """The best that evictions could do, and how far away quota would come from then."""
        ...


class Assigner:
    """Looks for flavors for one workload."""

    def __init__(
        self,
        item: Item,
        node: Node,
        rules: QueueRules,
        flavors: Mapping[str, Flavor],
        oracle: Oracle,
        *,
        fair: bool = False,
        replaced: Item | None = None,
        freed: Usage | None = None,
    ) -> None:
        """``freed`` is what whoever asks holds now and gives up for it."""
        self._item = item
        self._node = node
        self._rules = rules
        self._flavors = flavors
        self._oracle = oracle
        self._replaced = replaced
        self._freed = freed or {}
        self._may_preempt_borrowing = rules.borrow is not None or (
            fair and rules.preemption.reclaim_within_cohort != "Never"
        )
        if item.tried and item.tried_generation != node.generation:
            item.tried = ()

    def assign(self, counts: Sequence[int] | None = None) -> Assignment:
        """The flavors for all pods, or for so many of each set."""
        assignment = Assignment([], {})
        tried: list[dict[str, int]] = []
        for indices in self._grouped():
            demands = [self._item.demands[index] for index in indices]
            asked = [self._requests(index, counts) for index in indices]
            total: Requests = {}
            for requests in asked:
                for name, amount in requests.items():
                    total[name] = total.get(name, 0) + amount
            found, reasons = self._flavors_for(indices, demands, total, assignment.usage)
            for index, requests in zip(indices, asked, strict=True):
                demand = self._item.demands[index]
                flavors = {} if found is None else {name: found[name] for name in requests if name in found}
                count = demand.count if counts is None else counts[index]
                assignment.pod_sets.append(PodSetChoice(demand.name, count, requests, flavors, list(reasons)))
                tried.append({name: choice.tried for name, choice in flavors.items()})
                self._count(assignment, demand, requests, flavors)
                assignment.complete &= bool(flavors) or not any(requests.values())
            if not assignment.complete:
                break
        assignment.tried = tuple(tried)
        return assignment

    def _grouped(self) -> list[list[int]]:
        groups: dict[str, list[int]] = {}
        for index, demand in enumerate(self._item.demands):
            groups.setdefault(f"={demand.group}" if demand.group else str(index), []).append(index)
        return list(groups.values())

    def _requests(self, index: int, counts: Sequence[int] | None) -> Requests:
        demand = self._item.demands[index]
        count = demand.count if counts is None else counts[index]
        requests = demand.total(count)
        if self._rules.group_of(PODS) is not None:
            requests[PODS] = count
        return requests

    def _count(
        self, assignment: Assignment, demand: PodSetDemand, requests: Requests, flavors: Mapping[str, Choice]
    ) -> None:
        before = (
            next((one for one in self._replaced.grants if one.name == demand.name), None) if self._replaced else None
        )
        for resource, choice in flavors.items():
            assignment.borrow = max(assignment.borrow, choice.borrow)
            fr = (choice.flavor, resource)
            held = before.requests.get(resource, 0) if before else 0
            assignment.usage[fr] = assignment.usage.get(fr, 0) + requests[resource] - held

    def _flavors_for(
        self, indices: list[int], demands: list[PodSetDemand], total: Requests, assumed: Usage
    ) -> tuple[dict[str, Choice] | None, list[str]]:
        found: dict[str, Choice] = {}
        reasons: list[str] = []
        for resource in sorted(total):
            if resource in found:
                continue
            group = self._rules.group_of(resource)
            if group is None:
                if total[resource] == 0:
                    continue
                return None, [f"resource {resource} unavailable in ClusterQueue"]
            choices, said = self._search(group, resource, indices, demands, total, assumed)
            if choices is None:
                return None, said
            found |= choices
            reasons += said
        return found, reasons

    def _search(
        self,
        group: Group,
        resource: str,
        indices: list[int],
        demands: list[PodSetDemand],
        total: Requests,
        assumed: Usage,
    ) -> tuple[dict[str, Choice] | None, list[str]]:
        """The flavor of one group of resources, and why it is not free at once."""
        wanted = {name: amount for name, amount in total.items() if name in group.resources}
        best: dict[str, Choice] | None = None
        best_mode: _Granular = (Mode.NO_FIT, 0)
        reasons: list[str] = []
        attempted = -1
        for attempted in range(self._start(indices[0], resource), len(group.flavors)):
            name = group.flavors[attempted]
            if objection := self._objection(name, demands):
                reasons.append(objection)
                continue
            mode, choices, said = self._try(name, wanted, indices, assumed)
            reasons += said
            if not self._try_next(mode):
                best, best_mode = choices, mode
                break
            if self._prefers(mode, best_mode):
                best, best_mode = choices, mode
        for choice in (best or {}).values():
            choice.tried = -1 if attempted == len(group.flavors) - 1 else attempted
        return best, [] if best_mode[0] is Mode.FIT else reasons

    def _start(self, index: int, resource: str) -> int:
        tried = self._item.tried
        return tried[index].get(resource, -1) + 1 if index < len(tried) else 0

    def _objection(self, name: str, demands: list[PodSetDemand]) -> str:
        flavor = self._flavors.get(name)
        if flavor is None:
            return f"flavor {name} not found"
        return next((said for demand in demands if (said := flavor.objection(demand.placement))), "")

    def _try(
        self, flavor: str, wanted: Requests, indices: list[int], assumed: Usage
    ) -> tuple[_Granular, dict[str, Choice], list[str]]:
        worst: _Granular = (Mode.FIT, 0)
        choices: dict[str, Choice] = {}
        reasons: list[str] = []
        for resource, asked in wanted.items():
            amount = asked
            for index in indices if self._replaced else ():
                held = self._replaced.grants[index] if self._replaced else None
                if held is None:
                    continue
                if (was := held.flavors.get(resource, "")) != flavor:
                    reasons.append(f"could not assign {flavor} flavor since the original workload is assigned: {was}")
                    return (Mode.NO_FIT, 0), {}, reasons
                amount -= held.requests.get(resource, 0)
            fr = (flavor, resource)
            mode, said = self._fits(fr, assumed.get(fr, 0), amount)
            if said:
                reasons.append(said)
            if self._prefers(worst, mode):
                worst = mode
            if mode[0] is Mode.NO_FIT:
                break
            choices[resource] = Choice(flavor, mode[0], mode[1])
        return worst, choices, reasons

    def _fits(self, fr: FlavorResource, assumed: int, amount: int) -> tuple[_Granular, str]:
        node = self._node
        value = assumed + amount
        if value > (most := node.potential(fr)):
            flavor, resource = fr
            return (Mode.NO_FIT, 0), (
                f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests "
                f"({text_of(resource, assumed)}) + current podset request ({text_of(resource, amount)}) "
                f"> maximum capacity ({text_of(resource, most)})"
            )
        height, may_reclaim = lowest_that_fits(node, fr, value)
        # Quota may have been lowered under what is used: who gives up what it holds may go on with as much.
        available = max(0, node.available(fr)) + self._freed.get(fr, 0)
        if value <= available:
            return (Mode.FIT, height), ""
        flavor, resource = fr
        said = (
            f"insufficient unused quota for {resource} in flavor {flavor}, "
            f"{text_of(resource, value - available)} more needed"
        )
        if node.quota(fr).nominal >= value or may_reclaim or self._may_preempt_borrowing:
            return self._oracle(self._item, fr, value), said
        return (Mode.NO_FIT, height), said

    def _try_next(self, mode: _Granular) -> bool:
        rules = self._rules.fungibility
        if mode[0] in (Mode.NO_FIT, Mode.NO_CANDIDATES):
            return True
        if mode[0] in (Mode.PREEMPT, Mode.RECLAIM) and rules.when_can_preempt == _TRY_NEXT:
            return True
        return mode[1] > 0 and rules.when_can_borrow == _TRY_NEXT

    def _prefers(self, one: _Granular, other: _Granular) -> bool:
        if one[0] is Mode.NO_FIT:
            return False
        if other[0] is Mode.NO_FIT:
            return True
        if self._rules.fungibility.preference == "PreemptionOverBorrowing":
            return (-one[1], one[0]) > (-other[1], other[0])
        return (one[0], -one[1]) > (other[0], -other[1])


def lowest_that_fits(node: Node, fr: FlavorResource, amount: int) -> tuple[int, bool]:
    """How far up quota for so much more is found, and whether that is below the root.

    The height of the root where no subtree has enough.
    """
    if node.parent is None or not node.borrows_with(fr, amount):
        return 0, node.parent is not None
    rest = amount - node.local_available(fr)
    for ancestor in node.ancestors():
        if ancestor.subtree.get(fr, 0) >= ancestor.usage.get(fr, 0) + rest:
            return ancestor.height, ancestor.parent is not None
        rest -= ancestor.local_available(fr)
    return node.root.height, False


def reduced(item: Item, attempt: Callable[[list[int]], bool]) -> bool:
    """Tries with fewer pods, the most that work first.

    ``attempt`` is called with counts and says whether they work; the last call that worked has the answer.
    """
    gaps = [demand.count - (demand.count if demand.min_count is None else demand.min_count) for demand in item.demands]
    total = sum(gaps)
    if total <= 0:
        return False
    low, high, good = 0, total + 1, -1
    while low < high:
        middle = (low + high) // 2
        counts = [demand.count - gap * middle // total for demand, gap in zip(item.demands, gaps, strict=True)]
        if attempt(counts):
            high = good = middle
        else:
            low = middle + 1
    return low == good
