"""The quota tree: ClusterQueues are leaves, Cohorts their ancestors, which share what their children lend.

Limits are worked out when the tree changes, so that taking and giving back quota touches integers only. The usage of a
cohort is what its children use beyond what they keep to themselves; that holds after every addition and removal, in
any order.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from rayward.quota.engine.amounts import Amount, FlavorResource, Usage, minus, plus


@dataclass(frozen=True, slots=True)
class Quota:
    """The quota of one flavor and resource at one node; a limit of None is none."""

    nominal: Amount = 0
    borrowing: Amount | None = None
    lending: Amount | None = None


_NO_QUOTA = Quota()


class Node:
    """A ClusterQueue or a Cohort."""

    __slots__ = (
        "children",
        "generation",
        "height",
        "is_queue",
        "local",
        "name",
        "parent",
        "potential_of",
        "quotas",
        "root",
        "stored",
        "subtree",
        "usage",
        "weight",
    )

    def __init__(self, name: str, *, is_queue: bool) -> None:
        self.name = name
        self.is_queue = is_queue
        self.parent: Node | None = None
        self.children: dict[str, Node] = {}
        self.quotas: Mapping[FlavorResource, Quota] = {}
        self.weight = 1.0
        self.usage: Usage = {}
        self.root: Node = self
        self.generation = 0
        """Grows whenever something may fit here that did not before."""
        self.height = 0
        """The distance to the furthest leaf."""
        self.subtree: dict[FlavorResource, Amount] = {}
        """Own quota and what the children lend."""
        self.local: dict[FlavorResource, Amount] = {}
        """The part that is never lent."""
        self.stored: dict[FlavorResource, Amount] = {}
        """The part that lies with the parent."""
        self.potential_of: dict[FlavorResource, Amount] = {}
        """What the node could use if nobody used anything."""

    def __repr__(self) -> str:
        return f"{'ClusterQueue' if self.is_queue else 'Cohort'} {self.name}"

    def quota(self, fr: FlavorResource) -> Quota:
        """What was configured here."""
        return self.quotas.get(fr, _NO_QUOTA)

    def ancestors(self) -> Iterator[Node]:
        """From the parent to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def cohorts(self) -> Iterator[Node]:
        """The children that are cohorts."""
        return (child for child in self.children.values() if not child.is_queue)

    def queues(self) -> Iterator[Node]:
        """The children that are ClusterQueues."""
        return (child for child in self.children.values() if child.is_queue)

    def leaves(self) -> Iterator[Node]:
        """Every ClusterQueue at or below this node."""
        if self.is_queue:
            yield self
        for child in self.children.values():
            yield from child.leaves()

    @contextmanager
    def idle(self) -> Generator[None]:
        """Within the block nobody uses anything at or below this node."""
        used = [(node, node.usage) for node in self._nodes()]
        for node, _ in used:
            node.usage = {}
        try:
            yield
        finally:
            for node, usage in used:
                node.usage = usage

    def _nodes(self) -> Iterator[Node]:
        yield self
        for child in self.children.values():
            yield from child._nodes()

    def local_available(self, fr: FlavorResource) -> Amount:
        """What is free of the part that is never lent."""
        kept = self.local.get(fr, 0)
        return max(0, kept - self.usage.get(fr, 0)) if kept else 0

    def available(self, fr: FlavorResource) -> Amount:
        """What could be taken now; less than nothing when quota was lowered under what is used."""
        used = self.usage.get(fr, 0)
        parent = self.parent
        if parent is None:
            return self.subtree.get(fr, 0) - used
        shared = parent.available(fr)
        kept = self.local.get(fr, 0)
        limit = self.quotas[fr].borrowing if fr in self.quotas else None
        if limit is not None:
            beyond = max(0, used - kept)
            shared = min(self.stored.get(fr, 0) - beyond + limit, shared)
        return max(0, kept - used) + shared

    def potential(self, fr: FlavorResource) -> Amount:
        """What could be taken if nobody used anything."""
        return self.potential_of.get(fr, 0)

    def borrows_with(self, fr: FlavorResource, amount: int = 0) -> bool:
        """Whether the node uses more than its own quota when it uses so much more."""
        return self.subtree.get(fr, 0) < self.usage.get(fr, 0) + amount

    def within_nominal(self, frs: Iterable[FlavorResource]) -> bool:
        """Whether the node borrows none of these."""
        return not any(self.borrows_with(fr) for fr in frs)

    def add(self, usage: Usage) -> None:
        for fr, amount in usage.items():
            self._add(fr, amount)

    def remove(self, usage: Usage) -> None:
        for fr, amount in usage.items():
            self._remove(fr, amount)

    def _add(self, fr: FlavorResource, amount: int) -> None:
        node: Node | None = self
        while node is not None and amount:
            free = node.local_available(fr)
            node.usage[fr] = node.usage.get(fr, 0) + amount
            amount = int(amount - min(free, amount)) if amount > 0 else _given_back(node, fr, amount)
            node = node.parent

    def _remove(self, fr: FlavorResource, amount: int) -> None:
        self._add(fr, -amount)


def _given_back(node: Node, fr: FlavorResource, change: int) -> int:
    """How much less the parent is used for, after ``change`` (less than 0) was applied to the node."""
    after = node.usage[fr]
    kept = node.local.get(fr, 0)
    return int(max(0, after - kept) - max(0, after - change - kept))


