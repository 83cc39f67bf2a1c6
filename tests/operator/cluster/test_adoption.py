"""Pods that KubeRay made stay at first, and follow every edit from then on."""

from __future__ import annotations

import msgspec
import pytest

from rayward.kinds import labels
from rayward.kinds.raycluster import UpgradeStrategy
from rayward.kube.client.options import PatchType
from rayward.kube.core.meta import condition_of
from rayward.kube.core.resource import PODS
from rayward.operator.cluster.plan import Mend, Remove
from tests.operator.cluster.world import World, cluster, groups, regroup, settled
from tests.operator.stage import GROUPS, Object, Stage, manifest, put, template, uids


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
    assert not world.plan().writes


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
    writes = [write for stage in world.plan().stages for write in stage]
    (removed,) = [write.name for write in writes if isinstance(write, Remove)]
    marked = [write.name for write in writes if isinstance(write, Mend)]
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
