"""Every version of some objects, as a watch tells of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from rayward.kube.client.watch import Change, ChangeType
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import Resource
from rayward.net.errors import TimedOut
from tests.operator.stage import Stage

_WATCH_SECONDS: Final = 3000


@asynccontextmanager
async def watching(
    ray: Stage, watched: Sequence[tuple[Resource, type[KubeObject]]], saw: Callable[[ChangeType, KubeObject], None]
) -> AsyncGenerator[None]:
    """Tell of each change until the block ends."""

    async def look(resource: Resource, kind: type[Any]) -> None:
        version = (await ray.client.page(resource, ray.namespace)).resource_version
        while True:
            options: dict[str, Any] = {"resource_version": version, "timeout_seconds": _WATCH_SECONDS}
            # Where nothing changes for a minute the client gives a watch up; it goes on where it was.
            with suppress(TimedOut):
                async with ray.client.watch(resource, kind, ray.namespace, **options) as changes:
                    begun[resource].set()
                    async for change in changes:
                        if isinstance(change, Change):
                            version = change.object.metadata.resource_version
                            saw(change.type, change.object)
                raise AssertionError("a watch of the witness ended")

    begun = {resource: asyncio.Event() for resource, _ in watched}
    looking = [asyncio.ensure_future(look(resource, kind)) for resource, kind in watched]
    try:
        await asyncio.gather(*(event.wait() for event in begun.values()))
        yield
        for task in looking:
            if task.done():
                task.result()
    finally:
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)
