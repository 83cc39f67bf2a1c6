"""The way through a real kube-apiserver."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import PODS, SERVICE_ACCOUNTS
from rayward.kube.runtime.clock import SYSTEM_CLOCK
from rayward.operator.ray.dashboard import Dashboard
from rayward.operator.ray.errors import Refused, Unauthorized, Unreachable
from rayward.operator.ray.reach import PodPort, ProxiedReach, ServicePort
from tests.kube.address import own_address
from tests.kube.real.cluster import RealControlPlane
from tests.operator.ray.simulated import SimulatedHead, listening
from tests.operator.ray.test_dashboard import AT_ONCE, CONFIG

pytestmark = [pytest.mark.kube, pytest.mark.anyio]


def _pod(port: int) -> dict[str, Any]:
    container = {"name": "ray-head", "image": "ray", "ports": [{"containerPort": port}]}
    return {
        "metadata": {"name": "demo-head", "namespace": "default"},
        "spec": {"nodeName": "n", "automountServiceAccountToken": False, "containers": [container]},
    }


async def test_a_head_is_reached_through_a_real_api_server() -> None:
    address = own_address()
    head = SimulatedHead(SYSTEM_CLOCK.now, token="secret", timings=AT_ONCE)
    with RealControlPlane() as plane:
        async with Client.connect(find_access(plane.kubeconfig)) as client:
            reach = ProxiedReach(client.transport)
            async with listening(head, address) as port:
                await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default"}}, "default")
                await client.create(PODS, _pod(port), "default")
                place = PodPort("default", "demo-head", address, port)
                with pytest.raises(Unreachable, match="address not allowed"):
                    await Dashboard(reach, place, token="secret").version()
                status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
                await client.patch(
                    PODS, "demo-head", {"status": status}, PatchType.MERGE, "default", subresource="status"
                )
                dashboard = Dashboard(reach, place, token="secret")
                assert (await dashboard.version()).session_name == head.session
                await dashboard.deploy(CONFIG)
                assert (await dashboard.serve()).applications["a"].status == "DEPLOYING"
                with pytest.raises(Refused, match="Field required"):
                    await dashboard.deploy(orjson.dumps({}))
                with pytest.raises(Unauthorized, match="Missing authentication token"):
                    await Dashboard(reach, place).version()
                with pytest.raises(Unreachable, match='services "none" not found'):
                    await Dashboard(reach, ServicePort("default", "none", 8265, "dashboard")).version()
            with pytest.raises(Unreachable, match="connection refused"):
                await dashboard.version()
