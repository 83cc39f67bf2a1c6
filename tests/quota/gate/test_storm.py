"""All services of a queue are upgraded at once, with quota for three new releases beside ten old ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayward.kube.client.config import find_access
from tests.quota.gate.stage import GateStage
from tests.quota.gate.storm import storm

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("services", [10, pytest.param(200, marks=pytest.mark.soak)])
async def test_every_upgrade_of_a_storm_ends_and_no_pod_is_over_quota(embedded_kubeconfig: Path, services: int) -> None:
    quota = services * 13 // 10
    async with GateStage.on(find_access(embedded_kubeconfig)) as ray:
        found = await storm(ray, services, quota, patience=600.0 + 5.0 * services)
    assert services < found.peak <= quota
