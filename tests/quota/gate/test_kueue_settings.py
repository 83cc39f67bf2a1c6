"""Kueue with settings that it is not shipped with: it manages objects without its label, and waits for pods."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.kinds import labels
from rayward.kinds.admission import BY_KUEUE, Admission, Queueing
from rayward.kinds.kueue import names
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import NAMESPACES
from rayward.quota.engine.lifecycle import PodsReady
from tests.kube.kueue import Kueue
from tests.operator.stage import condition
from tests.quota.gate.stage import ENGINES, KUEUE_ONLY, GateStage, queued_service, release

pytestmark = pytest.mark.anyio

_TAKEN = "tests.rayward.dev/kueue-takes-all"


@pytest.fixture(scope="module")
def as_shipped(kueue_on_real: tuple[Path, Kueue]) -> Iterator[Kueue]:
    """Kueue, which runs as it is shipped again when the module ends."""
    _, manager = kueue_on_real
    yield manager
    manager.restore()


@pytest.fixture
def reconfigured(as_shipped: Kueue) -> None:
    as_shipped.change(
        manageJobsWithoutQueueName=True,
        managedJobsNamespaceSelector={"matchLabels": {_TAKEN: "true"}},
        waitForPodsReady={"timeout": "1s"},
    )


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_a_new_release_that_does_not_come_up_gives_its_place_up_while_the_old_one_serves(
    ray: GateStage, engine: str, request: pytest.FixtureRequest
) -> None:
    """Told of each RayCluster alone: the service stays ready by its old release."""
    if engine == "kueue":
        request.getfixturevalue("as_shipped").restore()
    await ray.queue(2)
    async with ray.operator():
        await ray.create(queued_service(rayClusterDeletionDelaySeconds=0))
        old = await ray.until_settled()
        await ray.until_workload(old, names.PODS_READY, "True", names.STARTED)
    if engine == "kueue":
        request.getfixturevalue("reconfigured")
    ray.pods_ready = PodsReady(timeout=1)
    ray.kubelet.starts = lambda pod: pod.metadata.label(labels.CLUSTER) == old
    async with ray.operator():
        await ray.edit(rayClusterConfig=release(image="rayproject/ray:2"))
        (new,) = await ray.until_names(lambda found: len(found) == 2) - {old}
        await ray.until_workload(new, names.REQUEUED, "False", names.BY_PODS_READY_TIMEOUT)
        await ray.until_pods_of(new, 0)
        assert await ray.serving() == old
        assert len(await ray.pods_of(old)) == 1
        assert (await ray.conditions("Ready"))[0] == "True"
        assert condition(await ray.workload_of(old), names.QUOTA_RESERVED)["status"] == "True"


@pytest.mark.parametrize("engine", KUEUE_ONLY, indirect=True)
@pytest.mark.usefixtures("reconfigured")
async def test_where_kueue_takes_objects_without_its_label_the_gate_keeps_off(ray: GateStage) -> None:
    await ray.queue(2)
    await ray.client.patch(NAMESPACES, ray.namespace, {"metadata": {"labels": {_TAKEN: "true"}}}, PatchType.MERGE)
    ray.queueing = Queueing(Admission.KUEUE, kueue_takes_unlabelled=True)
    async with ray.operator():
        await ray.create_cluster("one")
        found = await ray.until_quota("one", "Unknown", BY_KUEUE)
        assert "manageJobsWithoutQueueName" in found["message"]

        async def is_suspended() -> bool:
            return bool((await ray.cluster("one"))["spec"].get("suspend"))

        await ray.eventually(is_suspended)
        await ray.until_pods_of("one", 0)
        assert not await ray.workloads_of_gate()


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
async def test_a_cluster_that_does_not_come_up_in_time_gives_its_place_to_others(
    ray: GateStage, engine: str, request: pytest.FixtureRequest
) -> None:
    if engine == "kueue":
        request.getfixturevalue("reconfigured")
    ray.pods_ready = PodsReady(timeout=1)
    ray.kubelet.starts = lambda pod: False
    await ray.queue(1)
    async with ray.operator():
        await ray.create_cluster("stuck")
        await ray.until_workload("stuck", names.REQUEUED, "False", names.BY_PODS_READY_TIMEOUT)
        assert not await ray.pods_of("stuck")
