"""Kueue with settings that it is not shipped with: it manages objects without its label, and waits for pods."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.kinds.admission import BY_KUEUE, Admission, Queueing
from rayward.kinds.kueue import names
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import NAMESPACES
from rayward.quota.engine.lifecycle import PodsReady
from tests.kube.kueue import Kueue
from tests.quota.gate.stage import ENGINES, KUEUE_ONLY, GateStage

pytestmark = pytest.mark.anyio

_TAKEN = "tests.rayward.dev/kueue-takes-all"


@pytest.fixture(scope="module")
def reconfigured(kueue_on_real: tuple[Path, Kueue]) -> Iterator[None]:
    """Until the module ends, in which no other test needs Kueue as it is shipped."""
    _, manager = kueue_on_real
    manager.stop()
    manager.start(
        manageJobsWithoutQueueName=True,
        managedJobsNamespaceSelector={"matchLabels": {_TAKEN: "true"}},
        waitForPodsReady={"timeout": "1s"},
    )
    yield
    manager.restore()


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
