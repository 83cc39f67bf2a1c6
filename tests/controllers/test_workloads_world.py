"""Rollouts in a simulated cluster, with a controller that may be killed between any two writes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from rayward.local.controllers.workloads.deployment import SeenDeployment
from rayward.local.controllers.workloads.replicaset import SeenReplicaSet
from rayward.local.controllers.workloads.rollout import Decision, decide

Object = dict[str, Any]
START = datetime(2026, 1, 1, tzinfo=UTC)


class World:
    """One deployment, its replica sets, and how many of their pods are ready."""

    def __init__(self, replicas: int, surge: int | str, unavailable: int | str, kind: str = "RollingUpdate") -> None:
        strategy: Object = {"type": kind}
        if kind == "RollingUpdate":
            strategy["rollingUpdate"] = {"maxSurge": surge, "maxUnavailable": unavailable}
        self.spec: Object = {
            "replicas": replicas,
            "strategy": strategy,
            "selector": {"matchLabels": {"app": "a"}},
            "revisionHistoryLimit": 2,
            "progressDeadlineSeconds": 600,
            "template": self.template("1"),
        }
        self.status: Object = {}
        self.generation = 1
        self.sets: dict[str, Object] = {}
        self.now = START

    @staticmethod
    def template(image: str) -> Object:
        return {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": image}]}}

    @property
    def owner(self) -> SeenDeployment:
        metadata = {"name": "d", "namespace": "n", "uid": "u", "generation": self.generation}
        return msgspec.convert({"metadata": metadata, "spec": self.spec, "status": self.status}, SeenDeployment)

    @property
    def seen(self) -> list[SeenReplicaSet]:
        return [msgspec.convert(each, SeenReplicaSet) for each in self.sets.values()]

    @property
    def pods(self) -> int:
        return sum(each["spec"]["replicas"] for each in self.sets.values())

    @property
    def ready(self) -> int:
        return sum(each["status"]["availableReplicas"] for each in self.sets.values())

    def change(self, **spec: Any) -> None:
        self.spec |= spec
        self.generation += 1

    def control(self, writes: int = 1_000) -> Decision:
        """Decide and write; killed after so many writes."""
        decision = decide(self.owner, self.seen, self.now)
        if decision.create is not None and writes > 0:
            made = decision.create
            made["metadata"]["creationTimestamp"] = self.now.strftime("%Y-%m-%dT%H:%M:%SZ")
            self.sets[made["metadata"]["name"]] = {**made, "status": {"availableReplicas": 0, "replicas": 0}}
            writes -= 1
        for change in decision.change[: max(0, writes)]:
            found = self.sets[change.name]
            found["spec"]["replicas"] = change.replicas
            found["metadata"]["annotations"] = change.annotations
            found["status"]["availableReplicas"] = min(found["status"]["availableReplicas"], change.replicas)
        writes -= len(decision.change)
        for gone in decision.delete[: max(0, writes)]:
            del self.sets[gone.metadata.name]
        if writes > len(decision.delete):
            self.status = msgspec.to_builtins(decision.status)
        self.now += timedelta(seconds=1)
        return decision

    def work(self, most: int) -> None:
        """The node gets up to so many pods ready, and replica sets count what they have."""
        for each in self.sets.values():
            status, wanted = each["status"], each["spec"]["replicas"]
            more = min(most, wanted - status["availableReplicas"])
            most -= more
            ready = status["availableReplicas"] + more
            each["status"] = {"availableReplicas": ready, "readyReplicas": ready, "replicas": wanted}

    def settle(self) -> None:
        for _ in range(60):
            self.control()
            self.work(100)


_AMOUNTS = st.one_of(st.integers(0, 4), st.sampled_from(["0%", "25%", "100%"]))
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("control"), st.integers(0, 4)),
        st.tuples(st.just("work"), st.integers(1, 3)),
        st.tuples(st.just("image"), st.integers(1, 4)),
    ),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), _AMOUNTS, _AMOUNTS, _STEPS)
def test_a_rolling_update_keeps_its_bounds_and_ends(
    replicas: int, surge: int | str, unavailable: int | str, steps: list[tuple[str, int]]
) -> None:
    world = World(replicas, surge, unavailable)
    world.settle()
    bounds = world.owner.spec
    for step, number in steps:
        if step == "image":
            world.change(template=World.template(str(number)))
        elif step == "work":
            world.work(number)
        else:
            world.control(number)
        assert world.pods <= replicas + bounds.surge
        assert world.ready >= replicas - bounds.unavailable
    world.settle()
    left = [each for each in world.seen if each.spec.replicas]
    assert [each.spec.replicas for each in left] == [replicas]
    assert left[0].spec.template["spec"] == world.spec["template"]["spec"]
    assert len(world.sets) <= 3, "the new one, and two of history"
    assert (world.status["updatedReplicas"], world.status["availableReplicas"]) == (replicas, replicas)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.integers(0, 12), st.integers(1, 4), st.integers(0, 3))
def test_scaling_in_the_middle_of_a_rollout_shares_out_and_ends(
    before: int, after: int, surge: int, progress: int
) -> None:
    world = World(before, surge, 0)
    world.settle()
    world.change(template=World.template("2"))
    for _ in range(progress):
        world.control()
        world.work(1)
    world.change(replicas=after)
    world.control()
    assert world.pods <= (after + surge if after else 0)
    world.settle()
    assert world.pods == after


def test_recreating_never_has_pods_of_two_templates() -> None:
    world = World(3, 0, 0, "Recreate")
    world.settle()
    world.change(template=World.template("2"))
    for _ in range(10):
        world.control()
        busy = [each for each in world.seen if each.spec.replicas or each.status.replicas]
        assert len(busy) <= 1
        world.work(2)
    assert [each.spec.template["spec"]["containers"][0]["image"] for each in world.seen if each.spec.replicas] == ["2"]
