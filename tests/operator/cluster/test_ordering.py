"""Which clusters go first in a burst."""

from __future__ import annotations

from rayward.kube.runtime.queue import HIGH
from rayward.operator.cluster.ordering import priority_of
from tests.operator.cluster.world import World, cluster, settled, status


def _priority(world: World) -> int:
    return priority_of(world.cluster, world.pods.values(), world.state().desired.workers)


def _started(count: int) -> World:
    """A cluster of a head and two workers, of which ``count`` pods run."""
    world = World(cluster())
    world.step()
    for name in list(world.pods)[:count]:
        world.set_status(name, status())
    return world


def test_a_cluster_whose_last_pod_came_up_goes_first() -> None:
    assert [_priority(_started(count)) for count in range(4)] == [0, 0, 0, HIGH]


def test_a_cluster_that_says_that_it_is_ready_waits_its_turn() -> None:
    assert _priority(settled()) == 0


def test_a_pod_that_is_going_is_none_of_those_that_run() -> None:
    world = _started(3)
    world.mark_deleted(next(iter(world.pods)))
    assert _priority(world) == 0
