"""Fair sharing: whoever borrows least, by weight, goes first, and whoever borrows most gives back first.

A node's share is the largest part of any one resource that it borrows of what its parent could lend, in thousandths,
by its weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import total_ordering
from typing import Final, Literal

from rayward.kinds.kueue import names
from rayward.quota.engine.amounts import FlavorResource, Usage
from rayward.quota.engine.item import Item
from rayward.quota.engine.preempt import Attempt, Preemptor, Target, candidate_order, policy_allows
from rayward.quota.engine.tree import Node

Strategy = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
DEFAULT_STRATEGIES: Final[tuple[Strategy, ...]] = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")


@total_ordering
@dataclass(frozen=True, slots=True)
class Share:
    """How much a node borrows."""

    ratio: float
    weight: float
    borrowed: frozenset[FlavorResource] = frozenset()

    @property
    def _key(self) -> tuple[bool, float]:
        # nodes without weight that borrow come after all others, and compare by what they borrow
        if self.weight == 0 and self.ratio > 0:
            return (True, self.ratio)
        return (False, self.ratio / self.weight if self.ratio > 0 else self.ratio)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Share) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __lt__(self, other: Share) -> bool:
        return self._key < other._key

    @property
    def rounded(self) -> int:
        """As statuses show it; as large as can be for a borrower without weight."""
        weightless, ratio = self._key
        return 2**63 - 1 if weightless else math.ceil(ratio)

    @property
    def borrows(self) -> bool:
        """Whether the node is over its quota in anything."""
        return bool(self.borrowed)


_LESS_THAN_ANY: Final = Share(-1.0, 1.0)


def share_of(node: Node) -> Share:
    """The share of a node as it is."""
    if node.parent is None:
        return Share(0.0, node.weight)
    borrowed: dict[str, int] = {}
    frs: list[FlavorResource] = []
    for fr, quota in node.subtree.items():
        over = node.usage.get(fr, 0) - quota
        if over > 0:
            borrowed[fr[1]] = borrowed.get(fr[1], 0) + int(over)
            frs.append(fr)
    if not frs:
        return Share(0.0, node.weight)
    lendable: dict[str, float] = {}
    for fr in node.root.subtree:
        lendable[fr[1]] = lendable.get(fr[1], 0) + node.parent.potential(fr)
    ratio = max(
        (amount * 1000.0 / lendable[resource] for resource, amount in borrowed.items() if lendable.get(resource)),
        default=0.0,
    )
    return Share(ratio, node.weight, frozenset(frs))


@dataclass(frozen=True, slots=True)
class Contender:
    """A workload that is first in its queue."""

    item: Item
    node: Node
    usage: Usage


def fairest(root: Node, contenders: Mapping[str, Contender]) -> Contender:
    """The one to try next: a tournament in each cohort, decided by shares as they would be with the workload."""
    shares: dict[tuple[str, str], Share] = {}
    for contender in contenders.values():
        node = contender.node
        node.add(contender.usage)
        share = share_of(node)
        for ancestor in node.ancestors():
            shares[ancestor.name, node.name] = share
            share = share_of(ancestor)
        node.remove(contender.usage)

    def winner(cohort: Node) -> Contender | None:
        best: Contender | None = None
        for child in cohort.children.values():
            one = contenders.get(child.name) if child.is_queue else winner(child)
            if one is not None and (best is None or key(one, cohort) < key(best, cohort)):
                best = one
        return best

    def key(one: Contender, cohort: Node) -> tuple[bool, Share, int, float]:
        share = shares[cohort.name, one.node.name]
        borrows = any(one.usage.get(fr, 0) > 0 for fr in share.borrowed)
        return (borrows, share, -one.item.priority, one.item.timestamp)

    found = winner(root)
    if found is None:
        raise ValueError(f"no workload contends below {root!r}")
    return found


class FairPreemptor(Preemptor):
    """Finds targets by shares."""

    strategies: Sequence[Strategy] = DEFAULT_STRATEGIES

    def targets(self, attempt: Attempt) -> list[Target]:
        """Those whose eviction makes room; none when no eviction would, or may."""
        candidates = sorted(
            self._candidates(attempt), key=lambda item: candidate_order(item, attempt.item.cluster_queue)
        )
        if not candidates:
            return []
        node = attempt.node
        node.add(attempt.usage)
        fits, taken, later = self._first(attempt, candidates)
        if not fits and len(self.strategies) > 1:
            fits, taken = self._second(attempt, later, taken)
        node.remove(attempt.usage)
        if not fits:
            self.restore(taken)
            return []
        taken = self.fill_back(attempt, taken, borrowing=True)
        self.restore(taken)
        return taken

    def _candidates(self, attempt: Attempt) -> Iterator[Item]:
        policies = attempt.rules.preemption
        for queue in attempt.node.root.leaves():
            own = queue is attempt.node
            if not own and queue.within_nominal(attempt.frs):
                continue
            policy = policies.within_cluster_queue if own else policies.reclaim_within_cohort
            for item in self.holders.get(queue.name, {}).values():
                if policy_allows(policy, attempt.item, item) and not attempt.frs.isdisjoint(item.usage):
                    yield item

    def _first(self, attempt: Attempt, candidates: list[Item]) -> tuple[bool, list[Target], list[Item]]:
        order = _Order(attempt.node, candidates)
        within_nominal = attempt.node.within_nominal(attempt.frs)
        taken: list[Target] = []
        later: list[Item] = []
        rule = _rule(self.strategies[0])
        for queue in order:
            if queue is attempt.node or within_nominal:
                reason = names.IN_CLUSTER_QUEUE if queue is attempt.node else names.IN_COHORT_RECLAMATION
                if self._take(attempt, queue, order.pop(queue), reason, taken):
                    return True, taken, later
                continue
            mine, theirs = _below_meeting(attempt.node, queue)
            own, before = share_of(mine), share_of(theirs)
            while order.has(queue):
                item = order.pop(queue)
                queue.remove(item.usage)
                after = share_of(theirs)
                queue.add(item.usage)
                if not rule(own, before, after):
                    later.append(item)
                    continue
                if self._take(attempt, queue, item, names.IN_COHORT_FAIR_SHARING, taken):
                    return True, taken, later
                break
        return False, taken, later

    def _second(self, attempt: Attempt, later: list[Item], taken: list[Target]) -> tuple[bool, list[Target]]:
        order = _Order(attempt.node, later)
        for queue in order:
            mine, theirs = _below_meeting(attempt.node, queue)
            item = order.pop(queue)
            if share_of(mine) < share_of(theirs) and self._take(
                attempt, queue, item, names.IN_COHORT_FAIR_SHARING, taken
            ):
                return True, taken
            order.drop(queue)
        return False, taken

    def _take(self, attempt: Attempt, queue: Node, item: Item, reason: str, taken: list[Target]) -> bool:
        queue.remove(item.usage)
        taken.append(Target(item, reason))
        # shares are taken with the workload inside, room without it
        attempt.node.remove(attempt.usage)
        fits = attempt.fits(borrowing=True)
        attempt.node.add(attempt.usage)
        return fits


def _rule(strategy: Strategy) -> Callable[[Share, Share, Share], bool]:
    if strategy == "LessThanInitialShare":
        return lambda own, before, _after: own < before
    return lambda own, _before, after: own <= after


def _below_meeting(one: Node, other: Node) -> tuple[Node, Node]:
    """The nodes on both ways just below where they meet."""
    above = set(one.ancestors())
    theirs = other
    for meeting in other.ancestors():
        if meeting in above:
            mine = one
            for ancestor in one.ancestors():
                if ancestor is meeting:
                    return mine, theirs
                mine = ancestor
        theirs = meeting
    raise ValueError(f"{one!r} and {other!r} are in different trees")


class _Order:
    """The queue to take from next: from the root down, always the child with the largest share."""

    def __init__(self, preemptor: Node, candidates: Iterable[Item]) -> None:
        self._preemptor = preemptor
        self._path = set(preemptor.ancestors())
        self._waiting: dict[str, list[Item]] = {}
        for item in candidates:
            self._waiting.setdefault(item.cluster_queue, []).append(item)
        for items in self._waiting.values():
            items.reverse()
        self._pruned: set[Node] = set()

    def __iter__(self) -> Iterator[Node]:
        root = self._preemptor.root
        if root is self._preemptor:
            while self.has(root):
                yield root
            return
        while root not in self._pruned:
            found = self._next(root)
            if found is not None:
                yield found

    def has(self, queue: Node) -> bool:
        return bool(self._waiting.get(queue.name))

    def pop(self, queue: Node) -> Item:
        return self._waiting[queue.name].pop()

    def drop(self, queue: Node) -> None:
        self._pruned.add(queue)

    def _next(self, cohort: Node) -> Node | None:
        queue, queue_share = self._largest_queue(cohort)
        below, below_share = self._largest_cohort(cohort)
        if below is not None and below_share >= queue_share:
            return self._next(below)
        if queue is None:
            self._pruned.add(cohort)
        return queue

    def _largest_queue(self, cohort: Node) -> tuple[Node | None, Share]:
        best: Node | None = None
        largest = _LESS_THAN_ANY
        for queue in cohort.queues():
            if queue in self._pruned:
                continue
            share = share_of(queue)
            if not self.has(queue) or (not share.borrows and queue is not self._preemptor):
                self._pruned.add(queue)
            elif share > largest or (best is not None and share == largest and self._goes_before(queue, best)):
                best, largest = queue, share
        return best, largest

    def _goes_before(self, one: Node, other: Node) -> bool:
        queue = self._preemptor.name
        return candidate_order(self._waiting[one.name][-1], queue) < candidate_order(
            self._waiting[other.name][-1], queue
        )

    def _largest_cohort(self, cohort: Node) -> tuple[Node | None, Share]:
        best: Node | None = None
        largest = _LESS_THAN_ANY
        for child in cohort.cohorts():
            if child in self._pruned:
                continue
            share = share_of(child)
            if not share.borrows and child not in self._path:
                self._pruned.add(child)
            elif share >= largest:
                best, largest = child, share
        return best, largest
