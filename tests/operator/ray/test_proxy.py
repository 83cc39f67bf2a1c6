from __future__ import annotations

import pytest

from rayward.kube.runtime.clock import SYSTEM_CLOCK
from rayward.operator.ray.dashboard import Dashboard
from rayward.operator.ray.errors import Unreachable
from rayward.operator.ray.proxy import ServeProxy
from rayward.operator.ray.reach import PodPort
from tests.operator.ray.simulated import SimulatedHead, SimulatedReach
from tests.operator.ray.test_dashboard import AT_ONCE, CONFIG, Saying

pytestmark = pytest.mark.anyio


async def test_a_proxy_is_there_once_serve_has_started() -> None:
    reach = SimulatedReach()
    dashboard = Dashboard(reach, reach.add(SimulatedHead(SYSTEM_CLOCK.now, timings=AT_ONCE)))
    proxy = ServeProxy(reach, PodPort("default", "head", "10.1.2.3", 8000))
    with pytest.raises(Unreachable):
        await proxy.healthy()
    await dashboard.deploy(CONFIG)
    assert await proxy.healthy()


async def test_a_drained_proxy_takes_no_traffic() -> None:
    proxy = ServeProxy(Saying(503, b"This node is being drained."), PodPort("default", "head", "10.1.2.3", 8000))
    assert not await proxy.healthy()
