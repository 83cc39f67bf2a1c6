"""Whom to evict so that a workload fits: as few as possible, the least important and newest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from rayward.kinds.kueue import names
from rayward.quota.engine.amounts import FlavorResource, Usage
from rayward.quota.engine.assign import Mode, QueueRules, lowest_that_fits
from rayward.quota.engine.item import Item
from rayward.quota.engine.tree import Node


@dataclass(frozen=True, slots=True)
class Target:
    """A workload that would be evicted, and on what grounds."""

    item: Item
    reason: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """A workload that needs room."""

    item: Item
    node: Node
    rules: QueueRules
    frs: frozenset[FlavorResource]
    """Where room is missing."""
    usage: Usage
    """What has to fit in the end."""

    def fits(self, *, borrowing: bool) -> bool:
        """Whether there is room now."""
        node = self.node
        for fr, amount in self.usage.items():
            if not borrowing and node.borrows_with(fr, amount):
                return False
            if amount > max(0, node.available(fr)):
                return False
        return True


Holders = Mapping[str, Mapping[str, Item]]
"""The workloads that hold quota, by ClusterQueue and key."""


class Preemptor:
    """Finds targets by priority and by whose quota it is."""

    def __init__(self, queues: Mapping[str, Node], holders: Holders, rules: Mapping[str, QueueRules]) -> None:
        self.queues = queues
        self.holders = holders
        self.rules = rules

    def targets(self, attempt: Attempt) -> list[Target]:
        """Those whose eviction makes room; none when no eviction would, or may."""
        candidates = _Candidates(attempt, self.holders)
        for borrowing in candidates.attempts():
            taken: list[Target] = []
            for candidate in candidates.all:
                if not candidates.is_valid(candidate, self.queues, borrowing=borrowing):
                    continue
                item = candidate.item
                self.queues[item.cluster_queue].remove(item.usage)
                taken.append(Target(item, _REASONS[candidate.variant]))
                if attempt.fits(borrowing=borrowing):
                    taken = self.fill_back(attempt, taken, borrowing=borrowing)
                    self.restore(taken)
                    return taken
            self.restore(taken)
        return []

    def oracle(self, item: Item, fr: FlavorResource, amount: int) -> tuple[Mode, int]:
        """What evictions could do for one flavor and resource."""
        node = self.queues[item.cluster_queue]
        rules = self.rules[item.cluster_queue]
        targets = self.targets(Attempt(item, node, rules, frozenset((fr,)), {fr: amount}))
        if not targets:
            return Mode.NO_CANDIDATES, lowest_that_fits(node, fr, amount)[0]
        for target in targets:
            self.queues[target.item.cluster_queue].remove(target.item.usage)
        height, _ = lowest_that_fits(node, fr, amount)
        self.restore(targets)
        own = any(target.item.cluster_queue == item.cluster_queue for target in targets)
        return (Mode.PREEMPT if own else Mode.RECLAIM), height

    def fill_back(self, attempt: Attempt, taken: list[Target], *, borrowing: bool) -> list[Target]:
        """Spares those without whom it still fits."""
        for index in range(len(taken) - 2, -1, -1):
            item = taken[index].item
            node = self.queues[item.cluster_queue]
            node.add(item.usage)
            if attempt.fits(borrowing=borrowing):
                taken[index] = taken[-1]
                taken.pop()
            else:
                node.remove(item.usage)
        return taken

    def restore(self, taken: Iterable[Target]) -> None:
        """Undoes the removal of targets."""
        for target in taken:
            self.queues[target.item.cluster_queue].add(target.item.usage)


class _Variant(Enum):
    WITHIN_QUEUE = 1
    HIERARCHICAL = 2
    """The preemptor is nearer to the quota: priorities do not matter."""
    WITHOUT_BORROWING = 3
    """Only if the preemptor does not borrow in the end."""
    WHILE_BORROWING = 4


_REASONS = {
    _Variant.WITHIN_QUEUE: names.IN_CLUSTER_QUEUE,
    _Variant.HIERARCHICAL: names.IN_COHORT_RECLAMATION,
    _Variant.WITHOUT_BORROWING: names.IN_COHORT_RECLAMATION,
    _Variant.WHILE_BORROWING: names.IN_COHORT_RECLAIM_WHILE_BORROWING,
}


@dataclass(frozen=True, slots=True)
class _Candidate:
    item: Item
    variant: _Variant
    meeting: Node | None
    """The lowest cohort above both; None in the own queue."""


class _Candidates:
    """Everybody who may be evicted for one attempt, in order."""

    def __init__(self, attempt: Attempt, holders: Holders) -> None:
        self._attempt = attempt
        self._holders = holders
        own = list(self._own())
        hierarchical, by_priority = self._of_others()
        groups = [sorted(group, key=self._order) for group in (hierarchical, by_priority, own)]
        self.all = [one for group in groups for one in group if one.item.evicted]
        self.all += [one for group in groups for one in group if not one.item.evicted]
        self._none_elsewhere = not hierarchical and not by_priority
        self._none_hierarchical = not hierarchical

    def attempts(self) -> tuple[bool, ...]:
        """Whether the preemptor may borrow, in the order in which that is tried."""
        attempt = self._attempt
        forbidden = attempt.rules.borrow is None
        if self._none_elsewhere or (forbidden and not _is_under_nominal(attempt)):
            return (True,)
        return (False, True) if forbidden and self._none_hierarchical else (True, False)

    def is_valid(self, candidate: _Candidate, queues: Mapping[str, Node], *, borrowing: bool) -> bool:
        """Evictions so far may have brought a queue back within its quota: then it is left alone."""
        if candidate.meeting is None:
            return True
        if borrowing and candidate.variant is _Variant.WITHOUT_BORROWING:
            return False
        frs = self._attempt.frs
        node = queues[candidate.item.cluster_queue]
        if node.within_nominal(frs):
            return False
        for ancestor in node.ancestors():
            if ancestor is candidate.meeting:
                return True
            if ancestor.within_nominal(frs):
                return False
        return True

    def _order(self, candidate: _Candidate) -> tuple[bool, bool, int, float, str]:
        return candidate_order(candidate.item, self._attempt.item.cluster_queue)

    def _own(self) -> Iterator[_Candidate]:
        policy = self._attempt.rules.preemption.within_cluster_queue
        if policy != "Never":
            for item in self._allowed(self._attempt.node, policy):
                yield _Candidate(item, _Variant.WITHIN_QUEUE, None)

    def _of_others(self) -> tuple[list[_Candidate], list[_Candidate]]:
        hierarchical: list[_Candidate] = []
        by_priority: list[_Candidate] = []
        attempt = self._attempt
        policy = attempt.rules.preemption.reclaim_within_cohort
        if attempt.node.parent is None or policy == "Never":
            return hierarchical, by_priority
        advantage, rest = _fit_in_quota(attempt.node, attempt.usage)
        done: Node | None = None
        for ancestor in attempt.node.ancestors():
            into = hierarchical if advantage else by_priority
            for queue in self._over_quota(ancestor, done):
                for item in self._allowed(queue, policy):
                    into.append(_Candidate(item, self._variant(item, advantage=advantage), ancestor))
            fits, rest = _fit_in_quota(ancestor, rest)
            # whoever is nearer to quota that is enough may take it back from anybody further away
            advantage = advantage or fits
            done = ancestor
        return hierarchical, by_priority

    def _over_quota(self, cohort: Node, done: Node | None) -> Iterator[Node]:
        for child in cohort.children.values():
            if child is done or child is self._attempt.node or child.within_nominal(self._attempt.frs):
                continue
            if child.is_queue:
                yield child
            else:
                yield from self._over_quota(child, done)

    def _allowed(self, queue: Node, policy: str) -> Iterator[Item]:
        frs, preemptor = self._attempt.frs, self._attempt.item
        for item in self._holders.get(queue.name, {}).values():
            if policy_allows(policy, preemptor, item) and not frs.isdisjoint(item.usage):
                yield item

    def _variant(self, item: Item, *, advantage: bool) -> _Variant:
        if advantage:
            return _Variant.HIERARCHICAL
        borrow = self._attempt.rules.borrow
        threshold = borrow.max_priority_threshold if borrow else None
        if (
            borrow is None
            or item.priority >= self._attempt.item.priority
            or (threshold is not None and item.priority > threshold)
        ):
            return _Variant.WITHOUT_BORROWING
        return _Variant.WHILE_BORROWING


def policy_allows(policy: str, preemptor: Item, candidate: Item) -> bool:
    """Whether a policy lets one evict the other."""
    if policy == "Any":
        return True
    if policy == "LowerPriority":
        return preemptor.priority > candidate.priority
    if policy == "LowerOrNewerEqualPriority":
        return (preemptor.priority, -preemptor.timestamp) > (candidate.priority, -candidate.timestamp)
    return False


def candidate_order(item: Item, queue: str) -> tuple[bool, bool, int, float, str]:
    """Those that go already, then other queues', then the least important, then the newest."""
    return (not item.evicted, item.cluster_queue == queue, item.priority, -item.reserved_at, item.uid)


def _fit_in_quota(node: Node, usage: Usage) -> tuple[bool, Usage]:
    fits = not any(node.borrows_with(fr, amount) for fr, amount in usage.items())
    return fits, {fr: int(max(0, amount - node.local_available(fr))) for fr, amount in usage.items()}


def _is_under_nominal(attempt: Attempt) -> bool:
    node = attempt.node
    return all(node.usage.get(fr, 0) < node.quota(fr).nominal for fr in attempt.frs)
