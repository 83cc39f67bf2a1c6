"""Random services, releases, jobs, queues, edits, preemptions and crashes: nothing runs ungated, nothing is lost."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.quota.gate.world import NAMES, GateWorld

TestGateWorld = GateWorld.TestCase
TestGateWorld.settings = settings(max_examples=20, stateful_step_count=30, deadline=None)


def _step(world: GateWorld, chance: random.Random) -> None:
    """Chance with weights that let the world come far: what users do is rarer than what controllers do."""
    name = chance.choice(NAMES)
    sizes = {"head": chance.randint(1, 2), "workers": chance.randint(0, 3)}
    urgency, queue = chance.choice((0, 0, 9)), chance.choice("qqqr")
    happens: list[tuple[int, Callable[[], Any]]] = [
        (6, lambda: world.create(name=name, priority=urgency, queue=queue, **sizes)),
        (4, lambda: world.edit(name=name, **sizes)),
        (2, lambda: world.delete(name=name, orphans=chance.random() < 0.3)),
        (1, lambda: world.set_quota(queue=chance.choice("qr"), cpu=chance.choice((0, 2, 3, 4)))),
        (4, lambda: world.promote(name=name)),
        (16, lambda: world.gate(name=name, most=chance.choice((1, 2, 99, 99)), cached=chance.random() < 0.5)),
        (4, lambda: world.cache_pods()),
        (
            1,
            lambda: world.stop(
                queue=chance.choice("qr"), policy=chance.choice(("None", "None", "Hold", "HoldAndDrain"))
            ),
        ),
        (10, lambda: world.engine(dies=chance.random() < 0.2)),
        (4, lambda: world.job()),
        (8, lambda: world.refresh(name=name)),
        (10, lambda: world.operate(name=name)),
        (4, lambda: world.pod_ends() if any(pod.leaving for pod in world.pods) else None),
    ]
    (act,) = chance.choices([each for _, each in happens], [weight for weight, _ in happens])
    act()


def _walk(seed: int, steps: int) -> None:
    world, chance = GateWorld(), random.Random(seed)
    for _ in range(steps):
        _step(world, chance)
        world.quota_covers_what_runs()
        world.no_more_is_reserved_than_there_is()
    world.teardown()


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(10))
def test_quota_covers_what_runs_for_100_000_steps(part: int) -> None:
    """Ten times ten thousand, and a thousand worlds that Hypothesis draws."""
    _walk(1_000 + part, 10_000)
    run_state_machine_as_test(GateWorld, settings=settings(max_examples=100, stateful_step_count=100, deadline=None))


@pytest.mark.parametrize("seed", range(24))
def test_quota_covers_what_runs_on_long_walks(seed: int) -> None:
    _walk(seed, 1000)


def test_an_operator_that_lags_behind_makes_no_pod_beyond_quota() -> None:
    world = GateWorld()
    world.create(name="a", head=1, workers=2, priority=0)
    world.progress(name="a", operated=False)
    world.edit(name="a", head=1, workers=0)
    for _ in range(3):
        world.gate(name="a", most=99)
    world.operate(name="a")
    world.quota_covers_what_runs()
    world.teardown()


def test_an_operator_that_has_not_seen_an_eviction_makes_no_pod_after_its_quota_was_given_away() -> None:
    world = GateWorld()
    world.set_quota(queue="q", cpu=3)
    world.set_quota(queue="r", cpu=0)
    world.create(name="a", head=1, workers=2, priority=0)
    world.progress(name="a", operated=False)
    world.create(name="b", head=1, workers=2, priority=9)
    for _ in range(3):
        world.gate(name="b")
        world.engine()
        world.gate(name="a")
    assert any(one.evicted for one in world.workloads.values())
    world.operate(name="a")
    world.quota_covers_what_runs()
    world.teardown()
