"""Real Ray Serve under load: releases change, requests are answered."""

from __future__ import annotations

import time

import pytest
from demo.load import Load

from tests.ray.service import HelloService
from tests.ray.stack import PATIENCE, RayStack
from tests.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.timeout(1500)]


@pytest.mark.parametrize(("upgrades", "requests"), [(3, 7_000), pytest.param(20, 50_000, marks=pytest.mark.soak)])
def test_upgrades_in_a_row_lose_no_request(stack: RayStack, upgrades: int, requests: int) -> None:
    # A replaced cluster stands until it is ended here, so that it could answer after its drain.
    service = HelloService(stack, "many", rayClusterDeletionDelaySeconds=3600)
    service.serves("1")
    address = service.address
    with Load(address.host, address.shell_port, rate=100) as load:
        answered, last = load.tally.answered, load.tally.last_answer
        times: list[float] = []
        for number in range(2, upgrades + 2):
            old, new = str(number - 1), str(number)
            before, answers = service.active, answered[old]
            began = time.monotonic()
            service.set_release(new)
            eventually(lambda new=new: answered[new] > 0, PATIENCE)
            times.append(time.monotonic() - began)
            assert answered[old] > answers, "the former release answered while the new one was made"
            eventually(lambda old=before: not service.is_busy(old), PATIENCE)
            drained = time.monotonic()
            eventually(lambda count=load.tally.sent: load.tally.sent > count + 50, PATIENCE)
            assert last[old] < drained, "no answer of the former release after its drain"
            assert before in service.clusters(), "the former release could have answered"
            service.end_deletion_delay(before)
            eventually(lambda old=before: old not in service.clusters() and service.active != old, PATIENCE)
        eventually(lambda: load.tally.sent >= requests, requests / 50)
        tally = load.stop()

    times.sort()
    print(
        f"{upgrades} upgrades, {tally.sent} requests, {len(tally.lost)} lost; "
        f"edit to first answer of the new release: median {times[len(times) // 2]:.1f} s, longest {times[-1]:.1f} s; "
        f"latency: median {tally.quantile(0.5) * 1000:.0f} ms, 99 % {tally.quantile(0.99) * 1000:.0f} ms"
    )
    assert tally.lost == []
    assert tally.sent >= requests
    service.delete()
