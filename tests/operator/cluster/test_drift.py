"""Pods of another template, and of another operator: what is written on them, and what replaces them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.kinds import labels
from rayward.kinds.hashing import Version, release_hash
from rayward.kinds.raycluster import UpgradeStrategy
from rayward.kube.client.options import PatchType
from rayward.kube.core.meta import condition_of
from rayward.kube.core.resource import PODS
from rayward.operator.cluster.state import Delete, Patch
from tests.operator.cluster.world import World, annotate, cluster, groups, hold, regroup, removed, settled, status
from tests.operator.stage import GROUPS, Object, Stage, group, manifest, put, template, uids


def _of_kuberay(world: World, *, recreate: bool = False) -> set[str]:
    for name, pod in world.pods.items():
        marks = {labels.OPERATOR_VERSION: "v1.6.2", labels.RECREATE_HASH: "THEIRS"} if recreate else {}
        metadata = msgspec.structs.replace(pod.metadata, annotations=marks if pod.is_head else {})
        world.pods[name] = msgspec.structs.replace(pod, metadata=metadata)
    return set(world.pods)


@pytest.mark.parametrize("recreate", [False, True])
def test_nothing_restarts(recreate: bool) -> None:
    world = settled(manifest(upgradeStrategy={"type": "Recreate"} if recreate else None))
    before = _of_kuberay(world, recreate=recreate)
    world.settle()
    assert set(world.pods) == before
    assert condition_of(world.cluster.status.conditions, "Drifted") is None
    assert not world.decide().writes


@pytest.mark.parametrize("recreate", [False, True])
def test_an_edit_together_with_recreate_is_carried_out(recreate: bool) -> None:
    world = settled(manifest(upgradeStrategy={"type": "Recreate"} if recreate else None))
    before = _of_kuberay(world, recreate=recreate)
    world.settle()
    first = msgspec.structs.replace(groups(world)[0], template=template(image="rayproject/ray:2.53.0"))
    world.edit(worker_group_specs=[first], upgrade_strategy=UpgradeStrategy("Recreate"))
    world.settle()
    assert not before & set(world.pods)


def test_an_edit_rolls_the_workers() -> None:
    world = settled(manifest(metadata={"annotations": {labels.ROLLING_UPDATE: "workers"}}))
    before = _of_kuberay(world)
    (head,) = world.live("headgroup")
    world.settle()
    regroup(world, template=template(image="rayproject/ray:2.53.0"))
    world.settle()
    assert before & set(world.pods) == {head.metadata.name}


def test_an_edit_without_a_strategy_shows() -> None:
    world = settled()
    _of_kuberay(world)
    world.settle()
    regroup(world, template=template(image="rayproject/ray:2.53.0"))
    world.settle()
    assert "workerGroupSpecs[small].spec.containers[ray].image" in _drift(world)


def _drift(world: World) -> str:
    drifted = condition_of(world.cluster.status.conditions, "Drifted")
    assert drifted is not None
    assert drifted.status == "True"
    return drifted.message


@pytest.mark.parametrize("strategy", [None, "Recreate"])
@pytest.mark.parametrize("annotations", [{}, {labels.ROLLING_UPDATE: "workers"}])
def test_what_was_edited_before_is_told_and_done_with_the_next_edit(strategy: str | None, annotations: Object) -> None:
    made = manifest(metadata={"annotations": annotations}, upgradeStrategy={"type": strategy} if strategy else None)
    world = settled(made)
    before = _of_kuberay(world, recreate=strategy is not None)
    regroup(world, template=template(image="rayproject/ray:2.53.0"))
    world.settle()
    assert set(world.pods) == before
    assert "not known" in _drift(world)
    regroup(world, replicas=3)
    world.settle()
    assert before <= set(world.pods)
    assert "not known" in _drift(world)
    regroup(world, template=template(image="rayproject/ray:2.54.0"))
    world.settle()
    (head,) = world.live("headgroup")
    stay = before if not strategy and not annotations else {head.metadata.name} if not strategy else set[str]()
    assert before & set(world.pods) == stay


def test_pods_of_a_first_generation_were_made_from_it() -> None:
    world = World(cluster())
    world.step()
    _of_kuberay(world)
    world.settle()
    assert condition_of(world.cluster.status.conditions, "Drifted") is None


def test_pods_that_another_cluster_left_behind_may_be_of_another_template() -> None:
    world = World(cluster())
    world.step()
    for name in _of_kuberay(world):
        pod = world.pods[name]
        metadata = msgspec.structs.replace(pod.metadata, owner_references=None)
        world.pods[name] = msgspec.structs.replace(pod, metadata=metadata)
    world.settle()
    assert "not known" in _drift(world)


def test_pods_that_go_are_not_written_to() -> None:
    world = settled()
    _of_kuberay(world)
    regroup(world, replicas=1)
    writes = [write for stage in world.decide().stages for write in stage]
    (removed,) = [write.name for write in writes if isinstance(write, Delete)]
    marked = [write.name for write in writes if isinstance(write, Patch)]
    assert sorted([removed, *marked]) == sorted(world.pods)


@pytest.mark.anyio
async def test_it_is_written_on_pods_that_keep_running_and_edited_ones_are_then_replaced(ray: Stage) -> None:
    made = manifest(upgradeStrategy={"type": "Recreate"})
    async with ray.operator():
        await ray.create(made)
        await ray.until_pods(3)
    for pod in await ray.pods():
        theirs = {labels.TEMPLATE: None, labels.OPERATOR_VERSION: "v1.6.2", labels.RECREATE_HASH: "THEIRS"}
        change = {"metadata": {"annotations": theirs}}
        await ray.client.patch(PODS, pod["metadata"]["name"], change, PatchType.MERGE, ray.namespace)
    before = uids(await ray.pods())

    async def marked() -> bool:
        return all(labels.TEMPLATE in pod["metadata"]["annotations"] for pod in await ray.pods())

    async with ray.operator():
        await ray.eventually(marked)
        await ray.until_pods(3)
        assert uids(await ray.pods()) == before
        await ray.patch(put(f"{GROUPS}/0/template", template(image="rayproject/ray:2.53.0")))
        await ray.until_gone(before)
        await ray.until_pods(3)


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
        return [note.message for note in world.decide().events if note.reason == "WorkerNotDrained"]

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


def _hashed_by_an_older_release(world: World, version: Version = "v1") -> str:
    (head,) = world.live("headgroup")
    stored = release_hash(world.cluster.spec, version=version)
    annotations = {**(head.metadata.annotations or {}), labels.RECREATE_HASH: stored}
    metadata = msgspec.structs.replace(head.metadata, annotations=annotations)
    world.pods[head.metadata.name] = msgspec.structs.replace(head, metadata=metadata)
    return stored


def test_a_head_that_an_older_release_hashed_stays_and_gets_the_hash_of_this_one() -> None:
    world = settled(manifest(upgradeStrategy={"type": "Recreate"}))
    _hashed_by_an_older_release(world)
    pods = set(world.pods)
    world.settle()
    assert set(world.pods) == pods
    (head,) = world.live("headgroup")
    assert head.metadata.annotation(labels.RECREATE_HASH) == release_hash(world.cluster.spec)


def test_an_edit_recreates_what_an_older_release_hashed() -> None:
    world = settled(manifest(upgradeStrategy={"type": "Recreate"}))
    _hashed_by_an_older_release(world)
    pods = set(world.pods)
    world.edit(ray_version="2.99.0")
    world.settle()
    assert not pods & set(world.pods)


@pytest.mark.parametrize("version", ["v1", "v2", "v3"])
@pytest.mark.parametrize("edited", [False, True])
def test_what_a_client_wrote_back_during_the_upgrade_of_the_operator_is_told_from_an_edit(
    version: Version, edited: bool
) -> None:
    world = settled(manifest(upgradeStrategy={"type": "Recreate"}))
    _hashed_by_an_older_release(world, version)
    pods = set(world.pods)
    back = template(
        image="rayproject/ray:2.53.0" if edited else "rayproject/ray:2.52.0",
        serviceAccountName="",
        volumes=[],
        preemptionPolicy="PreemptLowerPriority",
    )
    back["metadata"] = {"creationTimestamp": None}
    regroup(world, template=back)
    world.settle()
    assert (set(world.pods) == pods) is not edited
    assert bool(pods & set(world.pods)) is not edited
    (head,) = world.live("headgroup")
    assert head.metadata.annotation(labels.RECREATE_HASH) == release_hash(world.cluster.spec)


def test_a_head_of_another_template_keeps_its_old_hash_for_a_later_recreate() -> None:
    world = settled(manifest())
    stored = _hashed_by_an_older_release(world)
    pods = set(world.pods)
    regroup(world, template=template(image="rayproject/ray:2.53.0"))
    world.settle()
    (head,) = world.live("headgroup")
    assert head.metadata.annotation(labels.RECREATE_HASH) == stored
    world.edit(upgrade_strategy=UpgradeStrategy("Recreate"))
    world.settle()
    assert not pods & set(world.pods)


def test_a_template_that_a_client_wrote_back_in_other_words_recreates_nothing() -> None:
    world = settled(manifest(upgradeStrategy={"type": "Recreate"}))
    pods = set(world.pods)
    head = world.cluster.spec.head_group_spec
    assert "metadata" not in head.template
    world.edit(head_group_spec=msgspec.structs.replace(head, template={**head.template, "metadata": {}}))
    regroup(world, template={**groups(world)[0].template, "metadata": {"creationTimestamp": None}})
    world.settle()
    assert set(world.pods) == pods
    assert condition_of(world.cluster.status.conditions, "Drifted") is None
