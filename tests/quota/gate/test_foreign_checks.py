"""A queue with Kueue's own MultiKueue check is of no use to the gate, which says so and asks nothing of it."""

from __future__ import annotations

import pytest

from rayward.kinds.managedby import MULTIKUEUE
from rayward.quota.checks import UNSUPPORTED
from tests.quota.gate.stage import ENGINES, GateStage

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("engine", ENGINES, indirect=True)]


async def test_a_queue_with_kueues_own_multikueue_check_is_said_to_be_of_no_use_until_it_has_none(
    ray: GateStage,
) -> None:
    await ray.add_check(MULTIKUEUE)
    await ray.queue(1, admissionChecksStrategy={"admissionChecks": [{"name": ray.namespace}]})
    async with ray.operator():
        await ray.create_cluster("one")
        told = await ray.until_quota("one", "False", UNSUPPORTED, "rayward.dev/multicluster")
        assert f"AdmissionCheck {ray.namespace}" in told["message"]
        await ray.until_reasons(UNSUPPORTED)
        assert not await ray.workloads()
        await ray.queue(1)
        await ray.until_pods_of("one", 1)
