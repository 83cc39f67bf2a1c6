"""Small helpers for the store's tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rayward.local.store import Event, Record, Store


def says(text: str) -> Callable[[int], bytes]:
    """An encoder whose value carries its revision."""
    return lambda revision: f"{text}@{revision}".encode()


def ignore(events: Sequence[Event]) -> None:
    pass


@asynccontextmanager
async def opened(
    path: Path, on_commit: Callable[[Sequence[Event]], None] = ignore, **options: Any
) -> AsyncGenerator[Store]:
    store = await Store.open(path, on_commit=on_commit, **options)
    try:
        yield store
    finally:
        await store.close()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that no event tells; the suite's time limit ends it."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.001)


def record(key: str, revision: int, value: bytes = b"v") -> Record:
    return Record(key, revision, value)


def created(key: str, revision: int, value: bytes = b"v") -> Event:
    return Event(revision, key, Record(key, revision, value), None, value)


def updated(previous: Record | None, revision: int, value: bytes = b"v") -> Event:
    assert previous is not None
    return Event(revision, previous.key, Record(previous.key, revision, value), previous, value)


def deleted(previous: Record | None, revision: int, value: bytes = b"v") -> Event:
    assert previous is not None
    return Event(revision, previous.key, None, previous, value)
