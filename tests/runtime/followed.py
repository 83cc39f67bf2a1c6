"""A simulated server, a reflector on it, and all that a listener was told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from rayward.kube.client.api import Client
from rayward.kube.core.objects import Key
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import PODS
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.reflector import Reflector
from tests.runtime.simulated import Simulated
from tests.runtime.virtual import VirtualClock, run


class Followed:
    """A server, a reflector on it, and all that a listener was told."""

    def __init__(self, server: Simulated, **more: Any) -> None:
        self.server = server
        self.cache = Cache(PODS, Pod)
        self.told: list[tuple[str, str, int]] = []
        self.cache.subscribe(self._note)
        self._known: dict[Key, Pod] = {}
        self._problems: list[AssertionError] = []
        self.first_sync = (-1, 0)
        """The version of the first list, and how much was told of it."""
        self.cache.subscribe_version(self._note_first_sync)
        self.reflector = Reflector(Client(server), self.cache, clock=VirtualClock(), chance=lambda: 0.5, **more)
        self.task = asyncio.ensure_future(self.reflector.run())

    def _note(self, old: Pod | None, new: Pod | None) -> None:
        try:
            self._check(old, new)
        except AssertionError as problem:  # a cache shields itself from its listeners
            self._problems.append(problem)

    def _check(self, old: Pod | None, new: Pod | None) -> None:
        """Every notice must fit to the one before it: nothing lost, doubled or out of order."""
        seen = new or old
        assert seen is not None
        known = self._known.get(seen.key)
        if old is None:
            assert known is None, f"{seen.key} was added twice"
            kind = "ADDED"
        else:
            assert known is not None, f"{seen.key} changed before it was added"
            assert known.metadata.uid == old.metadata.uid
            kind = "DELETED" if new is None else "MODIFIED"
        if new is None:
            del self._known[seen.key]
        else:
            if known is not None:
                assert int(new.metadata.resource_version) > int(known.metadata.resource_version)
            self._known[seen.key] = new
        self.told.append((kind, seen.metadata.name, int(seen.metadata.resource_version)))

    def _note_first_sync(self, version: int) -> None:
        if self.first_sync[0] < 0:
            self.first_sync = (version, len(self.told))

    @property
    def held(self) -> dict[str, str]:
        return {found.metadata.name: found.metadata.resource_version for found in self.cache}

    @property
    def wanted(self) -> dict[str, str]:
        return {name: found["metadata"]["resourceVersion"] for name, found in self.server.objects.items()}

    async def settle(self, seconds: float = 1.0) -> None:
        await asyncio.sleep(seconds)
        assert not self.task.done()
        if self._problems:
            raise self._problems[0]

    async def stop(self) -> None:
        await self.settle(0)
        self.task.cancel()
        await asyncio.wait([self.task])


def simulated(test: Callable[[Simulated], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """A test in virtual time, on a server of its own."""

    def wrapped() -> None:
        run(test(Simulated()))

    wrapped.__name__ = test.__name__
    wrapped.__doc__ = test.__doc__
    return wrapped
