from __future__ import annotations

import pytest

from rayward.changes.outcomes import WaitTimeout
from rayward.changes.stopping import stop
from rayward.kube.client.errors import Forbidden
from tests.changes.rayworld import REF, RayWorld


def _stops(world: RayWorld) -> int:
    return sum(request.method == "POST" for request in world.asked)


def test_ray_is_asked_and_the_end_awaited() -> None:
    world = RayWorld()
    world.runs()
    live = world.play(stop(REF), lambda: None, lambda: world.ends("STOPPED"))
    assert live["status"]["jobStatus"] == "STOPPED"
    assert _stops(world) == 1


def test_a_job_that_ray_does_not_have_yet_is_suspended() -> None:
    world = RayWorld()
    world.status = {"jobDeploymentStatus": "Initializing"}
    live = world.play(stop(REF), lambda: world.status.update(jobDeploymentStatus="Suspended"))
    assert live["spec"]["suspend"] is True
    assert _stops(world) == 0


def test_a_job_that_has_ended_is_left_as_it_is() -> None:
    world = RayWorld()
    world.ends()
    assert world.play(stop(REF))["status"]["jobStatus"] == "SUCCEEDED"
    assert [request.method for request in world.asked] == ["GET"]


def test_a_head_that_is_away_is_asked_again_until_time_is_up() -> None:
    world = RayWorld()
    world.runs()
    world.ray = ""
    with pytest.raises(WaitTimeout, match="has not ended"):
        world.play(stop(REF, timeout=10), *[lambda: None] * 50)
    assert _stops(world) == 3


def test_who_may_not_stop_it_learns_that_at_once() -> None:
    world = RayWorld()
    world.runs()
    world.forbidden = True
    with pytest.raises(Forbidden):
        world.play(stop(REF))
