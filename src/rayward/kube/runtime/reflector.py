"""Keeps a cache equal to a collection of the server."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Generic, Never, TypeVar

import msgspec

from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError, Expired, Forbidden
from rayward.kube.client.lists import PAGE_SIZE, in_one_go, next_page
from rayward.kube.client.options import ListOptions, Selectors, WatchOptions
from rayward.kube.client.watch import (
    Bookmark,
    Change,
    ChangeType,
    Unreadable,
    WatchDecoder,
    WatchEvent,
    WatchFailed,
    decoder,
)
from rayward.kube.core.objects import Key, KubeObject, ObjectMeta
from rayward.kube.runtime import memory, reflectorstate
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.reflectorstate import Outcome, ReflectorState, Step
from rayward.net.errors import NetworkError, ProtocolError

T = TypeVar("T", bound=KubeObject)

_log = logging.getLogger(__name__)
_WATCH_SECONDS = (300, 600)
_MOMENT = 1.0


class _ListMeta(msgspec.Struct, gc=False):
    resource_version: str = msgspec.field(default="", name="resourceVersion")
    continue_token: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct, gc=False):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


_PAGES = msgspec.json.Decoder(_Page)
_ANY = msgspec.json.Decoder(KubeObject)


class Reflector(Generic[T]):
    """Lists, then watches, for ever.

    Watches ask for bookmarks, last five to ten minutes, and end after 70 s of silence; a version that the server no
    longer has, or does not have yet, leads to a new list, and what is missing in it is deleted from the cache.
    """

    def __init__(
        self,
        client: Client,
        cache: Cache[T],
        *,
        namespace: str | None = None,
        selectors: Selectors | None = None,
        watch_list: bool = False,
        optional: bool = False,
        clock: Clock = SYSTEM_CLOCK,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.cache = cache
        self.last_error: ApiError | NetworkError | None = None
        self.unreadable: dict[Key, str] = {}
        """Objects that have not the shape we read, and what is wrong with them."""
        self._client = client
        self._namespace = namespace
        self._selectors: Selectors = selectors or {}
        self._optional = optional
        self._clock = clock
        self._chance = chance
        self._state = reflectorstate.start(watch_list)
        self._version = ""
        self._heard_at: float | None = None
        self._parts = 0
        self._synced = asyncio.Event()

    async def wait_synced(self) -> None:
        """Wait until the cache has been equal to the server once, or the server has forbidden an optional one."""
        await self._synced.wait()

    @property
    def is_done_without(self) -> bool:
        """Whether the server forbids this collection, and nobody needs it."""
        return self._optional and isinstance(self.last_error, Forbidden)

    @property
    def last_sync_age(self) -> float | None:
        """Seconds since the server was last heard of; None before that."""
        return None if self._heard_at is None else self._clock.now() - self._heard_at

    async def run(self) -> Never:
        """Follow the collection until cancelled."""
        while True:
            outcome = await self._step(self._state.step)
            self.last_error = outcome.error
            if outcome.error is not None:
                _log.info("%s: %s failed: %s", self.cache.resource, self._state.step.name.lower(), outcome.error)
            if self.is_done_without and not self._synced.is_set():
                _log.warning("%s are done without until they may be read: %s", self.cache.resource, outcome.error)
                self._synced.set()
            self._state, wait = reflectorstate.onward(self._state, outcome, self._chance())
            if wait > 0:
                await self._clock.sleep(wait)

    @property
    def state(self) -> ReflectorState:
        """What it is about to do."""
        return self._state

    async def _step(self, step: Step) -> Outcome:
        begun = self._clock.now()
        parts_before = self._parts
        try:
            if step is Step.LIST:
                await self._list()
                return Outcome()
            if step is Step.STREAM:
                error = await self._stream()
            else:
                error = await self._watch()
        except (ApiError, NetworkError) as failure:
            error = failure
        lively = self._parts != parts_before or self._clock.now() - begun > _MOMENT
        return Outcome(error, lively)

    async def _list(self) -> None:
        options = ListOptions(limit=PAGE_SIZE, **self._selectors)
        found: list[tuple[T, bytes]] = []
        unreadable: dict[Key, str] = {}
        while True:
            request = verbs.list_(self.cache.resource, self._namespace, **options)
            try:
                body = (await self._client.attempt(request)).body
            except Expired:
                if "continue_token" not in options:
                    raise
                found.clear()
                unreadable.clear()
                options = in_one_go(options)
                continue
            self._heard()
            page = self._read_page(body, found, unreadable)
            if not page.continue_token:
                break
            options = next_page(options, page.continue_token)
        self._replace(found, unreadable, page.resource_version)

    def _read_page(self, body: bytes, found: list[tuple[T, bytes]], unreadable: dict[Key, str]) -> _ListMeta:
        decode = decoder(self.cache.kind).decode
        with memory.paused():
            try:
                page = _PAGES.decode(body)
                for raw in page.items or ():
                    try:
                        found.append((decode(raw), self.cache.kept(raw)))
                    except msgspec.ValidationError as error:
                        unreadable[_ANY.decode(raw).key] = str(error)
            except msgspec.DecodeError as error:
                raise ProtocolError(f"{self.cache.resource}: the answer is no list: {error}") from error
        return page.metadata

    def _replace(self, found: list[tuple[T, bytes]], unreadable: dict[Key, str], version: str) -> None:
        for key, problem in unreadable.items():
            self._complain(key, problem)
        self.unreadable = unreadable
        self._version = version
        self.cache.replace(found, version, keep=unreadable)
        self._synced.set()

    async def _stream(self) -> ApiError | NetworkError | None:
        options = WatchOptions(send_initial_events=True, resource_version_match="NotOlderThan", **self._selectors)
        present: dict[Key, tuple[T, bytes]] = {}
        unreadable: dict[Key, str] = {}
        state = WatchDecoder(self.cache.kind)
        async with aclosing(self._events(options, state)) as events:
            async for event in events:
                if isinstance(event, WatchFailed):
                    return event.error
                if self._state.step is Step.WATCH:
                    self._apply(event)
                elif isinstance(event, Bookmark) and event.initial_events_end:
                    self._replace(list(present.values()), unreadable, event.resource_version)
                    # From here on this connection is a watch like any other, and ends like one.
                    self._state = ReflectorState(Step.WATCH, self._state.listing, self._state.failures)
                elif isinstance(event, Change):
                    unreadable.pop(event.object.key, None)
                    if event.type is ChangeType.DELETED:
                        present.pop(event.object.key, None)
                    else:
                        present[event.object.key] = (event.object, self.cache.kept(event.raw))
                elif isinstance(event, Unreadable):
                    if event.type is ChangeType.DELETED:
                        present.pop(event.metadata.key, None)
                        unreadable.pop(event.metadata.key, None)
                    else:
                        unreadable[event.metadata.key] = event.problem
        if self._state.step is Step.WATCH:
            return None
        return ProtocolError("the watch ended before the end of its initial events")

    async def _watch(self) -> ApiError | None:
        options = WatchOptions(resource_version=self._version, **self._selectors)
        state = WatchDecoder(self.cache.kind, self._version)
        async with aclosing(self._events(options, state)) as events:
            async for event in events:
                if isinstance(event, WatchFailed):
                    return event.error
                self._apply(event)
        return None

    async def _events(self, options: WatchOptions, state: WatchDecoder[T]) -> AsyncGenerator[WatchEvent[T]]:
        shortest, longest = _WATCH_SECONDS
        options["timeout_seconds"] = int(shortest + (longest - shortest) * self._chance())
        options["allow_watch_bookmarks"] = True
        async with self._client.stream(verbs.watch(self.cache.resource, self._namespace, **options)) as stream:
            # A watch lasts for minutes: the error before it is over once the server has answered.
            self.last_error = None
            async for part in stream:
                self._heard()
                for event in state.feed(part):
                    yield event

    def _apply(self, event: WatchEvent[T]) -> None:
        if isinstance(event, Change):
            changed = event.object
            key = changed.metadata.key
            if self.unreadable:
                self.unreadable.pop(key, None)
            if event.type is ChangeType.DELETED:
                self.cache.remove(key, changed)
            else:
                self.cache.put(changed, self.cache.kept(event.raw))
            self._at(changed.metadata.resource_version)
        elif isinstance(event, Bookmark):
            self._at(event.resource_version)
        elif isinstance(event, Unreadable):
            self._misread(event.type, event.metadata, event.problem)

    def _misread(self, kind: ChangeType, metadata: ObjectMeta, problem: str) -> None:
        if kind is ChangeType.DELETED:
            self.unreadable.pop(metadata.key, None)
            self.cache.remove(metadata.key)
        else:
            self.unreadable[metadata.key] = problem
            self._complain(metadata.key, problem)
        self._at(metadata.resource_version)

    def _at(self, version: str) -> None:
        self._version = version
        self.cache.advance(version)

    def _heard(self) -> None:
        self._heard_at = self._clock.now()
        self._parts += 1

    def _complain(self, key: Key, problem: str) -> None:
        _log.error(
            "%s %s has not the shape we read and stays as last understood: %s", self.cache.resource, key, problem
        )
