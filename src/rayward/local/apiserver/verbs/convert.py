"""Requests for custom objects in a version that a webhook has to make."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from rayward.local.apiserver.core import Core
from rayward.local.apiserver.crd.conversion import ConversionNeeded
from rayward.local.apiserver.request import Request

T = TypeVar("T")


async def converting(core: Core, request: Request, handler: Callable[[Core, Request], Awaitable[T]]) -> T:
    """Answer a request, from the start again whenever something had to be converted first."""
    while True:
        try:
            return await handler(core, request)
        except ConversionNeeded as needed:
            if not request.name:
                # a list needs them all: one question instead of one for each
                store = core.objects.store
                records = (store.newest(key) for key in store.keys(needed.resource.scope(request.namespace)))
                await core.objects.convert(needed.resource, [record for record in records if record is not None])
            await converted(core, needed)
            request.warnings.clear()


async def converted(core: Core, needed: ConversionNeeded) -> None:
    """Have converted what somebody needs."""
    await core.objects.convert(needed.resource, [needed.record])
