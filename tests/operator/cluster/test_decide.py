"""What is decided about a cluster, and where decisions lead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayward.kinds import labels
from rayward.kinds.raycluster import ScaleStrategy, UpgradeStrategy
from rayward.kinds.shapes import desired_workers
from rayward.kube.core.meta import condition_of
from rayward.kube.core.objects import Condition
from rayward.kube.core.pod import ContainerState, ContainerStateWaiting, ContainerStatus, PodStatus
from rayward.kube.core.resource import JOBS, SERVICES
from rayward.operator.cluster.decide import decide
from rayward.operator.cluster.desired import Desired
from rayward.operator.cluster.state import Create, CreatePod, Delete, State
from tests.operator.cluster.world import NOW, World, annotate, cluster, groups, hold, regroup, removed, settled, status
from tests.operator.stage import Object, group, manifest, template


def _created(world: World) -> list[tuple[str, int, int]]:
    return [write.slot for stage in world.decide().stages for write in stage if isinstance(write, CreatePod)]


def test_a_new_cluster_asks_for_its_head_service_and_all_pods_at_once() -> None:
    (stage,) = World(cluster()).decide().stages
    assert [write.slot for write in stage if isinstance(write, CreatePod)] == [
        ("", 0, 0),
        ("small", 0, 0),
        ("small", 1, 0),
    ]
    assert [write.resource for write in stage if isinstance(write, Create)] == [SERVICES]


def test_nothing_is_planned_for_what_is_as_it_should_be() -> None:
    world = settled()
    assert not world.decide().writes
    assert world.decide().status is None


def test_the_status_is_left_for_the_run_that_sees_what_was_written() -> None:
    world = World(cluster())
    world.step()
    assert world.cluster.status.observed_generation == 0
    world.start()
    world.step()
    assert (world.cluster.status.state, world.cluster.status.observed_generation) == ("ready", 1)


_FATES: dict[str, Callable[[World, str], None]] = {
    "failed": lambda world, name: world.set_status(name, status("Failed", "False")),
    "succeeded": lambda world, name: world.set_status(name, status("Succeeded", "False")),
}


@pytest.mark.parametrize("fate", _FATES)
@pytest.mark.parametrize("role", ["headgroup", "small"])
def test_a_pod_that_ended_goes(fate: str, role: str) -> None:
    world = settled()
    pod = world.live(role)[0].metadata.name
    _FATES[fate](world, pod)
    assert removed(world) == {pod}


@pytest.mark.parametrize(("policy", "goes"), [("Never", True), ("Always", False), ("OnFailure", False)])
def test_a_pod_whose_ray_container_ended_goes_only_if_it_cannot_restart(policy: str, goes: bool) -> None:
    world = settled(manifest(groups=[group(template=template(restartPolicy=policy))]))
    pod = world.live("small")[0].metadata.name
    world.set_status(pod, status(ended=1))
    assert (removed(world) == {pod}) is goes


def test_nothing_is_made_while_the_old_head_ends() -> None:
    world = settled()
    for pod in world.live():
        world.mark_deleted(pod.metadata.name)
    assert not world.decide().writes
    world.end()
    assert len(_created(world)) == 3


def test_a_head_that_must_not_come_back_does_not() -> None:
    world = settled(manifest(metadata={"annotations": {labels.DISABLE_HEAD_RESTART: "true"}}))
    world.mark_deleted(world.live("headgroup")[0].metadata.name)
    world.end()
    assert _created(world) == []


def test_a_worker_that_hangs_is_replaced() -> None:
    world = settled()
    world.mark_deleted(world.live("small")[0].metadata.name)
    assert _created(world) == [("small", 2, 0)], "the index of the one that hangs is not free"


@pytest.mark.parametrize("hosts", [1, 2])
def test_no_two_workers_have_one_index_at_any_moment(hosts: int) -> None:
    world = settled(manifest(groups=[group(replicas=3, numOfHosts=hosts)]))
    first = world.live("small")[0]
    world.mark_deleted(first.metadata.name)
    world.step()
    world.step()
    assert len(world.live("small")) == 3 * hosts
    places = Counter((pod.replica_index, pod.host_index) for pod in world.pods.values() if pod.is_worker)
    assert set(places.values()) == {1}
    world.end()
    world.settle()
    assert sorted({pod.replica_index or 0 for pod in world.live("small")}) == [1, 2, 3]


def test_a_worker_of_a_failed_ones_group_does_not_get_its_index_while_it_terminates() -> None:
    world = settled(manifest(groups=[group(replicas=2)]))
    failed = world.live("small")[0]
    world.set_status(failed.metadata.name, status("Failed", ""))
    creates = [write for stage in world.decide().stages for write in stage if isinstance(write, CreatePod)]
    assert [new.replica for new in creates] == [2]


def test_scaling_down_takes_what_is_missed_least() -> None:
    world = settled(manifest(groups=[group(replicas=4)]))
    oldest, pending, unready, newest = [pod.metadata.name for pod in world.live("small")]
    hold(world, pending)
    world.set_status(unready, status("Running", "False"))
    for replicas, expected in ((3, {pending}), (2, {pending, unready}), (1, {pending, unready, newest})):
        regroup(world, replicas=replicas)
        assert removed(world) == expected
    assert oldest not in removed(world)


def test_replicas_are_held_between_least_and_most() -> None:
    world = settled(manifest(groups=[group(replicas=9, maxReplicas=3)]))
    assert len(world.live("small")) == 3
    regroup(world, replicas=0, min_replicas=2)
    world.settle()
    assert len(world.live("small")) == 2


def test_workers_to_delete_take_only_pods_of_their_group() -> None:
    world = settled(manifest(groups=[group("one", 2), group("two", 2)]))
    stranger = world.live("two")[0].metadata.name
    named = world.live("one")[0].metadata.name
    gone_already = "plain-one-worker-zzzzz"
    regroup(world, scale_strategy=ScaleStrategy([stranger, named, gone_already, "head"]))
    assert removed(world) == {named}
    (told,) = [note.message for note in world.decide().events]
    assert f"{stranger}, head" in told


def test_workers_to_delete_tell_a_pod_of_another_group_whose_name_begins_alike() -> None:
    long = "g" * 60
    world = settled(manifest(groups=[group(f"{long}a", 1), group(f"{long}b", 1)]))
    stranger = world.live(f"{long}b")[0].metadata.name
    regroup(world, scale_strategy=ScaleStrategy([stranger]))
    assert not removed(world)
    assert stranger in world.decide().events[0].message


def test_any_number_of_workers_is_made_a_portion_at_a_time() -> None:
    most = 2**31 - 1
    huge = [group(name, most, maxReplicas=None) for name in ("one", "two")]
    world = World(cluster(manifest(groups=huge)))
    assert len(_created(world)) == 500
    world.step()
    assert {slot for slot in _created(world) if slot[0] == "two"} == set()
    assert len(_created(world)) == 500
    assert len(world.live()) == 500


def test_deletions_are_acknowledged_before_anything_takes_their_place() -> None:
    world = settled()
    regroup(world, scale_strategy=ScaleStrategy([world.live("small")[0].metadata.name]))
    first, second = world.decide().stages
    assert [type(write) for write in (*first, *second)] == [Delete, CreatePod]


def test_recreate_deletes_the_head_last() -> None:
    world = settled(manifest(upgradeStrategy={"type": "Recreate"}))
    regroup(world, template=template(image="rayproject/ray:2.53.0"))
    *workers, head = [write for stage in world.decide().stages for write in stage if isinstance(write, Delete)]
    assert head.pod is not None
    assert head.pod.is_head
    assert {write.name for write in workers} == {pod.metadata.name for pod in world.live("small")}
    assert len(world.decide().stages) == 2


def test_recreate_finishes_what_a_crash_left_half_done() -> None:
    world = settled(manifest(upgradeStrategy={"type": "Recreate"}))
    old = set(world.pods)
    regroup(world, template=template(image="rayproject/ray:2.53.0"))
    world.step(most_writes=1)
    world.settle()
    assert not old & set(world.pods)


def test_without_a_strategy_a_changed_template_only_shows() -> None:
    world = settled()
    regroup(world, template=template(image="rayproject/ray:2.53.0"))
    assert not world.decide().writes
    world.step()
    drifted = condition_of(world.cluster.status.conditions, "Drifted")
    assert drifted is not None
    assert drifted.status == "True"
    assert "workerGroupSpecs[small].spec.containers[ray].image" in drifted.message


def test_a_half_made_replica_is_completed_and_a_broken_one_replaced() -> None:
    world = World(cluster(manifest(groups=[group(replicas=1, numOfHosts=2)])))
    small = world.cluster.groups[0]
    world.add_pod(CreatePod(None))
    half = world.add_pod(CreatePod(small, 0, 0), "small-aaaaa")
    assert _created(world) == [("small", 0, 1)]
    world.settle()
    assert half in world.pods
    world.set_status(half, status("Failed", "False"))
    assert removed(world) == {pod.metadata.name for pod in world.live("small")}
    world.settle()
    assert half not in world.pods
    assert len(world.live("small")) == 2


def test_a_refused_spec_changes_nothing_but_the_conditions() -> None:
    world = settled()
    first = groups(world)[0]
    world.edit(worker_group_specs=[first, first])
    todo = world.decide()
    assert not todo.writes
    assert [note.reason for note in todo.events] == ["InvalidRayClusterSpec"]
    world.step()
    accepted = condition_of(world.cluster.status.conditions, "Accepted")
    assert accepted is not None
    assert (accepted.status, accepted.reason) == ("False", "InvalidSpec")
    assert (world.cluster.status.observed_generation, world.cluster.status.state) == (2, "ready")


def test_a_refused_spec_can_still_be_suspended() -> None:
    world = settled()
    first = groups(world)[0]
    world.edit(worker_group_specs=[first, first], suspend=True)
    assert removed(world) == set(world.pods)
    assert [note.reason for note in world.decide().events] == ["InvalidRayClusterSpec"]
    world.settle()
    assert not world.pods
    assert world.cluster.status.observed_generation == 2


def test_a_cluster_managed_by_another_is_left_alone() -> None:
    todo = World(cluster(manifest(managedBy="kueue.x-k8s.io/multikueue"))).decide()
    assert not todo.writes
    assert todo.status is None


class TestDeparture:
    def _deleting(self, at: str = "2026-01-01T00:00:00Z") -> World:
        world = settled(manifest(gcsFaultToleranceOptions={"redisAddress": "redis:6379"}))
        metadata = msgspec.structs.replace(world.cluster.metadata, deletion_timestamp=at)
        world.cluster = msgspec.structs.replace(world.cluster, metadata=metadata)
        return world

    def test_the_finalizer_comes_before_the_first_pod(self) -> None:
        world = World(cluster(manifest(gcsFaultToleranceOptions={"redisAddress": "redis:6379"})))
        world.step()
        assert world.pods == {}
        assert world.cluster.metadata.finalizers == (labels.REDIS_CLEANUP_FINALIZER,)

    def test_pods_go_before_the_keys(self) -> None:
        world = self._deleting()
        assert len(removed(world)) == 3
        world.step()
        assert not world.decide().writes
        world.end()
        (stage,) = world.decide().stages
        assert [write.resource for write in stage if isinstance(write, Create)] == [JOBS]

    def test_patience_ends(self) -> None:
        world = self._deleting("2025-12-31T23:00:00Z")
        world.step()
        assert world.cluster.metadata.finalizers == ()


_EDITS: list[Callable[[World], None]] = [
    lambda world: regroup(world, replicas=0),
    lambda world: regroup(world, replicas=3),
    lambda world: regroup(world, replicas=5),
    lambda world: regroup(world, suspend=True),
    lambda world: regroup(world, suspend=False),
    lambda world: regroup(world, num_of_hosts=2),
    lambda world: regroup(world, num_of_hosts=1),
    lambda world: regroup(world, template=template(image="rayproject/ray:2.53.0")),
    lambda world: regroup(world, group_name="other"),
    lambda world: world.edit(suspend=True),
    lambda world: world.edit(suspend=None),
    lambda world: world.edit(upgrade_strategy=UpgradeStrategy("Recreate")),
    lambda world: world.edit(upgrade_strategy=None),
    lambda world: annotate(world, {labels.ROLLING_UPDATE: "workers"}),
    lambda world: annotate(world, {}),
]


def _fail_one(world: World) -> None:
    if world.live():
        world.set_status(world.live()[-1].metadata.name, status("Failed", "False"))


def _delete_one(world: World) -> None:
    if world.live():
        world.mark_deleted(world.live()[0].metadata.name)


_HAPPENINGS: list[Callable[[World], object]] = [
    *_EDITS,
    _fail_one,
    _delete_one,
    lambda world: world.step(),
    lambda world: world.step(most_writes=1),
    lambda world: world.step(most_writes=2),
    lambda world: world.start(),
    lambda world: world.end(),
]


def _allowed(world: World) -> Object:
    return {group.group_name: desired_workers(group) for group in world.cluster.groups}


@settings(max_examples=150)
@given(st.lists(st.integers(0, len(_HAPPENINGS) - 1), max_size=25))
def test_whatever_happens_it_ends_as_the_spec_says_and_nothing_is_ever_too_many(happenings: list[int]) -> None:
    world = World(cluster())
    allowed: Object = {}
    for number in happenings:
        for name, count in _allowed(world).items():
            allowed[name] = max(allowed.get(name, 0), count)
        _HAPPENINGS[number](world)
    for name, count in _allowed(world).items():
        allowed[name] = max(allowed.get(name, 0), count)
    world.settle()
    suspended = bool(world.cluster.spec.suspend)
    assert len(world.live("headgroup")) == (0 if suspended else 1)
    for found in world.cluster.groups:
        assert len(world.live(found.group_name)) == (0 if suspended else desired_workers(found))
    assert len(world.live()) == (0 if suspended else 1 + sum(map(desired_workers, world.cluster.groups)))
    assert world.most["headgroup"] <= 1
    assert {name: count for name, count in world.most.items() if name != "headgroup" and count > allowed[name]} == {}
    assert world.cluster.status.observed_generation == world.cluster.metadata.generation
    assert world.cluster.status.state == ("suspended" if suspended else "ready")
    assert not world.decide().writes


def _annotate(world: World, **annotations: str) -> None:
    """As ``kubectl annotate`` does: the generation stays."""
    metadata = msgspec.structs.replace(world.cluster.metadata, annotations=annotations)
    world.cluster = msgspec.structs.replace(world.cluster, metadata=metadata)


def test_an_annotation_that_does_nothing_is_told_though_no_generation_is_new() -> None:
    world = settled()
    assert world.cluster.status.observed_generation == world.cluster.metadata.generation
    assert world.decide().events == ()
    _annotate(world, **{labels.ROLLING_UPDATE: "worker"})
    (note,) = world.decide().events
    assert (note.type, note.reason) == ("Warning", "UnexpectedRayClusterSpec")
    assert "'worker', which does nothing" in note.message
    _annotate(world, **{labels.ROLLING_UPDATE: "workers"})
    assert world.decide().events == ()


def test_the_last_words_of_a_pod_are_read_while_the_spec_is_refused_too() -> None:
    world = settled(manifest())
    world.edit(head_group_spec=msgspec.structs.replace(world.cluster.spec.head_group_spec, template={}))
    crashing = ContainerStatus(
        name="ray", restart_count=2, state=ContainerState(waiting=ContainerStateWaiting("CrashLoopBackOff"))
    )
    (head,) = world.live("headgroup")
    world.set_status(
        head.metadata.name,
        PodStatus(
            phase="Running", conditions=(Condition(type="Ready", status="False"),), container_statuses=(crashing,)
        ),
    )
    (wanted,) = world.decide().logs
    assert (wanted.pod, wanted.container, wanted.restarts) == (head.metadata.name, "ray", 2)


def test_a_group_that_an_edit_dropped_is_told_with_what_is_deleted() -> None:
    world = settled(manifest(groups=[group("small", 2), group("large", 1)]))
    world.edit(worker_group_specs=groups(world)[1:])
    (told,) = world.decide().events
    assert (told.type, told.reason) == ("Warning", "WorkerGroupRemoved")
    assert told.message.startswith(
        "Worker group small is no longer in spec.workerGroupSpecs: deleting its 2 pods. A merge patch replaces"
    )
    world.settle()
    assert not world.decide().events


def test_a_group_without_pods_that_an_edit_dropped_is_told_too() -> None:
    world = settled(manifest(groups=[group("small", 2), group("large", 0)]))
    before = Desired(world.cluster)
    world.edit(worker_group_specs=groups(world)[:1])

    def told(desired: Desired) -> list[str]:
        events = decide(State(world.cluster, world.observed(), desired), NOW).events
        return [event.message.partition(". ")[0] for event in events if event.reason == "WorkerGroupRemoved"]

    dropped = before.renewed(world.cluster)
    assert told(dropped) == ["Worker group large is no longer in spec.workerGroupSpecs: it had no pods"]
    labelled = msgspec.structs.replace(world.cluster.metadata, labels={"a": "b"})
    world.cluster = msgspec.structs.replace(world.cluster, metadata=labelled)
    assert told(dropped.renewed(world.cluster)), "still of this generation"
    regroup(world, replicas=1)
    assert not told(dropped.renewed(world.cluster))
