"""What a watcher gets, and when it is let go."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from rayward.local.apiserver import builtin
from rayward.local.apiserver.hub import Hub, Watcher
from rayward.local.apiserver.resource import Resource
from rayward.local.store import Event, Record

pytestmark = pytest.mark.anyio

_MANY = 10_001


def _config_maps() -> Resource:
    return next(r for r in builtin.resources() if r.qualified_name == "configmaps")


def _record(revision: int) -> Record:
    value = orjson.dumps({"metadata": {"name": f"c{revision}", "resourceVersion": str(revision)}})
    return Record(f"/configmaps/default/c{revision}", revision, value)


def _created(revision: int, padding: int = 0) -> Event:
    record = _record(revision)
    if padding:
        record = Record(record.key, revision, record.value + b" " * padding)
    return Event(revision, record.key, record, None, record.value)


def _watcher(hub: Hub, start: int = 0) -> Watcher:
    watcher = Watcher(_config_maps(), "/configmaps/", start, None, lambda record: record.value, None, bookmarks=True)
    watcher.start_with([_record(revision) for revision in range(1, start + 1)])
    watcher.bookmark(start, initial_events_end=True)
    hub.add(watcher)
    return watcher


async def _seen(watcher: Watcher) -> list[dict[str, Any]]:
    watcher.close()
    return [orjson.loads(line) for chunk in [c async for c in watcher.chunks()] for line in chunk.splitlines()]


async def test_a_state_of_any_size_is_told_whole() -> None:
    hub = Hub()
    watcher = _watcher(hub, start=_MANY)
    hub.on_commit([_created(_MANY + 1)])
    types = [event["type"] for event in await _seen(watcher)]
    assert types == ["ADDED"] * _MANY + ["BOOKMARK", "ADDED"]


async def test_a_watcher_that_reads_nothing_is_told_to_list_again() -> None:
    hub = Hub()
    watcher = _watcher(hub)
    hub.on_commit([_created(revision) for revision in range(1, 2 * _MANY)])
    events = await _seen(watcher)
    assert [event["type"] for event in events] == ["ERROR"]
    assert events[0]["object"]["code"] == 410


@pytest.mark.parametrize(("megabytes", "last"), [(31, "ADDED"), (33, "ERROR")])
async def test_what_waits_for_a_watcher_is_bounded_in_bytes_too(megabytes: int, last: str) -> None:
    hub = Hub()
    watcher = _watcher(hub)
    hub.on_commit([_created(revision, 1 << 20) for revision in range(1, megabytes + 1)])
    assert (await _seen(watcher))[-1]["type"] == last


async def test_what_was_sent_no_longer_counts() -> None:
    hub = Hub()
    watcher = _watcher(hub)
    chunks = watcher.chunks()
    for revision in range(1, 50):
        hub.on_commit([_created(revision, 1 << 20)])
        assert b"ADDED" in await anext(chunks)


async def test_a_large_state_does_not_count_as_falling_behind() -> None:
    hub = Hub()
    watcher = Watcher(_config_maps(), "/configmaps/", 0, None, lambda record: record.value, None, bookmarks=True)
    large = b" " * (1 << 20)
    watcher.start_with([Record(f"/configmaps/default/c{n}", n, _record(n).value + large) for n in range(40)])
    hub.add(watcher)
    hub.on_commit([_created(41)])
    assert [event["type"] for event in await _seen(watcher)] == ["ADDED"] * 41


async def test_a_listener_that_fails_takes_nobody_elses_events() -> None:
    hub = Hub()
    seen: list[int] = []

    def fails(_events: object) -> None:
        raise ValueError("mine alone")

    hub.listen(fails)
    hub.listen(lambda events: seen.extend(event.revision for event in events))
    watcher = _watcher(hub)
    hub.on_commit([_created(1)])
    assert seen == [1]
    assert [event["type"] for event in await _seen(watcher)] == ["BOOKMARK", "ADDED"]


async def test_a_watcher_whose_event_cannot_be_shown_is_told_to_list_again_and_others_see_it() -> None:
    def show(record: Record) -> bytes:
        if record.revision == 2:
            raise ValueError("this one cannot be shown")
        return record.value

    hub = Hub()
    resource = _config_maps()
    broken = Watcher(resource, "/configmaps/", 0, lambda _: True, show, lambda value: value, bookmarks=False)
    hub.add(broken)
    sound = [_watcher(hub) for _ in range(3)]
    hub.on_commit([_created(1), _created(2), _created(3)])
    hub.on_commit([_created(4)])
    events = await _seen(broken)
    assert [event["type"] for event in events] == ["ADDED", "ERROR"]
    assert events[-1]["object"]["code"] == 410
    for watcher in sound:
        assert [event["type"] for event in await _seen(watcher)] == ["BOOKMARK"] + ["ADDED"] * 4
