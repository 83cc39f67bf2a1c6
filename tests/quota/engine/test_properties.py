"""What holds whatever happens: random queues, workloads and changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from rayward.kinds.kueue import ClusterQueue, Cohort, Workload
from rayward.kinds.kueue.workload import Admission, PodSetAssignment, WorkloadStatus
from rayward.kube.core.objects import Condition
from rayward.quota.engine.amounts import FlavorResource, texts_of
from rayward.quota.engine.assign import Assigner, Mode
from rayward.quota.engine.cycle import Admit, Evict
from rayward.quota.engine.engine import Engine
from rayward.quota.engine.item import Item
from rayward.quota.engine.tree import Node
from tests.quota.engine.building import Laboratory, at, cluster_queue, cohort, local_queue, pod_set, workload

FLAVORS = ("x", "y")
QUEUES = ("q0", "q1", "q2", "q3")
COHORTS = ("", "C0", "C1", "C2")


@dataclass
class World:
    """The objects as an API server would hold them, and an engine that is told of each change."""

    lab: Laboratory
    cohorts: dict[str, Cohort] = field(default_factory=dict)
    queues: dict[str, ClusterQueue] = field(default_factory=dict)
    workloads: dict[str, Workload] = field(default_factory=dict)
    number: int = 0

    @property
    def engine(self) -> Engine:
        return self.lab.engine

    def put(self, one: ClusterQueue | Cohort) -> None:
        kept: dict[str, Any] = self.queues if isinstance(one, ClusterQueue) else self.cohorts
        kept[one.metadata.name] = one
        self.lab.queues(one)

    def ask(self, one: Workload) -> None:
        self.workloads[f"ns/{one.metadata.name}"] = one
        self.engine.set_workload(one, 0)

    def settle(self) -> None:
        """Decisions are written, and the evicted stop at once."""
        rounds = 0
        while decisions := [one for one in self.engine.run(self.number) if isinstance(one, Admit | Evict)]:
            rounds += 1
            assert rounds < 200, "workloads evict each other for ever"
            for one in decisions:
                before = self.workloads[one.key]
                after = _admitted(before, one, self.number) if isinstance(one, Admit) else _waiting(before)
                self.workloads[one.key] = after
                self.engine.set_workload(after, self.number)
            self.number += 1


def _admitted(before: Workload, decision: Admit, now: int) -> Workload:
    admission = Admission(
        decision.cluster_queue,
        tuple(
            PodSetAssignment(grant.name, dict(grant.flavors), dict(texts_of(grant.requests)), grant.count)
            for grant in decision.grants
        ),
    )
    conditions = tuple(
        Condition(type=kind, status="True", reason=kind, last_transition_time=at(now))
        for kind in ("QuotaReserved", "Admitted")
    )
    return msgspec.structs.replace(before, status=WorkloadStatus(conditions=conditions, admission=admission))


def _waiting(before: Workload) -> Workload:
    return msgspec.structs.replace(before, status=WorkloadStatus())


_limit = st.none() | st.integers(0, 6)


@st.composite
def _quotas(draw: st.DrawFn, *, of_cohort: bool = False) -> dict[str, dict[str, Any]]:
    def quota() -> Any:
        nominal = draw(st.integers(0, 6))
        lending = draw(_limit)
        if lending is not None and not of_cohort:
            lending = min(lending, nominal)
        return (nominal, draw(_limit), lending)

    return {flavor: {"cpu": quota(), "gpu": quota()} for flavor in FLAVORS[: draw(st.integers(1, 2))]}


_within = st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"])
_reclaim = st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any"])


@st.composite
def _steps(draw: st.DrawFn, *, preemption: bool) -> list[tuple[Any, ...]]:
    steps: list[tuple[Any, ...]] = [("queue", name, draw(_queue_specs(preemption=preemption))) for name in QUEUES]
    for _ in range(draw(st.integers(3, 25))):
        what = draw(st.sampled_from(["ask", "ask", "ask", "ask", "finish", "finish", "queue", "cohort", "drop"]))
        if what == "ask":
            counts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))
            shape = [(count, draw(st.integers(0, 3)), draw(st.integers(0, 2))) for count in counts]
            steps.append(("ask", draw(st.sampled_from(QUEUES)), shape, draw(st.integers(0, 2))))
        elif what in ("finish", "drop"):
            steps.append((what, draw(st.integers(0, 20))))
        elif what == "queue":
            steps.append(("queue", draw(st.sampled_from(QUEUES)), draw(_queue_specs(preemption=preemption))))
        else:
            name = draw(st.sampled_from(COHORTS[1:]))
            above = COHORTS[: COHORTS.index(name)]
            steps.append(("cohort", name, draw(st.sampled_from(above)), draw(_quotas(of_cohort=True))))
    return steps


@st.composite
def _queue_specs(draw: st.DrawFn, *, preemption: bool) -> tuple[str, dict[str, Any], dict[str, Any]]:
    spec: dict[str, Any] = {"queueingStrategy": draw(st.sampled_from(["BestEffortFIFO", "StrictFIFO"]))}
    if preemption:
        spec["preemption"] = {"withinClusterQueue": draw(_within), "reclaimWithinCohort": draw(_reclaim)}
    if draw(st.booleans()):
        spec["flavorFungibility"] = {"whenCanBorrow": "TryNextFlavor"}
    return draw(st.sampled_from(COHORTS)), draw(_quotas()), spec


def _without_limits(quotas: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {flavor: {name: value[0] for name, value in amounts.items()} for flavor, amounts in quotas.items()}


def _play(world: World, step: tuple[Any, ...]) -> None:
    match step:
        case ("queue", name, (group, quotas, spec)):
            world.put(cluster_queue(name, quotas if group else _without_limits(quotas), group, **spec))
        case ("cohort", name, parent, quotas):
            world.put(cohort(name, parent, quotas if parent else _without_limits(quotas)))
        case ("ask", queue, shape, priority):
            world.number += 1
            pods = [pod_set(f"p{i}", n, {"cpu": cpu, "gpu": gpu}) for i, (n, cpu, gpu) in enumerate(shape)]
            world.ask(workload(f"w{world.number}", queue, pods, priority=priority, created=world.number))
        case ("finish", index):
            held = [key for key, one in world.workloads.items() if one.reserved]
            if held:
                del world.workloads[key := held[index % len(held)]]
                world.engine.remove_workload(key)
        case ("drop", index) if world.workloads:
            keys = list(world.workloads)
            del world.workloads[key := keys[index % len(keys)]]
            world.engine.remove_workload(key)
        case _:
            pass


def _reborn(world: World) -> Engine:
    """An engine that starts from the objects as they are."""
    lab = Laboratory(*FLAVORS, fair=world.engine.settings.fair_sharing)
    for one in world.workloads.values():
        lab.engine.set_workload(one, 0)
    lab.queues(*world.cohorts.values(), *world.queues.values())
    return lab.engine


def _usages(engine: Engine) -> dict[str, dict[Any, int]]:
    nodes = [*engine.forest.queues.values(), *engine.forest.cohorts.values()]
    return {repr(node): {fr: amount for fr, amount in node.usage.items() if amount} for node in nodes}


def _nobody_to_evict(item: Item, fr: FlavorResource, amount: int) -> tuple[Mode, int]:
    return Mode.NO_CANDIDATES, 0


def _mode(engine: Engine, queue: str, item: Item) -> Mode:
    node, rules = engine.forest.queues[queue], engine.inventory.rules[queue]
    item.tried = ()
    return Assigner(item, node, rules, engine.inventory.flavors, _nobody_to_evict).assign().mode


def _room_is_kept(engine: Engine, name: str) -> bool:
    """Whether another strict queue of its cohorts keeps room for its first, which will fit when others end."""
    leaves = engine.forest.queues[name].root.leaves()
    strict = [node.name for node in leaves if node.name != name and engine.pending[node.name].strict]
    return any(_mode(engine, other, first) for other in strict for first in engine.pending[other].ordered()[:1])


def _over(node: Node) -> dict[Any, int]:
    """Where more is used than there is."""
    return {fr: used for fr, used in node.usage.items() if node.available(fr) < 0}


@settings(max_examples=60, deadline=None)
@given(_steps(preemption=False))
def test_without_preemption_all_that_fits_is_admitted_and_nothing_else(steps: list[tuple[Any, ...]]) -> None:
    world = World(Laboratory(*FLAVORS))
    for step in steps:
        before = {key for key, one in world.workloads.items() if one.reserved}
        over = {name: _over(node) for name, node in world.engine.forest.queues.items()}
        _play(world, step)
        world.settle()
        engine = world.engine
        admitted = {key for key, one in world.workloads.items() if one.reserved} - before
        if admitted and step[0] in ("ask", "finish", "drop"):
            for name, node in engine.forest.queues.items():
                assert _over(node).keys() <= over[name].keys(), "quota was given that was not there"
        for name, queue in engine.pending.items():
            if _room_is_kept(engine, name):
                continue
            for item in queue.ordered()[:1] if queue.strict else list(queue):
                assert _mode(engine, name, item) is not Mode.FIT, f"{item.key} fits and waits"


@settings(max_examples=60, deadline=None)
@given(_steps(preemption=True), st.booleans())
def test_what_was_told_bit_by_bit_equals_what_is_told_at_once(steps: list[tuple[Any, ...]], fair: bool) -> None:
    world = World(Laboratory(*FLAVORS, fair=fair))
    for step in steps:
        _play(world, step)
        world.settle()
        reborn = _reborn(world)
        assert _usages(reborn) == _usages(world.engine)
        waiting = {name: sorted(item.key for item in queue) for name, queue in world.engine.pending.items()}
        assert {name: sorted(item.key for item in queue) for name, queue in reborn.pending.items()} == waiting


@settings(max_examples=40, deadline=None)
@given(_steps(preemption=True), st.booleans())
def test_deciding_leaves_usage_to_be_the_sum_of_what_is_held(steps: list[tuple[Any, ...]], fair: bool) -> None:
    """Whatever was tried, simulated and kept for somebody is undone."""
    world = World(Laboratory(*FLAVORS, fair=fair))
    for step in steps:
        _play(world, step)
        world.engine.run(0)
        for name, node in world.engine.forest.queues.items():
            held: dict[Any, int] = {}
            for item in world.engine.holders[name].values():
                for fr, amount in item.usage.items():
                    held[fr] = held.get(fr, 0) + amount
            used = {fr: amount for fr, amount in node.usage.items() if amount}
            assert used == {fr: amount for fr, amount in held.items() if amount}


def test_a_local_queue_is_needed() -> None:
    lab = Laboratory()
    lab.engine.set_cluster_queue(cluster_queue("a", {"default": {"cpu": 1}}))
    lab.workloads(workload("w", "elsewhere", {"cpu": 1}))
    assert lab.run().decisions == []
    lab.engine.set_local_queue(local_queue("elsewhere", "a"))
    assert list(lab.run().admitted) == ["w"]
