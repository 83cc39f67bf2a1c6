"""Workers that are replaced one by one."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kinds import labels
from tests.operator.cluster.world import World, annotate, hold, regroup, removed, settled, status
from tests.operator.stage import Object, group, manifest, template

_ROLLING: Object = {"annotations": {labels.ROLLING_UPDATE: "workers"}}


def test_a_rolling_update_waits_until_all_others_are_ready() -> None:
    world = settled(manifest(metadata=_ROLLING, groups=[group(replicas=3)]))
    old = {pod.metadata.name for pod in world.live("small")}
    regroup(world, template=template(image="rayproject/ray:2.53.0"))
    rounds = 0
    while old & set(world.pods):
        assert len(removed(world)) == 1
        world.step()
        world.end()
        world.step()
        # The replacement is not ready yet.
        assert not removed(world)
        world.start()
        rounds += 1
        assert rounds <= 3
    assert world.most["small"] == 3


class TestRollingOverBrokenWorkers:
    """A template that does not work is edited again: nothing waits for pods that will never be ready."""

    def _broken(self, phase: str, **more: Any) -> World:
        world = settled(manifest(metadata=_ROLLING, groups=[group(replicas=3, **more)]))
        for pod in world.live("small"):
            world.set_status(pod.metadata.name, status(phase, "False"))
        regroup(world, template=template(image="rayproject/ray:2.53.0"))
        return world

    @pytest.mark.parametrize("phase", ["Pending", "Running"])
    @pytest.mark.parametrize("hosts", [1, 2])
    def test_it_ends(self, phase: str, hosts: int) -> None:
        world = self._broken(phase, numOfHosts=hosts)
        old = {pod.metadata.name for pod in world.live("small")}
        world.settle()
        assert not old & set(world.pods)
        assert world.most["small"] == 3 * hosts

    def test_workers_that_never_ran_go_together(self) -> None:
        assert len(removed(self._broken("Pending"))) == 3

    def test_workers_that_ran_go_one_by_one_for_a_head_that_restarts_makes_all_of_them_unready(self) -> None:
        world = self._broken("Running")
        assert len(removed(world)) == 1
        world.step()
        assert not removed(world)
        world.end()
        world.step()
        # The replacement is not ready yet.
        assert not removed(world)
        world.start()
        assert len(removed(world)) == 1

    def test_a_worker_that_serves_waits_for_replacements(self) -> None:
        world = settled(manifest(metadata=_ROLLING, groups=[group(replicas=3)]))
        broken, *serving = [pod.metadata.name for pod in world.live("small")]
        hold(world, broken)
        regroup(world, template=template(image="rayproject/ray:2.53.0"))
        assert removed(world) == {broken}
        world.step()
        world.end()
        world.step()
        assert not removed(world)
        world.start()
        assert len(removed(world) & set(serving)) == 1


class TestWorkersThatCannotDrain:
    """They were made before the annotation, so they have no hook."""

    def _annotated(self, **of_group: Any) -> World:
        world = settled(manifest(groups=[group(**of_group)]))
        annotate(world, {labels.ROLLING_UPDATE: "workers"})
        regroup(world, template=template(image="rayproject/ray:2.53.0"))
        return world

    def _told(self, world: World) -> list[str]:
        return [note.message for note in world.plan().notes if note.reason == "WorkerNotDrained"]

    def test_each_is_told_when_it_goes(self) -> None:
        world = self._annotated()
        (gone,) = removed(world)
        (told,) = self._told(world)
        assert gone in told
        world.settle()
        regroup(world, template=template(image="rayproject/ray:2.54.0"))
        assert removed(world)
        assert self._told(world) == []

    def test_hosts_of_one_replica_are_told_together(self) -> None:
        (told,) = self._told(self._annotated(replicas=1, numOfHosts=2))
        assert told.count("plain-small-worker-") == 2

    def test_a_hook_of_the_users_own_is_one(self) -> None:
        made = template()
        made["spec"]["containers"][0]["lifecycle"] = {"preStop": {"exec": {"command": ["leave"]}}}
        world = self._annotated(template=made)
        assert removed(world)
        assert self._told(world) == []

    def test_what_never_ran_has_nothing_to_lose(self) -> None:
        world = self._annotated()
        for pod in world.live("small"):
            hold(world, pod.metadata.name)
        assert len(removed(world)) == 2
        assert self._told(world) == []
