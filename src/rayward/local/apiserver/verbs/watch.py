"""GET with ``watch``: every change from a revision on, as a stream of events."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable
from functools import partial

import orjson

from rayward.local.apiserver import protobuf, status
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.hub import ConvertingWatcher, Watcher
from rayward.local.apiserver.media import PROTOBUF, Form
from rayward.local.apiserver.options import ListOptions, list_options, resource_version
from rayward.local.apiserver.request import Request, Stream
from rayward.local.apiserver.respond import accepted, event_renderer, includes
from rayward.local.apiserver.verbs.convert import converted
from rayward.local.apiserver.verbs.read import Selection, matching_records, selection
from rayward.local.store import Compacted, Record

_log = logging.getLogger(__name__)
_SHORTEST_DEFAULT = 1800
_LAST_BOOKMARK = 2
_LAST_WORD = 10.0
PROTOBUF_STREAM = f"{PROTOBUF};stream=watch".encode()


async def watch(core: Core, request: Request) -> Stream:
    """Answer a watch. Subscribing and reading history happen in one step of the loop, so nothing falls between."""
    options = list_options(request.query)
    chosen = selection(core, request, options)
    wanted = accepted(request)
    resource = request.resource
    since = resource_version(options.resource_version)
    plain = wanted.form is Form.OBJECT
    kind: Callable[..., Watcher] = Watcher
    if resource.conversion is not None:
        kind = partial(ConvertingWatcher, convert=lambda needed: converted(core, needed))
    view: Callable[[Record], bytes] = partial(core.objects.view, resource)
    watcher = kind(
        resource,
        chosen.scope,
        max(since, core.objects.store.revision) if _wants_state(options, since) else since,
        chosen.matches,
        view,
        None if plain else event_renderer(resource, wanted, includes(request), core.clock),
        bookmarks=options.bookmarks,
    )
    _replay(core, request, watcher, chosen, options, since)
    core.hub.add(watcher)
    seconds = options.timeout or random.randint(_SHORTEST_DEFAULT, 2 * _SHORTEST_DEFAULT)  # noqa: S311
    lines = _stream(core, watcher, seconds)
    if wanted.protobuf and (resource.builtin or wanted.form is Form.METADATA):
        return Stream(_frames(lines), PROTOBUF_STREAM)
    return Stream(lines)


async def _frames(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Events of a protobuf watch: each is preceded by its length."""
    async for chunk in chunks:
        for line in chunk.splitlines():
            event = protobuf.encode_event(orjson.loads(line))
            yield len(event).to_bytes(4, "big") + event


def _wants_state(options: ListOptions, since: int) -> bool:
    """Whether the stream starts with the present objects as ADDED events."""
    return options.initial_events if options.initial_events is not None else since == 0


def _replay(
    core: Core, request: Request, watcher: Watcher, chosen: Selection, options: ListOptions, since: int
) -> None:
    store = core.objects.store
    if _wants_state(options, since):
        if since > store.revision:
            raise status.too_large_resource_version(since, store.revision)
        watcher.start_with(matching_records(core, request, chosen))
        if options.initial_events and options.bookmarks:
            watcher.bookmark(store.revision, initial_events_end=True)
        return
    if since == 0:
        # sendInitialEvents=false at the newest state: only what happens from now on
        watcher.since = store.revision
        return
    if since < request.resource.served_since:
        watcher.fail(_too_old(since, request.resource.served_since))
        return
    try:
        past = store.events(since, chosen.scope)
    except Compacted:
        watcher.fail(_too_old(since, store.compacted))
        return
    for event in past:
        watcher.deliver(event, {})
    watcher.wake()


def _too_old(since: int, oldest: int) -> status.ApiError:
    return status.expired(f"too old resource version: {since} ({oldest})")


async def _stream(core: Core, watcher: Watcher, seconds: int) -> AsyncIterator[bytes]:
    loop, sending = asyncio.get_running_loop(), asyncio.current_task()
    assert sending is not None

    def cut() -> None:
        _log.warning("a watch of %s is cut: it was to end, and its client does not read", watcher.scope)
        sending.cancel()

    timers = [loop.call_later(seconds, watcher.close)]
    if watcher.bookmarks and seconds > _LAST_BOOKMARK:
        # the last word before a planned end: where to go on from
        timers.append(loop.call_later(seconds - _LAST_BOOKMARK, lambda: watcher.bookmark(core.objects.store.revision)))
    # a send to a client that does not read never returns, and would keep all that waits for it
    watcher.on_close(lambda: timers.append(loop.call_later(_LAST_WORD, cut)))
    try:
        async for chunk in watcher.chunks():
            yield chunk
    finally:
        for timer in timers:
            timer.cancel()
        core.hub.remove(watcher)
