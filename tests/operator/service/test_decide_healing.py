"""A service whose applications stay unhealthy gets its remedies, and never stops answering meanwhile."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

from rayward.operator.service.state import UNHEALTHY, Application, Healing, Policy, Release, ServeState
from tests.operator.service.world import B, World, serving


def _make_unhealthy(world: World) -> None:
    cluster = world.clusters[world.serving]
    serve = ServeState(cluster.config, (Application("app", UNHEALTHY, "check_health failed"),))
    world.clusters[world.serving] = dataclasses.replace(cluster, serve=serve)


def test_an_unhealthy_service_is_redeployed_once_then_gets_new_clusters_then_is_left() -> None:
    world = serving(policy=Policy(healing=Healing(timedelta(seconds=10), new_clusters=1)))
    redeployed = 0
    for _ in range(120):
        _make_unhealthy(world)
        decision = world.step()
        redeployed += bool(decision.redeploy)

    assert redeployed == 1
    assert world.made == 2
    _make_unhealthy(world)
    assert world.step().exhausted


def test_a_replacement_that_does_not_come_up_is_a_remedy_that_did_not_help() -> None:
    world = serving(policy=Policy(healing=Healing(timedelta(seconds=10), new_clusters=2)))
    world.broken = {"config-1"}
    exhausted = 0
    for _ in range(200):
        _make_unhealthy(world)
        decision = world.step()
        assert decision.failure is None
        exhausted += decision.exhausted

    assert world.made == 3
    assert exhausted
    assert set(world.clusters) == {"c1"}


def test_a_service_heals_though_a_change_of_it_has_failed() -> None:
    world = serving(policy=Policy(healing=Healing(timedelta(seconds=10), new_clusters=1)))
    world.broken = {"bad"}
    world.edit(Release("cluster-b", "bad"))
    failed = world.settle(20)
    for _ in range(60):
        if world.serving == "c1":
            _make_unhealthy(world)
        world.step()

    assert world.failure == failed.failure
    assert world.clusters[world.serving].cluster_hash == "cluster-a"
    assert world.serving != "c1"


def test_a_spec_that_is_refused_or_kept_waiting_keeps_nothing_from_healing() -> None:
    for goal, policy in ((None, Policy()), (B, Policy(in_place_only=True))):
        world = serving(policy=dataclasses.replace(policy, healing=Healing(timedelta(seconds=10), new_clusters=1)))
        world.edit(goal)
        for _ in range(60):
            if world.serving == "c1":
                _make_unhealthy(world)
            assert world.step().drifted is policy.in_place_only
        assert world.serving == "c2"
        assert world.clusters["c2"].cluster_hash == "cluster-a"


def test_a_replacement_that_was_about_to_take_over_when_the_operator_died_takes_over() -> None:
    world = serving(policy=Policy(healing=Healing(timedelta(seconds=10), new_clusters=2)))
    while world.serving == "c1":
        _make_unhealthy(world)
        before = world.serving
        decision = world.step()
        if decision.switch_to:
            world.serving = before
            break
    assert world.clusters["c2"].promoted

    for _ in range(3):
        if world.serving == "c1":
            _make_unhealthy(world)
        world.step()

    assert (world.serving, world.made) == ("c2", 2)


def test_another_config_is_another_patient() -> None:
    world = serving(policy=Policy(healing=Healing(timedelta(seconds=10), new_clusters=1)))
    for _ in range(5):
        _make_unhealthy(world)
        world.step()
    assert world.goal is not None
    world.edit(dataclasses.replace(world.goal, config="2"))
    _make_unhealthy(world)
    world.now += timedelta(seconds=20)

    world.step()

    patient = world.clusters[world.serving]
    assert (patient.config, patient.unhealthy_since, patient.remedies) == ("2", None, 0)


def test_without_thresholds_an_unhealthy_service_is_left_to_ray() -> None:
    world = serving()
    for _ in range(60):
        _make_unhealthy(world)
        decision = world.step()
        assert not decision.redeploy
    assert world.made == 1
