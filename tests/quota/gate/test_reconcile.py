"""The gate's loop on caches that are filled by hand: what it does where they are older than the server."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from rayward.kinds import labels
from rayward.kinds.kueue import Workload, names
from rayward.kube.client.api import Client
from rayward.kube.client.request import Request, Response
from rayward.kube.client.transport.base import ByteStream
from rayward.kube.core.objects import Key
from rayward.kube.runtime.clock import SYSTEM_CLOCK
from rayward.kube.runtime.events import ComponentRecorder, EventRecorder
from rayward.kube.runtime.registry import Environment, Informers
from rayward.quota.gate import GateReconciler
from rayward.quota.gate.metrics import GateMetrics
from rayward.quota.sources import ALL_WORKLOADS
from rayward.stack.composition import SHARED
from tests.operator.stage import running
from tests.quota.gate.stage import EMBEDDED
from tests.quota.gate.test_decide import HELD, cluster, workload

pytestmark = pytest.mark.anyio

CLUSTER: Final = Key("ns", "one")


class Server:
    """Has the pods that it is told of, and keeps what is written."""

    def __init__(self, *pods: dict[str, Any]) -> None:
        self.pods = list(pods)
        self.writes: list[str] = []

    async def request(self, request: Request) -> Response:
        if request.method == "GET":
            assert "resourceVersion=" not in request.target, "an old list is no proof"
            body = {"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "9"}, "items": self.pods}
            return Response(200, {}, msgspec.json.encode(body))
        self.writes.append(f"{request.method} {request.target}")
        return Response(404, {}, b'{"kind":"Status","code":404,"reason":"NotFound","message":"not found"}')

    def stream(self, request: Request) -> AbstractAsyncContextManager[ByteStream]:
        raise AssertionError("nobody watches here")

    async def close(self) -> None:
        pass


def _pod(mark: str) -> dict[str, Any]:
    meta: dict[str, Any] = {
        "name": "one-head",
        "namespace": "ns",
        "labels": {labels.CLUSTER: "one", labels.NODE_TYPE: labels.HEAD},
        "annotations": {labels.WORKLOAD: mark},
    }
    return {"metadata": meta, "status": {"phase": "Running"}}


async def _reconcile(server: Server, left: Workload) -> None:
    """Run the gate once about a RayCluster that is gone, of whose pods its caches know nothing."""
    client = Client(server)
    informers = Informers(client, "ns", SYSTEM_CLOCK)
    recorder = ComponentRecorder(EventRecorder(client, "test"), "test")
    environment = Environment(client, informers, recorder, SYSTEM_CLOCK, workers=1)
    gate = GateReconciler(environment, GateMetrics(CollectorRegistry()), EMBEDDED, SHARED)
    informers.cache(ALL_WORKLOADS).put(left, b"")
    gate.controller.add(CLUSTER)
    async with running(gate.controller.run):
        while not gate.controller.idle:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)


async def test_quota_is_given_back_only_after_the_server_says_that_no_pod_is_left() -> None:
    left = workload(cluster(), *HELD)
    holds = Server(_pod(left.metadata.annotation(names.SLICE_NAME)))
    await _reconcile(holds, left)
    assert holds.writes == []
    empty = Server()
    await _reconcile(empty, left)
    assert [write.partition("?")[0] for write in empty.writes] == [
        f"PATCH /apis/kueue.x-k8s.io/v1beta2/namespaces/ns/workloads/{left.metadata.name}/status"
    ]
