"""Objects that must be there and hold certain things."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, Never, TypeVar, cast

from rayward.kube.client.api import Client
from rayward.kube.client.errors import AlreadyExists, Forbidden, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import DONE, Controller, Result

T = TypeVar("T", bound=KubeObject)

_log = logging.getLogger(__name__)

Wanted = Callable[[Key], dict[str, Any] | None]
"""What an object must hold, by its key; None if it need not be."""


class Kept:
    """Makes the wanted objects of one collection, and mends them."""

    def __init__(
        self, name: str, client: Client, cache: Cache[KubeObject], wanted: Wanted, *, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._client = client
        self._cache = cache
        self._wanted = wanted
        self._controller = Controller(name, self._reconcile, workers=8, clock=clock)
        self._controller.watch(cache)

    def look_at(self, keys: Iterable[Key]) -> None:
        """Something these objects depend on has changed."""
        for key in keys:
            self._controller.add(key)

    def follow(self, cache: Cache[T], keys: Callable[[T | None, T | None], Iterable[Key]]) -> None:
        """Look at ``keys`` of (old, new) whenever ``cache`` changes."""
        self._controller.watch(cache, keys)

    async def run(self) -> Never:
        await self._controller.run()

    async def _reconcile(self, key: Key) -> Result:
        wanted = self._wanted(key)
        if wanted is None:
            return DONE
        present = self._cache.whole(key)
        namespace = key.namespace or None
        try:
            if present is None:
                await self._client.create(self._cache.resource, wanted, namespace)
                _log.info("%s %s created", self._cache.resource, key)
            elif not holds(present, wanted):
                await self._client.patch(self._cache.resource, key.name, wanted, PatchType.MERGE, namespace)
                _log.info("%s %s mended", self._cache.resource, key)
        except (AlreadyExists, NotFound):
            # Made by another, or its namespace went or is not there yet: a watch will tell.
            return DONE
        except Forbidden as error:
            if not error.has_cause("NamespaceTerminating"):
                raise
        return DONE


def holds(present: Any, wanted: Any) -> bool:
    """Whether all that is wanted is there; more may be."""
    if isinstance(wanted, dict):
        fields = cast("dict[str, Any]", wanted)
        if not isinstance(present, dict):
            return False
        found = cast("dict[str, Any]", present)
        return all(name in found and holds(found[name], value) for name, value in fields.items())
    if isinstance(wanted, list):
        items = cast("list[Any]", wanted)
        if not isinstance(present, list):
            return False
        there = cast("list[Any]", present)
        return len(there) == len(items) and all(holds(a, b) for a, b in zip(there, items, strict=True))
    return bool(present == wanted)
