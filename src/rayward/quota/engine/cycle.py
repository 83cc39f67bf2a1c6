"""One round of decisions in one tree: the first of every queue is tried, in an order that is fair among queues.

What is only planned (evictions that have to happen first, room kept for somebody who cannot evict) counts until the
end of the round, so that nobody slips in meanwhile; what is admitted counts for good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from rayward.kinds.kueue import names
from rayward.quota.engine.amounts import Usage
from rayward.quota.engine.assign import Assigner, Assignment, Mode, QueueRules, reduced
from rayward.quota.engine.fair import Contender, FairPreemptor, fairest
from rayward.quota.engine.flavor import Flavor
from rayward.quota.engine.item import Grant, Item, usage_of
from rayward.quota.engine.preempt import Attempt, Preemptor, Target
from rayward.quota.engine.queue import PendingQueue, Requeue
from rayward.quota.engine.tree import Node

_GROUNDS: Final = {
    names.IN_CLUSTER_QUEUE: "prioritization in the ClusterQueue",
    names.IN_COHORT_RECLAMATION: "reclamation within the cohort",
    names.IN_COHORT_FAIR_SHARING: "Fair Sharing within the cohort",
    names.IN_COHORT_RECLAIM_WHILE_BORROWING: "reclamation within the cohort while borrowing",
}


@dataclass(frozen=True, slots=True)
class Admit:
    """A workload gets quota."""

    key: str
    cluster_queue: str
    grants: tuple[Grant, ...]
    replaces: str = ""
    """The slice that is finished once this one is admitted."""


@dataclass(frozen=True, slots=True)
class Evict:
    """A workload has to stop, so that another can have its quota."""

    key: str
    reason: str
    preemptor: str
    preemptor_uid: str
    preemptor_path: str
    path: str


def preemption_message(decision: Evict, job: str) -> str:
    """Why a workload is preempted, in Kueue's words; ``job`` is the uid of the preemptor's owner."""
    return (
        f"Preempted to accommodate a workload (UID: {decision.preemptor_uid or 'UNKNOWN'}, "
        f"JobUID: {job or 'UNKNOWN'}) due to {_GROUNDS[decision.reason]}; "
        f"preemptor path: {decision.preemptor_path}; preemptee path: {decision.path}"
    )


@dataclass(frozen=True, slots=True)
class Pend:
    """A workload was tried and goes on waiting."""

    key: str
    message: str
    reason: str = "Pending"


Decision = Admit | Evict | Pend


@dataclass(slots=True)
class World:
    """What a round reads, and changes as it admits."""

    queues: Mapping[str, Node]
    rules: Mapping[str, QueueRules]
    pending: Mapping[str, PendingQueue]
    holders: Mapping[str, dict[str, Item]]
    flavors: Mapping[str, Flavor]
    preemptor: Preemptor
    objection: Callable[[Item], tuple[str, Requeue] | None]
    """Why a workload is not to be tried at all."""
    may_admit: Callable[[], bool] = field(default=lambda: True)
    """Whether admission waits for the pods of earlier workloads."""


@dataclass(slots=True)
class _Entry:
    item: Item
    node: Node
    assignment: Assignment
    targets: list[Target]
    replaced: Item | None


MOST_RESUMED: Final = 32
_WAITING_FOR_PODS: Final = "waiting for all admitted workloads to be in PodsReady condition"


def run(root: Node, world: World) -> tuple[list[Decision], bool]:
    """One round; also whether another one may decide more."""
    return _Round(root, world).run()


class _Round:
    def __init__(self, root: Node, world: World) -> None:
        self._root = root
        self._world = world
        self._decisions: list[Decision] = []
        self._preempted: dict[str, Item] = {}
        self._planned: list[tuple[Node, Usage]] = []
        self._progress = False

    def run(self) -> tuple[list[Decision], bool]:
        entries = list(self._nominate())
        for entry in self._ordered(entries):
            self._process(entry)
        for node, usage in self._planned:
            node.remove(usage)
        return self._decisions, self._progress

    def _nominate(self) -> Iterator[_Entry]:
        world = self._world
        for node in self._root.leaves():
            queue = world.pending.get(node.name)
            item = queue.peek() if queue else None
            if item is None:
                continue
            if (objection := world.objection(item)) is not None:
                self._requeue(item, objection[1], objection[0])
                continue
            if item.tried_generation != node.generation:
                item.resumed = 0
            assignment, targets, replaced = self._assign(item, node)
            item.resumed += 1
            # pod sets that push each other from flavor to flavor would do so for ever
            item.tried = assignment.tried if item.resumed <= MOST_RESUMED else ()
            item.tried_generation = node.generation
            item.message = assignment.message
            yield _Entry(item, node, assignment, targets, replaced)

    def _assign(self, item: Item, node: Node) -> tuple[Assignment, list[Target], Item | None]:
        world = self._world
        rules = world.rules[node.name]
        replaced = world.holders[node.name].get(item.replaces) if item.replaces else None
        own = [Target(replaced, "")] if replaced else []
        fair = isinstance(world.preemptor, FairPreemptor)
        assigner = Assigner(item, node, rules, world.flavors, world.preemptor.oracle, fair=fair, replaced=replaced)
        whole = assigner.assign()
        if whole.mode is Mode.FIT:
            return whole, own, replaced
        targets = self._targets(item, node, rules, whole)
        if targets:
            return whole, own + targets, replaced
        if item.reducible and not replaced:
            fewer: list[tuple[Assignment, list[Target]]] = []

            def attempt(counts: list[int]) -> bool:
                assignment = assigner.assign(counts)
                found = self._targets(item, node, rules, assignment)
                works = assignment.mode is Mode.FIT or bool(found)
                if works:
                    fewer.append((assignment, found))
                return works

            if reduced(item, attempt):
                assignment, targets = fewer[-1]
                return assignment, targets, None
        return whole, [], replaced

    def _targets(self, item: Item, node: Node, rules: QueueRules, assignment: Assignment) -> list[Target]:
        if assignment.mode in (Mode.FIT, Mode.NO_FIT):
            return []
        usage = {fr: amount for fr, amount in assignment.usage.items() if amount}
        frs = frozenset(assignment.needing_preemption())
        return self._world.preemptor.targets(Attempt(item, node, rules, frs, usage))

    def _ordered(self, entries: list[_Entry]) -> Iterator[_Entry]:
        if not isinstance(self._world.preemptor, FairPreemptor):
            entries.sort(key=lambda entry: (entry.assignment.borrow, -entry.item.priority, entry.item.timestamp))
            yield from entries
            return
        waiting = {entry.node.name: entry for entry in entries}
        while waiting:
            if self._root.is_queue:
                yield waiting.pop(self._root.name)
                continue
            contenders = {
                name: Contender(entry.item, entry.node, entry.assignment.usage) for name, entry in waiting.items()
            }
            yield waiting.pop(fairest(self._root, contenders).node.name)

    def _process(self, entry: _Entry) -> None:
        item, node, mode = entry.item, entry.node, entry.assignment.mode
        fits = self._still_fits(entry)
        if mode is Mode.NO_FIT:
            self._requeue(item, Requeue.NO_FIT)
            return
        if mode is not Mode.FIT and not entry.targets:
            # whoever can take its quota back at any time needs no room kept for it
            if self._world.rules[node.name].preemption.reclaim_within_cohort != "Any":
                self._plan(node, _kept_room(entry))
            self._requeue(item, Requeue.NO_CANDIDATES)
            return
        if any(target.item.key in self._preempted for target in entry.targets):
            self._skip(item, "Workload has overlapping preemption targets with another workload")
            return
        if not fits:
            self._skip(item, "Workload no longer fits after processing another workload")
            return
        victims = [target for target in entry.targets if target.item is not entry.replaced]
        self._preempted |= {target.item.key: target.item for target in entry.targets}
        if mode is not Mode.FIT:
            self._plan(node, entry.assignment.usage)
            self._preempt(entry, victims)
            return
        if not self._world.may_admit():
            self._plan(node, entry.assignment.usage)
            item.tried = ()
            self._decisions.append(Pend(item.key, _WAITING_FOR_PODS, "Waiting"))
            self._world.pending[node.name].requeue(item, Requeue.SKIPPED)
            return
        self._admit(entry)

    def _still_fits(self, entry: _Entry) -> bool:
        gone = {**self._preempted, **{target.item.key: target.item for target in entry.targets}}
        if entry.replaced is not None:
            # the usage of a slice is counted on top of the one it replaces, which stays until then
            gone.pop(entry.replaced.key, None)
        for item in gone.values():
            self._world.queues[item.cluster_queue].remove(item.usage)
        fits = all(amount <= max(0, entry.node.available(fr)) for fr, amount in entry.assignment.usage.items())
        for item in gone.values():
            self._world.queues[item.cluster_queue].add(item.usage)
        return fits

    def _admit(self, entry: _Entry) -> None:
        item, node = entry.item, entry.node
        self._world.pending[node.name].remove(item.key)
        item.grants = entry.assignment.grants()
        item.usage = usage_of(item.grants)
        item.evicted, item.pods_ready, item.message, item.tried = False, False, "", ()
        node.add(item.usage)
        self._world.holders[node.name][item.key] = item
        replaces = ""
        if entry.replaced is not None:
            replaces = entry.replaced.key
            node.remove(entry.replaced.usage)
            del self._world.holders[node.name][replaces]
        self._decisions.append(Admit(item.key, node.name, item.grants, replaces))
        self._progress = True

    def _preempt(self, entry: _Entry, victims: list[Target]) -> None:
        item = entry.item
        for target in victims:
            if not target.item.evicted:
                target.item.evicted = True
                self._progress = True
                path = _path(self._world.queues[target.item.cluster_queue])
                self._decisions.append(
                    Evict(target.item.key, target.reason, item.key, item.uid, _path(entry.node), path)
                )
        item.tried = ()
        self._requeue(
            item, Requeue.PENDING_PREEMPTION, f"{item.message}. Pending the preemption of {len(victims)} workload(s)"
        )

    def _skip(self, item: Item, message: str) -> None:
        item.tried = ()
        self._requeue(item, Requeue.SKIPPED, message)

    def _requeue(self, item: Item, reason: Requeue, message: str = "") -> None:
        if message:
            item.message = message
        self._decisions.append(Pend(item.key, item.message))
        self._progress |= self._world.pending[item.cluster_queue].requeue(item, reason)

    def _plan(self, node: Node, usage: Usage) -> None:
        taken = dict(usage)
        node.add(taken)
        self._planned.append((node, taken))


def _kept_room(entry: _Entry) -> Usage:
    node = entry.node
    kept: Usage = {}
    for fr, amount in entry.assignment.usage.items():
        quota, used = node.quota(fr), node.usage.get(fr, 0)
        if entry.assignment.borrow > 0:
            most = amount if quota.borrowing is None else quota.nominal + quota.borrowing - used
            kept[fr] = int(min(amount, most))
        else:
            kept[fr] = int(max(0, min(amount, quota.nominal - used)))
    return kept


def _path(node: Node) -> str:
    names = [node.name, *(ancestor.name for ancestor in node.ancestors())]
    return "/" + "/".join(reversed(names))