class Forest:
    """All trees. A cohort that somebody names and nobody made has no quota of its own."""

    def __init__(self) -> None:
        self.queues: dict[str, Node] = {}
        self.cohorts: dict[str, Node] = {}
        self._declared: set[str] = set()
        self.cyclic: set[str] = set()
        """Cohorts that are their own ancestors, and those below them: nothing is admitted there."""

    def set_queue(self, name: str, cohort: str, quotas: Mapping[FlavorResource, Quota], weight: float) -> set[Node]:
        """A ClusterQueue is new or changed; returns the roots that are affected."""
        node = self.queues.get(name)
        if node is None:
            node = self.queues[name] = Node(name, is_queue=True)
        return self._place(node, cohort, quotas, weight)

    def set_cohort(self, name: str, parent: str, quotas: Mapping[FlavorResource, Quota], weight: float) -> set[Node]:
        """A Cohort is new or changed; returns the roots that are affected."""
        self._declared.add(name)
        return self._place(self._cohort(name), parent, quotas, weight)

    def remove_queue(self, name: str) -> set[Node]:
        """A ClusterQueue is gone; returns the roots that are affected."""
        node = self.queues.pop(name, None)
        if node is None:
            return set()
        former = node.parent
        self._detach(node)
        return self._refresh([former] if former else [])

    def remove_cohort(self, name: str) -> set[Node]:
        """A Cohort is gone; while somebody names it, it goes on without quota of its own."""
        if name not in self._declared:
            return set()
        self._declared.discard(name)
        node = self.cohorts[name]
        affected = self._place(node, "", {}, 1.0)
        self._forget_unnamed(node)
        return affected

    def _cohort(self, name: str) -> Node:
        node = self.cohorts.get(name)
        if node is None:
            node = self.cohorts[name] = Node(name, is_queue=False)
        return node

    def _place(self, node: Node, parent: str, quotas: Mapping[FlavorResource, Quota], weight: float) -> set[Node]:
        former = node.parent
        node.quotas, node.weight = quotas, weight
        if (former.name if former else "") != parent:
            self._detach(node)
            if parent:
                node.parent = self._cohort(parent)
                node.parent.children[_child_key(node)] = node
        return self._refresh([node, *([former] if former and former is not node.parent else [])])

    def _detach(self, node: Node) -> None:
        if node.parent is not None:
            del node.parent.children[_child_key(node)]
            former, node.parent = node.parent, None
            self._forget_unnamed(former)

    def _forget_unnamed(self, cohort: Node) -> None:
        if not cohort.children and cohort.parent is None and cohort.name not in self._declared:
            self.cohorts.pop(cohort.name, None)

    def _refresh(self, changed: list[Node]) -> set[Node]:
        self.cyclic = {name for name, node in self.cohorts.items() if _is_cyclic(node)}
        roots: set[Node] = set()
        for node in changed:
            cohort = node.parent if node.is_queue else node
            if cohort is None:
                roots.add(node)
            elif cohort.name not in self.cyclic:
                roots.add(_top(cohort))
        for root in roots:
            _fill(root, root)
            _fill_potential(root)
        return roots

    def is_active(self, queue: Node) -> bool:
        """Whether the queue's cohort has no cycle above it."""
        return queue.parent is None or queue.parent.name not in self.cyclic


def _child_key(node: Node) -> str:
    return f"queue/{node.name}" if node.is_queue else f"cohort/{node.name}"


def _is_cyclic(node: Node) -> bool:
    seen: set[str] = set()
    at: Node | None = node
    while at is not None:
        if at.name in seen:
            return True
        seen.add(at.name)
        at = at.parent
    return False


def _top(node: Node) -> Node:
    while node.parent is not None:
        node = node.parent
    return node


def _fill(node: Node, root: Node) -> None:
    node.root = root
    subtree = {fr: quota.nominal for fr, quota in node.quotas.items()}
    if not node.is_queue:
        node.usage = {}
        node.height = min(len(node.children), 1)
    for child in node.children.values():
        _fill(child, root)
        if not child.is_queue:
            node.height = max(node.height, child.height + 1)
        for fr in child.subtree:
            subtree[fr] = plus(subtree.get(fr, 0), child.stored[fr])
        for fr, used in child.usage.items():
            beyond = used - child.local.get(fr, 0)
            if beyond > 0:
                node.usage[fr] = node.usage.get(fr, 0) + int(beyond)
    node.subtree = subtree
    node.local, node.stored = {}, {}
    for fr, whole in subtree.items():
        lending = node.quotas[fr].lending if fr in node.quotas else None
        kept = 0 if lending is None else max(0, minus(whole, lending))
        node.local[fr] = kept
        node.stored[fr] = minus(whole, kept)


def _fill_potential(node: Node) -> None:
    parent = node.parent
    if parent is None:
        node.potential_of = dict(node.subtree)
    else:
        node.potential_of = {}
        for fr in {*node.subtree, *parent.potential_of}:
            most = plus(node.local.get(fr, 0), parent.potential_of.get(fr, 0))
            limit = node.quotas[fr].borrowing if fr in node.quotas else None
            if limit is not None:
                most = min(most, plus(node.subtree.get(fr, 0), limit))
            node.potential_of[fr] = most
    for child in node.children.values():
        _fill_potential(child)
