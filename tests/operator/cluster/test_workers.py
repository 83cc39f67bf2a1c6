"""Decisions about one worker group."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kinds import labels
from rayward.kinds.raycluster import ScaleStrategy, WorkerGroup
from rayward.kube.core.pod import PodStatus
from rayward.operator.cluster.pod import RayPod
from rayward.operator.cluster.state import CreatePod
from rayward.operator.cluster.workers import GroupDecision, decide_group
from tests.operator.cluster.world import World, cluster, status
from tests.operator.stage import group, manifest

_HUGE = 2**31 - 1


def _world(replicas: int = 2, hosts: int = 1) -> World:
    world = World(cluster(manifest(groups=[group(replicas=replicas, numOfHosts=hosts)])))
    for replica in range(replicas):
        for host in range(hosts):
            name = world.add_pod(CreatePod(world.cluster.groups[0], replica, host), f"small-r{replica}")
            world.set_status(name, status())
    return world


def _of_kuberay(world: World) -> list[RayPod]:
    """The workers as KubeRay makes them where it does not number them."""
    numbers = (labels.REPLICA_NAME, labels.REPLICA_INDEX, labels.HOST_INDEX)
    for name, pod in world.pods.items():
        kept = {label: value for label, value in (pod.metadata.labels or {}).items() if label not in numbers}
        world.pods[name] = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, labels=kept))
    return world.live()


def _plan(world: World, replicas: int, *, autoscaled: bool = False, most: int = 500) -> GroupDecision:
    return decide_group("plain", _group(world), world.live(), replicas, autoscaled=autoscaled, max_creates=most)


def _group(world: World) -> WorkerGroup:
    return world.cluster.groups[0]


@pytest.mark.parametrize(
    ("hosts", "most", "made"),
    [(1, 500, 500), (1, 0, 0), (4, 500, 500), (4, 10, 12), (4, 0, 0), (600, 500, 600)],
)
def test_a_group_of_any_size_is_made_a_portion_at_a_time_and_replicas_whole(hosts: int, most: int, made: int) -> None:
    world = _world(0, hosts)
    slots = [new.slot for new in _plan(world, _HUGE, most=most).creates]
    assert len(slots) == len(set(slots)) == made


@pytest.mark.parametrize("most", [0, 1, 2, 500])
def test_half_made_replicas_are_completed_a_portion_at_a_time(most: int) -> None:
    world = World(cluster(manifest(groups=[group(replicas=3, numOfHosts=2)])))
    for replica in range(3):
        world.add_pod(CreatePod(_group(world), replica, 0), f"small-r{replica}")
    assert len(_plan(world, 3, most=most).creates) == min(most, 3)


@given(st.integers(0, 12), st.integers(1, 4), st.integers(0, 6), st.integers(1, 5))
def test_portions_lead_where_one_run_would(there: int, hosts: int, replicas: int, most: int) -> None:
    world = _world(min(there, replicas), hosts)
    for _ in range(1 + replicas * hosts):
        for new in _plan(world, replicas, most=most).creates:
            world.add_pod(new, f"small-r{new.replica}")
    assert len(world.live()) == replicas * hosts
    assert _plan(world, replicas) == GroupDecision()


class TestReplicasWithoutNames:
    def test_they_count_and_nothing_goes_when_they_are_taken_over(self) -> None:
        world = _world(2, 4)
        _of_kuberay(world)
        assert _plan(world, 2) == GroupDecision()

    def test_scaling_up_makes_only_what_is_missing(self) -> None:
        world = _world(2, 4)
        _of_kuberay(world)
        planned = _plan(world, 3)
        assert not planned.deletions
        assert [new.slot for new in planned.creates] == [("small", 0, host) for host in range(4)]

    def test_scaling_down_takes_whole_replicas_the_least_missed_first(self) -> None:
        world = _world(2, 4)
        pods = _of_kuberay(world)
        idle = pods[1].metadata
        world.set_status(idle.name, status("Pending", "False"))
        planned = _plan(world, 1)
        assert len(planned.deletions) == 4
        assert idle.uid in planned.deletions
        assert not planned.creates
        assert not _plan(world, 1, autoscaled=True).deletions

    def test_a_lost_host_takes_a_replica_with_it_and_no_more(self) -> None:
        world = _world(2, 4)
        ended = _of_kuberay(world)[0].metadata
        world.set_status(ended.name, PodStatus(phase="Failed"))
        planned = _plan(world, 2)
        assert ended.uid in planned.deletions
        assert len(planned.deletions) == 4
        assert len(planned.creates) == 4

    def test_they_stand_beside_replicas_with_names(self) -> None:
        world = _world(1, 2)
        _of_kuberay(world)
        for host in range(2):
            world.set_status(world.add_pod(CreatePod(_group(world), 0, host), "small-r0"), status())
        assert _plan(world, 2) == GroupDecision()
        assert len(_plan(world, 1).deletions) == 2

    def test_pods_of_ours_that_were_made_for_single_hosts_still_go(self) -> None:
        world = _world(2, 1)
        hosts = msgspec.structs.replace(_group(world), num_of_hosts=2)
        planned = decide_group("plain", hosts, world.live(), 1, autoscaled=False)
        assert len(planned.deletions) == 2


class TestWorkersToDelete:
    def _told(self, *named: str, elsewhere: tuple[str, ...] = ()) -> list[str]:
        world = _world(1)
        listed = msgspec.structs.replace(_group(world), scale_strategy=ScaleStrategy(list(named)))
        planned = decide_group("plain", listed, world.live(), 1, autoscaled=True, elsewhere=elsewhere)
        return [note.message for note in planned.events]

    @pytest.mark.parametrize(
        "gone", ["plain-small-worker-zzzzz", "plain-small-worker-00001", "plain-small-worker-4x9kq"]
    )
    def test_a_pod_that_may_have_been_is_not_worth_telling(self, gone: str) -> None:
        assert self._told(gone) == []

    @pytest.mark.parametrize(
        "stranger",
        ["head", "plain-small-worker-", "plain-small-worker-b-worker-zzzzz", "plain-small-worker-ZZZZZ", "plain-small"],
    )
    def test_a_name_that_no_pod_of_the_group_ever_had_is_told(self, stranger: str) -> None:
        (told,) = self._told(stranger)
        assert stranger in told

    def test_a_pod_of_another_group_is_told_whatever_its_name(self) -> None:
        (told,) = self._told("plain-small-worker-zzzzz", elsewhere=("plain-small-worker-zzzzz",))
        assert "plain-small-worker-zzzzz" in told

    def test_many_are_one_event(self) -> None:
        (told,) = self._told(*(f"stranger-{number:03}" for number in range(100)))
        assert told.count("stranger-") == 10
        assert "and 90 more" in told
