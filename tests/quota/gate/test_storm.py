"""All services of a queue are upgraded at once, with quota for three new releases beside ten old ones."""

from __future__ import annotations

import pytest

from tests.quota.gate.stage import GateStage
from tests.quota.gate.storm import storm

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(3600)]


@pytest.mark.parametrize(
    ("engine", "services"),
    [
        ("embedded", 10),
        pytest.param("kueue", 10, marks=pytest.mark.kube),
        pytest.param("embedded", 200, marks=pytest.mark.soak),
    ],
    indirect=["engine"],
)
async def test_every_upgrade_of_a_storm_ends_and_no_pod_is_over_quota(ray: GateStage, services: int) -> None:
    quota = services * 13 // 10
    found = await storm(ray, services, quota, patience=600.0 + 5.0 * services)
    assert services < found.peak <= quota
