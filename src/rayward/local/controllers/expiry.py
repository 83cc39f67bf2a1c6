"""Events end an hour after they were last seen."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, Never

from rayward.kube.client.api import Client
from rayward.kube.client.errors import Conflict, NotFound
from rayward.kube.core.meta import parse_time
from rayward.kube.core.objects import Key, KubeObject, Slim
from rayward.kube.core.resource import EVENTS
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import DONE, Controller, Result

LIFETIME: Final = timedelta(hours=1)


class _Series(Slim, frozen=True, gc=False):
    last_observed_time: str | None = None


class TimedEvent(KubeObject, frozen=True, gc=False):
    """The times of an Event, of either API group."""

    event_time: str | None = None
    last_timestamp: str | None = None
    series: _Series | None = None


def last_seen(event: TimedEvent) -> datetime | None:
    """The latest of its times; None if it has none that can be read."""
    found = (
        event.metadata.creation_timestamp,
        event.event_time,
        event.last_timestamp,
        event.series.last_observed_time if event.series is not None else None,
    )
    times = [moment for text in found if text and (moment := _read(text)) is not None]
    return max(times, default=None)


def seconds_left(event: TimedEvent, now: datetime) -> float:
    """How long it may still stay; one from the future no longer than a new one."""
    seen = last_seen(event)
    return 0.0 if seen is None else (min(seen, now) + LIFETIME - now).total_seconds()


def _read(text: str) -> datetime | None:
    try:
        return parse_time(text)
    except ValueError:
        return None


class EventExpiry:
    """Deletes Events that are too old."""

    def __init__(self, client: Client, events: Cache[TimedEvent], *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._client = client
        self._events = events
        self._clock = clock
        self._controller = Controller("event expiry", self._reconcile, workers=4, clock=clock)
        self._controller.watch(events)

    async def run(self) -> Never:
        await self._controller.run()

    async def _reconcile(self, key: Key) -> Result:
        event = self._events.get(key)
        if event is None or event.deleting:
            return DONE
        left = seconds_left(event, self._clock.utc())
        if left > 0:
            return Result(requeue_after=left)
        metadata = event.metadata
        try:
            await self._client.delete(
                EVENTS, key.name, key.namespace, uid=metadata.uid, resource_version=metadata.resource_version
            )
        except (NotFound, Conflict):
            # Gone, or seen once more: the watch will tell.
            return DONE
        return DONE
