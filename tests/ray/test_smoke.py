"""The least that must be true of real Ray on every run of the tests: a cluster computes, a service is upgraded."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

import pytest
from demo.load import Load

from tests.ray.service import HelloService
from tests.ray.stack import PATIENCE, RayStack, sample_cluster
from tests.waiting import eventually

pytestmark = [pytest.mark.timeout(900), pytest.mark.xdist_group("real-ray")]

_UPGRADES: Final = 3


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Generator[RayStack]:
    with RayStack(tmp_path_factory.mktemp("smoke") / "stack") as running:
        yield running


def test_a_task_runs_on_every_node_of_a_cluster(stack: RayStack) -> None:
    stack.apply(sample_cluster("smoke", 1))
    stack.becomes_ready("smoke", pods=2)

    assert len({network for _, _, network in stack.everywhere("smoke")}) == 2
    stack.rayward("delete", "raycluster", "smoke")


def test_three_upgrades_lose_no_request(stack: RayStack) -> None:
    service = HelloService(stack, "few", rayClusterDeletionDelaySeconds=0)
    service.serves("1")
    address = service.address
    with Load(address.host, address.shell_port, rate=20) as load:
        for release in range(2, _UPGRADES + 2):
            before = service.active
            service.set_release(str(release))
            eventually(lambda new=str(release): load.tally.answered[new] > 0, PATIENCE)
            eventually(lambda old=before: old not in service.clusters(), PATIENCE)
            assert load.tally.answered[str(release - 1)] > 0
        tally = load.stop()

    print(f"{_UPGRADES} upgrades, {tally.sent} requests, {len(tally.lost)} lost")
    assert tally.lost == []
    service.delete()
