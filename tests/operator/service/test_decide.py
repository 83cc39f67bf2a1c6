"""A service reaches its goal step by step, and never stops answering on the way."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayward.operator.service.decide import decide
from rayward.operator.service.serveconfig import deploy_key
from rayward.operator.service.state import (
    DEPLOY_FAILED,
    RUNNING,
    Application,
    ChildCluster,
    Policy,
    Release,
    ServeState,
)
from tests.operator.service.world import A, B, C, World, serving


def test_the_first_release_gets_a_cluster_its_config_and_then_the_traffic() -> None:
    world = World(A)

    decision = world.settle()

    assert world.switches == ["c1"]
    assert world.sent == [("cluster-a", "config-1")]
    assert decision.readiness
    assert decision.readiness.reason == "ApplicationsRunning"
    assert decision.pending is None


def test_a_changed_config_is_sent_to_the_cluster_that_serves() -> None:
    world = serving()

    world.edit(Release("cluster-a", "config-2"))
    world.settle()

    assert list(world.clusters) == ["c1"]
    assert world.sent[-1] == ("cluster-a", "config-2")
    assert world.clusters["c1"].good_config == "config-2"


def test_a_changed_config_gets_a_cluster_of_its_own_where_the_annotation_says_so() -> None:
    world = serving(policy=Policy(new_cluster_for_config=True))

    world.edit(Release("cluster-a", "config-2"))
    world.settle(10)

    assert world.serving == "c2"
    assert world.clusters["c1"].config == "config-1"
    assert world.sent == [("cluster-a", "config-1"), ("cluster-a", "config-2")]

    world.edit(Release("cluster-a", "config-1"))
    world.settle(5)
    assert world.switches == ["c1", "c2", "c1"], "inside the delay the return is a switch"
    assert world.made == 2


def test_sizes_beside_a_config_that_gets_a_cluster_of_its_own_are_for_that_cluster() -> None:
    world = serving(policy=Policy(new_cluster_for_config=True))
    world.edit(Release("cluster-a", "config-2"))

    made = world.step()
    assert (made.create, made.scale) == (Release("cluster-a", "config-2"), "")
    assert world.step().scale == "c2"


def test_a_bad_config_for_a_cluster_of_its_own_never_reaches_the_one_that_serves() -> None:
    world = serving(policy=Policy(new_cluster_for_config=True))
    world.broken.add("config-2")

    world.edit(Release("cluster-a", "config-2"))
    decision = world.settle()

    assert decision.failure
    assert list(world.clusters) == ["c1"]
    assert world.clusters["c1"].config == "config-1"
    assert world.switches == ["c1"]


def test_a_second_config_in_the_middle_goes_to_the_pending_cluster() -> None:
    world = serving(policy=Policy(new_cluster_for_config=True))
    world.edit(Release("cluster-a", "config-2"))
    world.step()

    world.edit(Release("cluster-a", "config-3"))
    world.settle(10)

    assert world.made == 2
    assert (world.serving, world.clusters["c2"].config) == ("c2", "config-3")


def test_workers_are_given_to_the_cluster_that_serves_and_it_is_done_when_they_are_rolled() -> None:
    world = serving(policy=Policy(in_place_only=True, rolls_workers=True))
    world.edit(B)
    decision = world.step()
    assert (decision.roll, decision.scale, decision.drifted) == ("c1", "", False)
    assert decision.readiness is not None
    assert decision.readiness.reason == "RollingWorkers"
    decision = world.settle(5)
    assert (decision.roll, decision.readiness and decision.readiness.reason) == ("", "RollingWorkers")
    world.clusters["c1"] = dataclasses.replace(world.clusters["c1"], rolling_since=None)
    decision = world.step()
    assert (decision.readiness and decision.readiness.reason, world.made) == ("ApplicationsRunning", 1)


def test_a_roll_without_progress_is_given_up_and_stays_so_until_it_is_over() -> None:
    world = serving(policy=Policy(in_place_only=True, rolls_workers=True, progress_deadline=timedelta(seconds=9)))
    world.edit(B)
    assert world.settle(6).failure is None
    decision = world.settle(10)
    assert decision.failure is not None
    assert decision.failure.reason == "ProgressDeadlineExceeded"
    assert world.settle(3).failure is not None
    world.clusters["c1"] = dataclasses.replace(world.clusters["c1"], rolling_since=None)
    assert world.step().failure is None, "it came up after all"


def test_a_config_that_was_not_sent_yet_is_not_available() -> None:
    world = serving()

    world.edit(Release("cluster-a", "config-2"))
    decision = world.step()

    assert decision.readiness
    assert decision.readiness.reason == "ConfigNotSent"


def test_a_changed_cluster_is_made_beside_the_old_one_which_goes_after_its_delay() -> None:
    world = serving()

    world.edit(B)
    world.settle(10)
    assert world.serving == "c2"
    assert set(world.clusters) == {"c1", "c2"}

    world.settle(65)
    assert set(world.clusters) == {"c2"}


def test_an_old_cluster_with_requests_in_flight_stays_until_they_are_answered() -> None:
    world = serving(policy=Policy(deletion_delay=timedelta(0)))
    world.clusters["c1"] = dataclasses.replace(world.clusters["c1"], in_flight=True)

    world.edit(B)
    world.settle(30)
    assert "c1" in world.clusters

    world.clusters["c1"] = dataclasses.replace(world.clusters["c1"], in_flight=False)
    world.settle(2)
    assert set(world.clusters) == {"c2"}


def test_the_drain_has_an_end() -> None:
    world = serving(policy=Policy(deletion_delay=timedelta(0), drain_timeout=timedelta(seconds=20)))
    world.clusters["c1"] = dataclasses.replace(world.clusters["c1"], in_flight=True)

    world.edit(B)
    world.settle(60)

    assert set(world.clusters) == {"c2"}


def test_a_revert_in_the_middle_removes_the_pending_cluster_at_once() -> None:
    world = serving()
    world.edit(B)
    world.step()
    assert set(world.clusters) == {"c1", "c2"}

    world.edit(A)
    world.step()

    assert set(world.clusters) == {"c1"}
    assert world.switches == ["c1"]


def test_a_second_edit_in_the_middle_replaces_the_pending_cluster_at_once() -> None:
    world = serving()
    world.edit(B)
    world.step()

    world.edit(C)
    world.step()
    assert {cluster.cluster_hash for cluster in world.clusters.values()} == {"cluster-a", "cluster-c"}

    world.settle(10)
    assert world.clusters[world.serving].cluster_hash == "cluster-c"


def test_a_return_inside_the_delay_is_a_switch_and_no_new_cluster() -> None:
    world = serving()
    world.edit(B)
    world.settle(10)

    world.edit(A)
    world.settle(5)

    assert world.switches == ["c1", "c2", "c1"]
    assert world.made == 2
    assert world.clusters["c1"].delete_at is None
    assert world.clusters["c2"].delete_at is not None


def test_a_release_that_fails_to_deploy_is_removed_and_not_tried_again() -> None:
    world = serving()
    world.broken.add("config-bad")

    world.edit(Release("cluster-b", "config-bad"))
    decision = world.settle(30)

    assert set(world.clusters) == {"c1"}
    assert world.serving == "c1"
    assert world.made == 2
    assert decision.failure
    assert decision.failure.reason == "ServeDeployFailed"
    assert "no such module" in decision.failure.message
    assert world.sent[-1] == ("cluster-b", "config-bad")


def test_a_bad_config_for_the_cluster_that_serves_is_taken_back() -> None:
    world = serving()
    world.broken.add("config-bad")

    world.edit(Release("cluster-a", "config-bad"))
    decision = world.settle(20)

    assert world.sent[-2:] == [("cluster-a", "config-bad"), ("cluster-a", "config-1")]
    assert decision.failure
    assert decision.failure.reason == "ServeDeployFailed"
    assert world.clusters["c1"].config == "config-1"


def test_a_bad_config_is_taken_back_by_the_next_operator_too_when_only_its_failure_was_told() -> None:
    world = serving()
    world.broken.add("config-bad")
    world.edit(Release("cluster-a", "config-bad"))
    told = world.step()
    while told.failure is None:
        told = world.step()
    cluster = world.clusters["c1"]
    world.clusters["c1"] = dataclasses.replace(cluster, config="config-bad")

    world.settle(5)

    assert world.clusters["c1"].config == "config-1"
    assert world.failure == told.failure


def test_a_config_that_is_asked_for_again_before_its_rollback_was_sent_is_not_judged_by_what_it_did_before() -> None:
    world = serving()
    active = world.clusters["c1"]
    failed = ServeState("", (Application("app", DEPLOY_FAILED, "no such module"),))
    world.clusters["c1"] = dataclasses.replace(active, deployed=deploy_key("config-2", 0), serve=failed)
    again = dataclasses.replace(A, config="config-2")
    held = decide(dataclasses.replace(world.state(), desired=again), world.now)
    assert held.annotate == ()
    assert [target.config for target in held.serve_configs] == ["config-1"]
    assert held.failure is None
    assert held.readiness is not None
    assert held.readiness.reason == "ConfigNotSent"

    world.clusters["c1"] = dataclasses.replace(active, deployed=deploy_key("config-1", 0))
    world.edit(again)
    assert world.settle().failure is None
    assert world.clusters["c1"].good_config == "config-2"


def test_a_cluster_that_makes_no_progress_is_given_up_at_the_deadline() -> None:
    world = serving(policy=Policy(progress_deadline=timedelta(minutes=5)))
    world.stuck.add("cluster-b")

    world.edit(B)
    world.settle(8, seconds=30)
    assert set(world.clusters) == {"c1", "c2"}

    decision = world.settle(8, seconds=30)
    assert set(world.clusters) == {"c1"}
    assert decision.failure
    assert decision.failure.reason == "ProgressDeadlineExceeded"


def test_a_pending_cluster_that_is_suspended_waits_without_a_deadline() -> None:
    world = serving(policy=Policy(progress_deadline=timedelta(minutes=5)))
    world.edit(B)
    world.step()
    world.clusters["c2"] = dataclasses.replace(world.clusters["c2"], suspended=True, head_ready=False, serve=None)

    decision = world.settle(30, seconds=60)
    assert decision.readiness
    assert decision.readiness.reason == "ClusterSuspended"

    world.clusters["c2"] = dataclasses.replace(world.clusters["c2"], suspended=False)
    world.settle(10)
    assert world.serving == "c2"


def test_a_first_release_that_fails_keeps_its_cluster_for_a_better_config() -> None:
    world = World(Release("cluster-a", "config-bad"), broken={"config-bad"})

    decision = world.settle()
    assert set(world.clusters) == {"c1"}
    assert decision.failure
    assert decision.failure.reason == "ServeDeployFailed"

    world.edit(A)
    world.settle()
    assert world.serving == "c1"
    assert world.made == 1


def test_an_initialising_timeout_recovers_when_the_spec_does() -> None:
    world = World(A, Policy(initializing_timeout=timedelta(seconds=30)), stuck={"cluster-a"})
    decision = world.settle()
    assert not world.clusters
    assert decision.failure
    assert decision.failure.reason == "InitializingTimeout"
    assert decision.failure.message.startswith(
        "RayService failed to become ready within the configured timeout of 30 s: "
    )

    world.edit(B)
    world.settle()
    assert world.clusters[world.serving].cluster_hash == "cluster-b"


def test_an_initialising_timeout_counts_from_the_release_of_a_cluster_that_was_held() -> None:
    world = World(A, Policy(initializing_timeout=timedelta(seconds=30)))
    world.step()
    world.clusters["c1"] = dataclasses.replace(world.clusters["c1"], suspended=True, released=None)
    world.settle(seconds=60)
    assert list(world.clusters) == ["c1"]

    world.clusters["c1"] = dataclasses.replace(world.clusters["c1"], suspended=False, released=world.now)
    world.settle(10)
    assert world.serving == "c1"


def test_a_first_release_that_is_late_is_told_and_stays() -> None:
    world = World(A, Policy(progress_deadline=timedelta(seconds=30)), stuck={"cluster-a"})

    decision = world.settle()

    assert decision.failure
    assert decision.failure.reason == "ProgressDeadlineExceeded"
    assert list(world.clusters) == ["c1"]


def test_a_cluster_that_is_taken_back_again_begins_anew() -> None:
    world = serving(policy=Policy(deletion_delay=timedelta(hours=9)))
    for goal in (B, A, B, A):
        world.clusters = {name: dataclasses.replace(found, serve=None) for name, found in world.clusters.items()}
        world.now += timedelta(hours=1)
        world.edit(goal)
        assert world.step().failure is None
        world.clusters = {name: _asked(found) for name, found in world.clusters.items()}
        world.settle(5)
        assert world.clusters[world.serving].cluster_hash == goal.cluster_hash
    assert world.made == 2


def _asked(cluster: ChildCluster) -> ChildCluster:
    return dataclasses.replace(cluster, serve=ServeState(cluster.config, (Application("app", RUNNING),)), endpoints=1)


def test_what_fails_in_a_circle_is_late_all_the_same() -> None:
    world = serving(policy=Policy(progress_deadline=timedelta(minutes=5)))
    world.edit(B)
    decision = world.step()
    for pods in [0, 1, 2, 1] * 10:
        world.clusters["c2"] = dataclasses.replace(
            world.clusters["c2"], head_ready=pods > 0, ready_pods=pods, serve=None, endpoints=0
        )
        decision = decide(world.state(), world.now)
        if decision.failure:
            break
        world.carry_out(decision)
        world.now += timedelta(minutes=1)

    assert decision.failure
    assert decision.failure.reason == "ProgressDeadlineExceeded"
    assert decision.delete == ("c2",)


def test_a_bad_config_is_taken_back_though_another_cluster_is_asked_for_by_now() -> None:
    world = serving()
    world.broken, world.stuck = {"bad"}, {"cluster-b"}
    world.edit(Release("cluster-a", "bad"))
    world.step()
    world.edit(B)

    world.settle(10)

    assert world.clusters["c1"].config == "config-1"
    assert "c2" in world.clusters


def test_a_bad_config_is_taken_back_after_the_upgrade_that_came_later_has_failed() -> None:
    world = serving(policy=Policy(progress_deadline=timedelta(seconds=30)))
    world.stuck = {"cluster-b"}
    world.edit(Release("cluster-a", "hanging"))
    world.step()
    world.clusters["c1"] = dataclasses.replace(
        world.clusters["c1"], serve=ServeState("hanging", (Application("app", "UPDATING"),))
    )
    world.edit(Release("cluster-b", "config-3"))

    decision = world.settle(100)

    assert decision.failure
    assert list(world.clusters) == ["c1"]
    assert world.clusters["c1"].config == "config-1"


_SHOP = frozenset({("route /", "app shop:app")})
_CODED = dataclasses.replace(A, code=_SHOP)
_MOVED = Release("cluster-a", "config-2", frozenset({("route /", "app other:app")}))


def test_other_code_behind_a_route_gets_a_cluster_of_its_own() -> None:
    world = serving(_CODED)
    world.edit(_MOVED)
    world.settle()
    assert world.switches == ["c1", "c2"]
    assert ("cluster-a", "config-2") in world.sent
    assert world.made == 2


@pytest.mark.parametrize("policy", [Policy(code_in_place=True), Policy(in_place_only=True, code_in_place=True)])
def test_other_code_is_given_in_place_where_that_is_asked_for(policy: Policy) -> None:
    world = serving(_CODED, policy)
    world.edit(_MOVED)
    world.settle()
    assert (world.serving, world.made) == ("c1", 1)
    assert world.clusters["c1"].config == "config-2"


def test_other_code_that_fails_on_its_cluster_is_never_sent_to_the_one_that_serves() -> None:
    world = serving(_CODED)
    world.broken = {"config-2"}
    world.edit(_MOVED)
    world.settle()
    assert world.serving == "c1"
    assert world.clusters["c1"].config == "config-1"

    world.edit(dataclasses.replace(_MOVED, config="config-3"))
    world.settle()
    assert world.switches == ["c1", "c3"], "what counts is the code that serves"

    world.edit(None)
    world.edit(dataclasses.replace(_MOVED, config="config-4"))
    world.settle()
    assert world.serving == "c3", "settings of the same code are given in place"


def test_while_the_spec_is_rejected_the_cluster_that_serves_is_not_given_other_code() -> None:
    world = serving(_CODED)
    world.edit(_MOVED)
    world.step()
    world.edit(None)
    world.settle()
    assert world.serving == "c2"
    assert ("c1", "config-2") not in {(name, found.config) for name, found in world.clusters.items()}


def test_a_paused_upgrade_waits_before_the_switch_and_goes_on_when_promoted() -> None:
    world = serving(policy=Policy(paused=True, promote="c1"))
    world.edit(B)
    decision = world.settle(20)
    assert world.serving == "c1"
    assert decision.readiness
    assert decision.readiness.reason == "Paused"

    world.policy = Policy(paused=True, promote="c2")
    world.settle(3)
    assert world.serving == "c2"


def test_a_service_that_kueue_stopped_suspends_every_cluster_and_begins_nothing() -> None:
    world = serving()
    world.edit(B)
    world.step()
    upgrading = set(world.clusters)
    assert len(upgrading) == 2
    # Kueue restores the templates in the write that stops the service: that is no release to go for.
    world.edit(C)
    world.policy = Policy(stopped=True)

    decision = decide(world.state(), world.now)

    assert decision.create is None
    assert {*decision.suspend, *decision.delete} == upgrading
    assert "c1" in decision.suspend

    world.policy = Policy()
    world.edit(A)
    world.settle()
    assert world.serving == "c1"
    assert list(world.clusters) == ["c1"]


def test_an_aborted_upgrade_is_removed_and_not_tried_again() -> None:
    world = serving()
    world.edit(B)
    world.step()
    world.policy = Policy(abort="c2")

    decision = world.settle(5)

    assert set(world.clusters) == {"c1"}
    assert decision.failure
    assert decision.failure.reason == "Aborted"


def test_with_the_strategy_none_a_changed_cluster_waits_and_says_so() -> None:
    world = serving(policy=Policy(in_place_only=True))

    world.edit(Release("cluster-b", "config-2"))
    decision = world.settle(10)

    assert decision.drifted
    assert list(world.clusters) == ["c1"]
    assert world.clusters["c1"].config == "config-2"


def test_a_refused_spec_leaves_what_runs_alone() -> None:
    world = serving()
    world.edit(B)
    world.step()

    world.edit(None)
    world.settle(10)

    assert world.serving == "c2"


_RELEASES = st.builds(Release, st.sampled_from(["a", "b", "c"]), st.sampled_from(["1", "2", "bad"]))


@settings(max_examples=200)
@given(
    edits=st.lists(st.tuples(_RELEASES | st.none(), st.integers(0, 12)), min_size=1, max_size=8),
    stuck=st.sets(st.sampled_from(["a", "b", "c"]), max_size=1),
    own_cluster=st.booleans(),
)
def test_whatever_is_edited_and_when_the_service_goes_on_and_ends_at_its_goal(
    edits: list[tuple[Release | None, int]], stuck: set[str], own_cluster: bool
) -> None:
    policy = Policy(
        new_cluster_for_config=own_cluster, deletion_delay=timedelta(seconds=5), progress_deadline=timedelta(seconds=8)
    )
    world = World(None, policy)
    world.broken, world.stuck = {"bad"}, stuck
    served = False
    for goal, steps in edits:
        world.edit(goal)
        for _ in range(steps):
            world.step()
            served = served or bool(world.serving)
            assert not served or world.serving in world.clusters
            assert sum(not cluster.promoted for cluster in world.clusters.values()) <= 1
    final = edits[-1][0]
    world.settle(60)

    if final is not None and final.config != "bad" and final.cluster_hash not in stuck:
        active = world.clusters[world.serving]
        assert (active.cluster_hash, active.config) == (final.cluster_hash, final.config)
        assert len(world.clusters) == 1
    # No cluster is ever sent the config of another release.
    assert set(world.sent) <= {(goal.cluster_hash, goal.config) for goal, _ in edits if goal}
