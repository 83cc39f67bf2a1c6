"""Watches: committed events go to everyone who asked, encoded once however many listen."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import orjson

from rayward.local.apiserver.crd.conversion import ConversionNeeded
from rayward.local.apiserver.resource import Resource
from rayward.local.apiserver.status import ApiError, expired
from rayward.local.store import Event, Record

_log = logging.getLogger(__name__)
BOOKMARK_SECONDS = 60.0
_MOST_PENDING = 10_000
_MOST_PENDING_BYTES = 32 << 20
_CROWD = 8
_CROWD_SECONDS = 0.004
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"

Matches = Callable[[Record], bool]
Render = Callable[[bytes], bytes]


class Watcher:
    """One open watch: what it sees, and what waits to be sent."""

    def __init__(
        self,
        resource: Resource,
        scope: str,
        since: int,
        matches: Matches | None,
        view: Callable[[Record], bytes],
        render: Render | None,
        *,
        bookmarks: bool,
    ) -> None:
        self.resource = resource
        self.scope = scope
        self.since = since
        self.bookmarks = bookmarks
        self._matches = matches
        self._view = view
        self._render = render
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._most_pending = self._most_pending_bytes = sys.maxsize
        self._wake = asyncio.Event()
        self._on_close: Callable[[], object] | None = None
        self._closed = False

    def deliver(self, event: Event, shared: dict[bytes, bytes]) -> None:
        """Queue what this watcher sees of a committed event; ``shared`` holds the bytes others already made."""
        if event.revision <= self.since or not event.key.startswith(self.scope):
            return
        kind = self._kind_of(event)
        if kind is None:
            return
        if self._render is None and kind != b"DELETED" and event.record is not None:
            key = kind + self.resource.head
            line = shared.get(key)
            if line is None:
                line = shared[key] = _line(kind, self._view(event.record))
        else:
            line = self._line_of(kind, event)
        self._queue(line)

    def _line_of(self, kind: bytes, event: Event) -> bytes:
        # an object that leaves the selection is shown as it was, with the revision at which it left
        if event.record is None:
            value = self._view(Record(event.key, event.revision, event.value))
        elif kind == b"DELETED" and event.previous is not None:
            obj = orjson.loads(self._view(event.previous))
            obj["metadata"]["resourceVersion"] = str(event.revision)
            value = orjson.dumps(obj)
        else:
            value = self._view(event.record)
        return _line(kind, self._render(value) if self._render else value)

    def _kind_of(self, event: Event) -> bytes | None:
        if self._matches is None:
            if event.record is None:
                return b"DELETED"
            return b"ADDED" if event.previous is None else b"MODIFIED"
        before = event.previous is not None and self._matches(event.previous)
        after = event.record is not None and self._matches(event.record)
        if after:
            return b"MODIFIED" if before else b"ADDED"
        return b"DELETED" if before else None

    def start_with(self, records: Sequence[Record]) -> None:
        """Send the present state first, as a run of ADDED events."""
        for record in records:
            value = self._view(record)
            self._queue(_line(b"ADDED", self._render(value) if self._render else value))
        self._wake.set()

    def bookmark(self, revision: int, *, initial_events_end: bool = False) -> None:
        """Tell the watcher how far it is, with no object."""
        metadata: dict[str, object] = {"resourceVersion": str(revision)}
        if initial_events_end:
            metadata["annotations"] = {_INITIAL_EVENTS_END: "true"}
        body = self.resource.head + orjson.dumps({**self.resource.empty, "metadata": metadata})[1:]
        self._queue(_line(b"BOOKMARK", self._render(body) if self._render else body))
        self.wake()

    def start(self) -> None:
        """From now on a reader that falls behind is let go; what it starts with, however much, is no sign of that."""
        self._most_pending = len(self._pending) + _MOST_PENDING
        self._most_pending_bytes = self._pending_bytes + _MOST_PENDING_BYTES

    def fail(self, error: ApiError) -> None:
        """End the stream with the reason."""
        self._pending.append(_line(b"ERROR", orjson.dumps(error.status())))
        self.close()

    def close(self) -> None:
        """End the stream once what is pending is sent."""
        if self._closed:
            return
        self._closed = True
        self.since = sys.maxsize  # nothing that comes is worth a look
        self._wake.set()
        if self._on_close is not None:
            self._on_close()

    def on_close(self, callback: Callable[[], object]) -> None:
        """Call this when the stream is to end, which a client that does not read may keep it from."""
        self._on_close = callback
        if self._closed:
            callback()

    def _queue(self, line: bytes) -> None:
        if self._closed:
            return
        self._pending_bytes += len(line)
        if len(self._pending) >= self._most_pending or self._pending_bytes > self._most_pending_bytes:
            # a reader this slow would cost memory without bound; it can resume from where it is, or list again
            self._pending.clear()
            self.fail(expired("The watcher was too slow and has been closed"))
            return
        self._pending.append(line)

    def wake(self) -> None:
        """Send what is pending."""
        self._wake.set()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Everything queued, joined, whenever there is something."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            if self._pending:
                lines, self._pending, self._pending_bytes = self._pending, [], 0
                self._most_pending, self._most_pending_bytes = _MOST_PENDING, _MOST_PENDING_BYTES
                yield b"".join(lines)
            if self._closed and not self._pending:
                return


class ConvertingWatcher(Watcher):
    """A watch of objects that a webhook has to convert: events wait in their order until what they show is there."""

    def __init__(self, *args: Any, convert: Callable[[ConversionNeeded], Awaitable[None]], **options: Any) -> None:
        super().__init__(*args, **options)
        self._convert = convert
        self._more = asyncio.Event()
        self._waiting: deque[Callable[[], None]] = deque()

    def deliver(self, event: Event, shared: dict[bytes, bytes]) -> None:
        """Queue an event, not yet what is seen of it."""
        if event.revision > self.since and event.key.startswith(self.scope):
            self._wait(lambda: super(ConvertingWatcher, self).deliver(event, {}))

    def start_with(self, records: Sequence[Record]) -> None:
        """Send the present state first."""
        for record in records:
            one = (record,)
            self._wait(lambda one=one: super(ConvertingWatcher, self).start_with(one))

    def bookmark(self, revision: int, *, initial_events_end: bool = False) -> None:
        """Say how far the watcher is, after all that comes before."""
        self._wait(lambda: super(ConvertingWatcher, self).bookmark(revision, initial_events_end=initial_events_end))
        self.wake()

    def _wait(self, step: Callable[[], None]) -> None:
        if len(self._waiting) >= self._most_pending:
            self._waiting.clear()
            self.fail(expired("The watcher was too slow and has been closed"))
            return
        self._waiting.append(step)
        self._more.set()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Everything queued, once it is converted."""
        converting = asyncio.ensure_future(self._work())
        try:
            async for chunk in super().chunks():
                yield chunk
        finally:
            converting.cancel()

    async def _work(self) -> None:
        while True:
            while self._waiting:
                try:
                    self._waiting[0]()
                except ConversionNeeded as needed:
                    try:
                        await self._convert(needed)
                    except ApiError as error:
                        self._waiting.clear()
                        self.fail(error)
                    continue
                self._waiting.popleft()
                self.wake()
            self._more.clear()
            await self._more.wait()


