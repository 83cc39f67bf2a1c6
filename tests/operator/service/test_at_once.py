"""What the operator adds to Ray's own time: between an edit and the pods of the new release it waits for nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import pytest

from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.api import Client
from rayward.kube.client.request import Request, Response
from rayward.kube.client.transport.base import ByteStream, Transport
from rayward.kube.core.resource import PODS
from rayward.kube.runtime.controller import Result
from rayward.operator.cluster.reconcile import ClusterReconciler
from rayward.operator.service.reconcile import ServiceReconciler
from tests.operator.service.stage import NAME, ServiceStage, cluster_config, service
from tests.operator.stage import group

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Run:
    """One reconcile: of which object, and which one since its spec was edited."""

    kind: str
    name: str
    generation: int
    number: int


_run: ContextVar[Run | None] = ContextVar("run", default=None)


class Noting:
    """Carries requests, and notes which reconcile sent each."""

    def __init__(self, transport: Transport) -> None:
        self.sent: list[tuple[Run | None, str, str]] = []
        self._transport = transport

    async def request(self, request: Request) -> Response:
        path = request.target.partition("?")[0]
        self.sent.append((_run.get(), request.method, path))
        return await self._transport.request(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[ByteStream]:
        return self._transport.stream(request)

    async def close(self) -> None:
        """The transport is not ours to close."""

    def of(self, run: Run) -> list[tuple[str, str]]:
        """Method and collection of each request of a reconcile, in order."""
        return [
            (method, next((part for part in ("pods", "rayclusters", "rayservices") if f"/{part}" in path), path))
            for sender, method, path in self.sent
            if sender == run
        ]


def _counted(monkeypatch: pytest.MonkeyPatch, reconciler: type[Any], kind: str) -> None:
    reconcile: Callable[..., Awaitable[Result]] = reconciler.reconcile
    runs = Counter[tuple[str, int]]()

    async def counted(self: Any, found: Any, local: Any) -> Result:
        meta = found.metadata
        runs[meta.name, meta.generation] += 1
        _run.set(Run(kind, meta.name, meta.generation, runs[meta.name, meta.generation]))
        return await reconcile(self, found, local)

    monkeypatch.setattr(reconciler, "reconcile", counted)


async def test_the_reconcile_that_sees_an_edit_asks_for_the_new_release(
    ray: ServiceStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    _counted(monkeypatch, ServiceReconciler, RAY_SERVICES.kind)
    _counted(monkeypatch, ClusterReconciler, RAY_CLUSTERS.kind)
    noting = Noting(ray.client.transport)
    workers = [group("workers", replicas=2)]
    async with ray.operator(Client(noting, namespace=ray.client.namespace)):
        await ray.create(service(cluster_config("rayproject/ray:a", workers), rayClusterDeletionDelaySeconds=3600))
        old = await ray.until_settled()
        ray.kubelet.starts = lambda pod: False
        edited = await ray.edit(rayClusterConfig=cluster_config("rayproject/ray:b", workers))
        (new,) = await ray.until_names(lambda names: len(names) == 2) - {old}

        async def asked() -> bool:
            return len([pod for pod in await ray.objects(PODS) if pod["metadata"]["name"].startswith(new)]) == 3

        await ray.eventually(asked)

    sees = Run(RAY_SERVICES.kind, NAME, edited["metadata"]["generation"], 1)
    sent = noting.of(sees)
    assert ("POST", "rayclusters") in sent
    before = sent[: sent.index(("POST", "rayclusters"))]
    assert set(before) <= {("PATCH", "rayclusters")}, "but for what the next operator must know, it comes first"
    makers = {run for run, method, path in noting.sent if method == "POST" and path.endswith("/pods")}
    assert {run for run in makers if run is None or run.name == new} == {Run(RAY_CLUSTERS.kind, new, 1, 1)}
