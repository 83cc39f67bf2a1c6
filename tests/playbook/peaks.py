"""What the pods of each RayService or RayCluster of a namespace request at most, as a watch of pods tells it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from rayward.changes.costs import Amounts, added, most
from rayward.kube.client.api import Client
from rayward.kube.client.errors import Gone
from rayward.kube.client.watch import Change, ChangeType
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import PODS
from rayward.kube.machinery import quantity
from rayward.kube.machinery.podrequests import pod_requests
from tests.operator.stage import Object

Shown = dict[str, str]


class Peaks:
    """Counts pods that nobody deletes; those of an object have names that begin with its own."""

    def __init__(self) -> None:
        self._pods: dict[str, tuple[str, Amounts]] = {}
        self._most: dict[str, Amounts] = {}

    def begin(self, name: str) -> None:
        """From now on the most is asked for."""
        self._most[name] = self._total(name)

    def peak(self, name: str) -> Amounts:
        return self._most[name]

    def now(self, name: str) -> Amounts:
        return self._total(name)

    async def follow(self, client: Client, namespace: str) -> None:
        """Follow the pods until cancelled."""
        while True:
            page = await client.page(PODS, namespace)
            self._pods.clear()
            for pod in page.items:
                self._take(pod)
            with contextlib.suppress(Gone):
                async with client.watch(PODS, KubeObject, namespace, resource_version=page.resource_version) as events:
                    async for event in events:
                        if isinstance(event, Change):
                            self._take(event.whole(), deleted=event.type is ChangeType.DELETED)

    def _take(self, pod: Object, *, deleted: bool = False) -> None:
        metadata = pod["metadata"]
        if deleted or "deletionTimestamp" in metadata:
            self._pods.pop(metadata["uid"], None)
        elif metadata["uid"] not in self._pods:
            self._pods[metadata["uid"]] = metadata["name"], {**pod_requests(pod["spec"]), "pods": quantity.parse(1)}
            for name, so_far in self._most.items():
                if metadata["name"].startswith(f"{name}-"):
                    self._most[name] = most(so_far, self._total(name))

    def _total(self, name: str) -> Amounts:
        found: Amounts = {}
        for pod, amounts in self._pods.values():
            if pod.startswith(f"{name}-"):
                found = added(found, amounts)
        return found


@contextlib.asynccontextmanager
async def peaks(client: Client, namespace: str) -> AsyncGenerator[Peaks]:
    """Peaks that are followed meanwhile."""
    found = Peaks()
    task = asyncio.create_task(found.follow(client, namespace))
    try:
        yield found
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def shown(amounts: Amounts) -> Shown:
    """Amounts that can be compared."""
    return {name: str(amount) for name, amount in sorted(amounts.items()) if not amount.is_zero}


def within(amounts: Amounts, limit: Amounts) -> bool:
    """Whether none is above its limit."""
    return all(amount <= limit.get(name, quantity.ZERO) for name, amount in amounts.items())