def _line(kind: bytes, value: bytes) -> bytes:
    return b'{"type":"' + kind + b'","object":' + value + b"}\n"


class Hub:
    def __init__(self) -> None:
        self._watchers: defaultdict[str, set[Watcher]] = defaultdict(set)
        self._listeners: list[Callable[[Sequence[Event]], None]] = []
        self._late: set[Watcher] = set()
        self._timer: asyncio.TimerHandle | None = None

    def on_commit(self, events: Sequence[Event]) -> None:
        """Called by the store for every group commit, in revision order."""
        for listener in tuple(self._listeners):
            try:
                listener(events)
            except Exception:
                # the commit stands: one part that cannot follow must not take the events from all others
                _log.exception("a part of the server failed on a commit and may be out of date")
        for event in events:
            watchers = self._watchers.get(bucket(event.key))
            if watchers:
                shared: dict[bytes, bytes] = {}
                for watcher in watchers:
                    try:
                        watcher.deliver(event, shared)
                    except Exception:
                        _log.exception("a watch of %s ends: revision %d", watcher.scope, event.revision)
                        watcher.fail(expired("An event could not be shown and the watch has been closed"))
                self._late.update(watchers)
        if self._late and self._timer is None:
            self._wake_soon()

    def _wake_soon(self) -> None:
        if len(self._late) <= _CROWD:
            self._wake_late()
        else:
            # a send costs far more than a line: for a crowd, what comes within a few milliseconds goes out together
            self._timer = asyncio.get_running_loop().call_later(_CROWD_SECONDS, self._wake_late)

    def _wake_late(self) -> None:
        self._timer = None
        late, self._late = self._late, set()
        for watcher in late:
            watcher.wake()

    def listen(self, listener: Callable[[Sequence[Event]], None]) -> None:
        """Let a part of the server itself see every commit first."""
        self._listeners.append(listener)

    def unlisten(self, listener: Callable[[Sequence[Event]], None]) -> None:
        """No longer let it see commits."""
        self._listeners.remove(listener)

    def add(self, watcher: Watcher) -> None:
        """Deliver from now on."""
        watcher.start()
        self._watchers[watcher.resource.prefix].add(watcher)

    def remove(self, watcher: Watcher) -> None:
        watchers = self._watchers[watcher.resource.prefix]
        watchers.discard(watcher)
        if not watchers:
            del self._watchers[watcher.resource.prefix]

    def close(self, prefix: str = "") -> None:
        """End all watches, or those of one resource."""
        for key, watchers in list(self._watchers.items()):
            if not prefix or key == prefix:
                for watcher in watchers:
                    watcher.close()

    def send_bookmarks(self, revision: int) -> None:
        """Tell every watcher that asked how far it is."""
        for watchers in self._watchers.values():
            for watcher in watchers:
                if watcher.bookmarks:
                    watcher.bookmark(revision)

    @property
    def count(self) -> int:
        """How many watches are open."""
        return sum(len(watchers) for watchers in self._watchers.values())


def bucket(key: str) -> str:
    """The resource prefix of a store key."""
    return key[: key.index("/", 1) + 1]
