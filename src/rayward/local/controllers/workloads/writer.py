"""Writes of workload controllers, each told to the work queue, so that a key waits until its caches show them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any

import msgspec

from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError, Conflict, Forbidden, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.core.meta import controller_reference
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import Controller
from rayward.local.controllers.workloads.common import Claimed, Object, adoption, release_of


class Writer:
    """Writes for one controller."""

    def __init__(self, client: Client, controller: Controller) -> None:
        self._client = client
        self._controller = controller

    async def send(self, writer: Key, cache: Cache[Any], request: Request) -> KubeObject:
        """Send a write of an object of ``cache``."""
        answer = await self._client.send_as(request, KubeObject)
        self._controller.wrote(writer, cache, answer)
        return answer

    async def update(self, writer: Key, cache: Cache[Any], whole: Object, subresource: str | None = None) -> None:
        """Replace an object, as it was read."""
        metadata = whole["metadata"]
        request = verbs.update(cache.resource, whole, metadata["name"], metadata["namespace"], subresource=subresource)
        await self.send(writer, cache, request)

    async def update_status(self, writer: Key, cache: Cache[Any], key: Key, status: msgspec.Struct) -> None:
        """Replace the status of an object that is still there."""
        whole = cache.whole(key)
        if whole is not None:
            whole["status"] = msgspec.to_builtins(status)
            await self.update(writer, cache, whole, "status")

    async def delete(self, writer: Key, cache: Cache[Any], found: KubeObject) -> bool:
        """Delete this very object; whether it was there."""
        about = found.metadata
        request = verbs.delete(cache.resource, about.name, about.namespace, uid=about.uid)
        try:
            await self.send(writer, cache, request)
        except (NotFound, Conflict):
            return False
        return True

    async def settle(self, writer: Key, cache: Cache[Any], owner: tuple[KubeObject, Any], claimed: Claimed) -> None:
        """Adopt and let go; ``owner`` is the object and its resource."""
        reference = msgspec.to_builtins(controller_reference(*owner))
        changes = [(found, adoption(reference, found)) for found in claimed.adopt]
        changes += [(found, release_of(owner[0], found)) for found in claimed.release]
        await every(self._patch(writer, cache, found, change) for found, change in changes)

    async def _patch(self, writer: Key, cache: Cache[Any], found: KubeObject, change: Object) -> None:
        about = found.metadata
        request = verbs.patch(cache.resource, about.name, change, PatchType.STRATEGIC, about.namespace)
        try:
            await self.send(writer, cache, request)
        except (NotFound, Conflict):
            # Gone, or another of this name by now.
            return


async def every(writes: Iterable[Awaitable[Any]]) -> None:
    """Do all, and none is given up because another was refused."""
    for outcome in await asyncio.gather(*writes, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome


def is_ending(error: ApiError) -> bool:
    """Whether a write was refused because the namespace is going: nothing to complain of."""
    return isinstance(error, NotFound) or (isinstance(error, Forbidden) and error.has_cause("NamespaceTerminating"))
