"""A generation that was given up is not started again by anything but a new spec."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.core.meta import condition_of
from rayward.kube.core.objects import Condition
from rayward.operator.service.conditions import PROGRESSING, Conditions, Facts, conditions, failure_of
from rayward.operator.service.state import Decision, Failure, Policy, Release
from tests.operator.service.world import A, B, World, serving

_REJECTED = Failure("ValidationFailed", "metadata.annotations[rayward.dev/drain-timeout]: bogus")
_SOON = st.sampled_from([timedelta(seconds=1), timedelta(minutes=3)])
_RESTARTED = st.sampled_from(["", "noon", "one"])
_VALID = st.builds(
    Policy,
    restarted_at=_RESTARTED,
    paused=st.booleans(),
    promote=st.sampled_from(["", "true", "c1", "c2"]),
    abort=st.sampled_from(["", "true", "c1", "c2"]),
    drain_timeout=st.sampled_from([timedelta(seconds=1), timedelta(minutes=10)]),
    progress_deadline=st.sampled_from([timedelta(seconds=8), timedelta(hours=1)]),
    initializing_timeout=st.sampled_from([None, timedelta(seconds=3), timedelta(hours=1)]),
    new_cluster_for_config=st.booleans(),
    code_in_place=st.booleans(),
    wait_for_workers=st.booleans(),
    scheduling_timeout=_SOON,
    start_timeout=_SOON,
)
_IN_PLACE = st.builds(
    Policy,
    in_place_only=st.just(True),
    rolls_workers=st.booleans(),
    scheduling_timeout=_SOON,
    start_timeout=_SOON,
    restarted_at=_RESTARTED,
)
"""With upgradeStrategy.type None, which is of the spec: no edit of annotations goes there or leaves it."""
_EDITS = st.lists(st.tuples(_VALID | st.none(), st.integers(1, 6)), max_size=8)
"""Annotations that can be read, or None for such as cannot; and how many reconciles come before the next edit."""


class _Reported:
    """A world whose decisions remember nothing but what was written to the status."""

    def __init__(self, world: World, generation: int = 2) -> None:
        self.world = world
        self.goal = world.goal
        self.generation = generation
        self.status: Conditions = ()

    def annotate(self, policy: Policy | None) -> None:
        self.world.goal = None if policy is None else self.goal
        self.world.policy = policy or self.world.policy

    def step(self) -> Decision:
        world = self.world
        world.failure = failure_of(self.status, self.generation)
        decision = world.step()
        rejected = _REJECTED if world.goal is None else None
        facts = Facts(self.generation, int(bool(world.serving)), decision, rejected=rejected)
        if not decision.switch_to:
            # Of a switch the next reconcile reports.
            self.status = conditions(self.status, facts, world.now)
        return decision


_IN_TIME = Policy()
_SOON_LATE = Policy(progress_deadline=timedelta(seconds=8))
_OWN_CLUSTER = Policy(new_cluster_for_config=True)
_ROLLING = Policy(in_place_only=True, rolls_workers=True, progress_deadline=timedelta(seconds=8))
_IMPATIENT = Policy(scheduling_timeout=timedelta(seconds=2), start_timeout=timedelta(seconds=3))
_KEPT = dataclasses.replace(_IMPATIENT, in_place_only=True)


def _given_up(goal: Release, policy: Policy, reason: str) -> _Reported:
    world = serving(dataclasses.replace(A, code=_FORMER))
    world.broken, world.stuck = {"bad"}, {"cluster-c"}
    world.starved = {"huge": "no Ray node has room", "hanging": ""}
    world.edit(goal)
    world.policy = policy
    found = _Reported(world)
    for _ in range(4):
        found.step()
    if reason == "Aborted":
        world.policy = dataclasses.replace(policy, abort="true")
    for _ in range(12):
        found.step()
    failure = failure_of(found.status, 2)
    assert failure is not None
    assert failure.reason == reason
    return found


_FORMER = frozenset({("route /", "app shop:app")})
_OTHER = frozenset({("route /", "app other:app")})


@given(
    how=st.sampled_from([
        (Release("cluster-c", "config-1"), _IN_TIME, "Aborted"),
        (Release("cluster-c", "config-1"), _SOON_LATE, "ProgressDeadlineExceeded"),
        (Release("cluster-b", "bad"), _IN_TIME, "ServeDeployFailed"),
        (Release("cluster-a", "bad"), _IN_TIME, "ServeDeployFailed"),
        (Release("cluster-a", "bad"), _OWN_CLUSTER, "ServeDeployFailed"),
        (Release("cluster-a", "bad", _OTHER), _IN_TIME, "ServeDeployFailed"),
        (Release("cluster-a", "huge"), _IMPATIENT, "ReplicasUnschedulable"),
        (Release("cluster-a", "hanging"), _IMPATIENT, "ReplicasNotStarted"),
    ]),
    edits=_EDITS,
)  # fmt: skip
def test_no_sequence_of_annotation_edits_starts_it_again(
    how: tuple[Release, Policy, str], edits: list[tuple[Policy | None, int]]
) -> None:
    _is_left_alone(how, edits, Policy())


@given(
    how=st.sampled_from([
        (Release("cluster-a", "bad"), _KEPT, "ServeDeployFailed"),
        (Release("cluster-a", "bad", _OTHER), _KEPT, "ServeDeployFailed"),
        (Release("cluster-a", "huge"), _KEPT, "ReplicasUnschedulable"),
        (Release("cluster-a", "hanging"), _KEPT, "ReplicasNotStarted"),
        (Release("cluster-b", "config-1"), _ROLLING, "ProgressDeadlineExceeded"),
    ]),
    edits=st.lists(st.tuples(_IN_PLACE | st.none(), st.integers(1, 6)), max_size=8),
)  # fmt: skip
def test_nor_where_each_change_is_in_place(
    how: tuple[Release, Policy, str], edits: list[tuple[Policy | None, int]]
) -> None:
    _is_left_alone(how, edits, Policy(in_place_only=True))


def _is_left_alone(how: tuple[Release, Policy, str], edits: list[tuple[Policy | None, int]], last: Policy) -> None:
    """Nothing is created, rolled or sent for it any more; a config that runs may be sent again."""
    found = _given_up(*how)
    failure, sent, made = failure_of(found.status, 2), len(found.world.sent), found.world.made
    for policy, steps in (*edits, (last, 3)):
        found.annotate(policy)
        for _ in range(steps):
            decision = found.step()
            assert (decision.create, decision.roll) == (None, "")
    assert (found.world.serving, found.world.made) == ("c1", made)
    assert {config for _, config in found.world.sent[sent:]} <= {"config-1"}
    assert failure_of(found.status, 2) == failure
    progressing = condition_of(found.status, PROGRESSING)
    assert progressing is not None
    assert failure is not None
    assert progressing.reason == failure.reason


@given(edits=_EDITS)
def test_a_first_release_that_timed_out_is_not_tried_again_either(edits: list[tuple[Policy | None, int]]) -> None:
    world = World(B, Policy(initializing_timeout=timedelta(seconds=5)), stuck={"cluster-b"})
    found = _Reported(world)
    for _ in range(10):
        found.step()
    assert not world.clusters
    for policy, steps in (*edits, (Policy(), 3)):
        found.annotate(policy)
        for _ in range(steps):
            found.step()
    assert world.made == 1


def test_a_new_generation_is_tried() -> None:
    found = _given_up(Release("cluster-b", "bad"), _IN_TIME, "ServeDeployFailed")
    found.annotate(None)
    found.step()

    found.generation, found.world.goal = 3, B
    for _ in range(10):
        found.step()

    assert found.world.clusters[found.world.serving].cluster_hash == "cluster-b"
    assert failure_of(found.status, 3) is None


def test_a_failure_that_an_older_rayward_wrote_is_known() -> None:
    older = Condition(
        type=PROGRESSING, status="False", reason="Aborted", message="it was aborted", observed_generation=2
    )

    assert failure_of((older,), 2) == Failure("Aborted", "it was aborted")
    assert failure_of((older,), 3) is None


def test_a_first_release_that_is_late_and_comes_up_all_the_same_has_not_failed() -> None:
    world = World(B, Policy(progress_deadline=timedelta(seconds=5)), stuck={"cluster-b"})
    found = _Reported(world)
    for _ in range(10):
        found.step()
    assert failure_of(found.status, 2) is not None

    world.stuck = set()
    for _ in range(8):
        found.step()

    assert world.serving == "c1"
    assert failure_of(found.status, 2) is None
    assert dataclasses.asdict(found.step())["failure"] is None
