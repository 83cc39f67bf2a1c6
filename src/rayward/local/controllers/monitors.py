"""Watches the metadata of everything that can be deleted, also of kinds that come and go at run time."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Final, Never

from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError
from rayward.kube.client.metadata import metadata_client
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import CUSTOM_RESOURCE_DEFINITIONS, Resource
from rayward.kube.runtime.backoff import Backoff
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.reflector import Reflector
from rayward.local.controllers.catalogue import Catalogue, Served
from rayward.net.errors import NetworkError

_log = logging.getLogger(__name__)
_REFRESH_SECONDS: Final = 30.0
_SETTLE_SECONDS: Final = 0.05
_SYNC_TIMEOUT_SECONDS: Final = 30.0
_BACKOFF: Final = Backoff(0.2, 10.0)
# Events are no part of any family, and there are many.
_IGNORED: Final = frozenset({("", "events"), ("events.k8s.io", "events")})

Changed = Callable[[Resource, KubeObject | None, KubeObject | None], None]
"""Told of each change: (None, new) added, (old, new) modified, (old, None) deleted."""
Unwatched = Callable[[KubeObject], None]
"""Told of each object of a kind that is served no more."""


class _Monitor:
    def __init__(self, reflector: Reflector[KubeObject], since: float) -> None:
        self.reflector = reflector
        self.since = since
        self.task = asyncio.create_task(reflector.run())

    @property
    def cache(self) -> Cache[KubeObject]:
        return self.reflector.cache


class Monitors:
    """One watch for each collection in the catalogue, which it keeps up to date."""

    def __init__(self, client: Client, catalogue: Catalogue, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self.catalogue = catalogue
        self._client = client
        self._metadata = metadata_client(client)
        self._clock = clock
        self._monitors: dict[Resource, _Monitor] = {}
        self._listeners: list[tuple[Changed, Unwatched | None]] = []
        self._definitions_changed = asyncio.Event()
        self._begun = False

    def subscribe(self, changed: Changed, unwatched: Unwatched | None = None) -> None:
        """Tell of every change from now on; before ``run``, so that nothing is missed."""
        self._listeners.append((changed, unwatched))

    @property
    def synced(self) -> bool:
        """Whether all there is was seen; a collection that cannot be listed is waited for only so long."""
        now = self._clock.now()
        return self._begun and all(
            monitor.cache.synced or now - monitor.since > _SYNC_TIMEOUT_SECONDS for monitor in self._monitors.values()
        )

    async def run(self) -> Never:
        failures = 0
        try:
            while True:
                self._definitions_changed.clear()
                try:
                    await self.catalogue.refresh(self._client)
                    self._follow()
                    failures, wait = 0, _REFRESH_SECONDS
                except (ApiError, NetworkError) as error:
                    failures += 1
                    wait = _BACKOFF.after(failures, random.random())  # noqa: S311
                    _log.warning("cannot ask the server what it serves, again in %.1f s: %s", wait, error)
                await self._until_definitions_change(wait)
        finally:
            for resource in tuple(self._monitors):
                await self._stop(resource)

    def _follow(self) -> None:
        wanted = {served.resource for served in self.catalogue if _is_monitored(served)}
        for resource in self._monitors.keys() - wanted:
            self._unwatch(resource)
        for resource in wanted - self._monitors.keys():
            self._watch(resource)
        self._begun = True

    def _watch(self, resource: Resource) -> None:
        cache: Cache[KubeObject] = Cache(resource, KubeObject, keep_raw=False)

        def listener(old: KubeObject | None, new: KubeObject | None) -> None:
            if resource == CUSTOM_RESOURCE_DEFINITIONS:
                self._definitions_changed.set()
            for changed, _ in self._listeners:
                changed(resource, old, new)

        cache.subscribe(listener)
        reflector = Reflector(self._metadata, cache, clock=self._clock)
        self._monitors[resource] = _Monitor(reflector, self._clock.now())

    def _unwatch(self, resource: Resource) -> None:
        monitor = self._monitors.pop(resource)
        monitor.task.cancel()
        for found in monitor.cache:
            for _, unwatched in self._listeners:
                if unwatched is not None:
                    unwatched(found)

    async def _stop(self, resource: Resource) -> None:
        task = self._monitors.pop(resource).task
        task.cancel()
        await asyncio.wait([task])

    async def _until_definitions_change(self, seconds: float) -> None:
        try:
            await self._clock.within(seconds, self._definitions_changed.wait())
        except TimeoutError:
            return
        # Many come at once when an operator is installed.
        await self._clock.sleep(_SETTLE_SECONDS)


def _is_monitored(served: Served) -> bool:
    resource = served.resource
    return served.can("delete", "list", "watch") and (resource.group, resource.plural) not in _IGNORED
