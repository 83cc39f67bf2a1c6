"""Watches the pods of one namespace from the start: whether there was ever one too many."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from rayward.kinds import labels
from rayward.kube.client.api import Client
from rayward.kube.client.watch import Change, ChangeType
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import PODS

_WATCH_SECONDS: Final = 3000


class Witness:
    """Counts pods after every change.

    A worker counts until somebody asked for its deletion, a head until it is gone: two heads of one cluster would
    fight for its state.
    """

    def __init__(self) -> None:
        self.most: dict[str, int] = {}
        """The most pods there ever were at once, by group."""
        self._pods: dict[str, Pod] = {}

    def saw(self, kind: ChangeType, pod: Pod) -> None:
        """One change, in the order of the server."""
        if kind is ChangeType.DELETED:
            self._pods.pop(pod.metadata.uid, None)
        else:
            self._pods[pod.metadata.uid] = pod
        present = Counter(
            found.metadata.label(labels.GROUP)
            for found in self._pods.values()
            if not found.deleting or found.metadata.label(labels.NODE_TYPE) == labels.HEAD
        )
        for group, count in present.items():
            self.most[group] = max(self.most.get(group, 0), count)

    def swears(self, allowed: Mapping[str, int]) -> None:
        """Nothing was ever beyond what is allowed."""
        beyond = {group: count for group, count in self.most.items() if count > allowed.get(group, 0)}
        assert beyond == {}, f"too many pods: {beyond}, allowed {dict(allowed)}"


@asynccontextmanager
async def witness(client: Client, namespace: str) -> AsyncGenerator[Witness]:
    """Watch until the block ends; every change up to its end is seen."""
    seen = Witness()
    start = (await client.page(PODS, namespace)).resource_version
    options = {"resource_version": start, "timeout_seconds": _WATCH_SECONDS}

    async def look() -> None:
        async with client.watch(PODS, Pod, namespace, **options) as changes:  # pyright: ignore[reportArgumentType]
            async for change in changes:
                if isinstance(change, Change):
                    seen.saw(change.type, change.object)
        raise AssertionError("the watch of the witness ended")

    looking = asyncio.ensure_future(look())
    try:
        yield seen
        if looking.done():
            looking.result()
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
