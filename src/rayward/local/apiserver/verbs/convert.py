"""Requests for custom objects in a version that a webhook has to make."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from rayward.local.apiserver.core import Core
from rayward.local.apiserver.crd.conversion import ConversionNeeded
from rayward.local.apiserver.request import Request
from rayward.local.store import Record

T = TypeVar("T")


async def converting(core: Core, request: Request, handler: Callable[[Core, Request], Awaitable[T]]) -> T:
    """Answer a request, from the start again whenever something had to be converted first."""
    wanted: dict[tuple[str, int], Record] = {}
    while True:
        try:
            return await handler(core, request)
        except ConversionNeeded as needed:
            store, resource = core.objects.store, needed.resource
            # a list needs them all: one question instead of one for each
            keys = store.keys(resource.scope(request.namespace)) if not request.name else ()
            listed = [record for key in keys if (record := store.newest(key)) is not None]
            wanted |= {(record.key, record.revision): record for record in (*listed, needed.record)}
            # what was needed before is needed again: together, so that none is forgotten for the next
            await core.objects.convert(resource, list(wanted.values()))
            request.warnings.clear()


async def converted(core: Core, needed: ConversionNeeded) -> None:
    """Have converted what somebody needs."""
    await core.objects.convert(needed.resource, [needed.record])
