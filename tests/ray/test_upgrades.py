"""Real Ray Serve under load: releases change, requests are answered."""

from __future__ import annotations

import time
from typing import Final

import pytest
from demo.load import Load

from tests.ray.service import HelloService
from tests.ray.stack import PATIENCE, RayStack
from tests.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.timeout(1500)]

_UPGRADES: Final = 20
_ENOUGH: Final = 50_000


def test_twenty_upgrades_in_a_row_lose_no_request(stack: RayStack) -> None:
    service = HelloService(stack, "many", rayClusterDeletionDelaySeconds=0)
    service.serves("1")
    address = service.address
    with Load(address.host, address.shell_port, rate=100) as load:
        times: list[float] = []
        for release in range(2, _UPGRADES + 2):
            before = service.active
            began = time.monotonic()
            service.set_release(str(release))
            eventually(lambda new=str(release): load.tally.answered[new] > 0, PATIENCE)
            times.append(time.monotonic() - began)
            eventually(lambda old=before: old not in service.clusters() and service.active != old, PATIENCE)
            assert load.tally.answered[str(release - 1)] > 0, "each upgrade saw answers of both releases"
            drained = time.monotonic()
            eventually(lambda new=str(release), count=load.tally.sent: load.tally.sent > count + 50, PATIENCE)
            assert load.tally.last_answer[str(release - 1)] < drained
        eventually(lambda: load.tally.sent >= _ENOUGH, _ENOUGH / 50)
        tally = load.stop()

    times.sort()
    print(
        f"{_UPGRADES} upgrades, {tally.sent} requests, {len(tally.lost)} lost; "
        f"edit to first answer of the new release: median {times[len(times) // 2]:.1f} s, longest {times[-1]:.1f} s; "
        f"latency: median {tally.quantile(0.5) * 1000:.0f} ms, 99 % {tally.quantile(0.99) * 1000:.0f} ms"
    )
    assert tally.lost == []
    assert tally.sent >= _ENOUGH
    service.delete()
