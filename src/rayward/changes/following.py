"""Following one object by a watch, from one change to the next, for as long as somebody waits.

A watch that breaks, or whose version the server no longer has, leads to another read; watches that end at once are
opened in growing pauses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from rayward.changes import writing
from rayward.changes.refs import Ref
from rayward.changes.steps import BOOKMARK, GONE, Backoff, NextChange, Now, Operation, Send
from rayward.kube.client import errors, verbs
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.net.errors import NetworkError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Seen:
    """An object as it was read or told last.

    Attributes:
        live: The object.
        version: Where its watch begins: the version of what it was read from.
        broken: How many watches in a row have ended before half their time and told nothing.
    """

    live: Object
    version: str
    broken: int = 0


def patiently(reading: Callable[[], Operation[T]], until: float | None) -> Operation[T]:
    """Read, and again while the server does not answer and somebody waits: it may be restarting."""
    attempt = 0
    while True:
        try:
            found = yield from reading()
        except (errors.ApiError, NetworkError) as error:
            away = isinstance(error, NetworkError) or error.retryable
            if not away or (until is not None and (yield Now()) >= until):
                raise
            attempt += 1
            yield Backoff(attempt)
        else:
            return found


def after(ref: Ref, seen: Seen, seconds: float, until: float | None) -> Operation[Seen | None]:
    """The object as it is after its next change, or read again where its watch has ended; None where it was deleted.

    Raises:
        NotFound: It is not there when it is read again.
    """
    began: float = yield Now()
    metadata, whole = section(seen.live, "metadata"), round(seconds) or 1
    step = NextChange(
        ref.resource,
        ref.namespace,
        ref.name,
        seen.version,
        whole,
        uid=str(metadata.get("uid") or ""),
        generation=int(metadata.get("generation") or 0),
    )
    broken, reading = seen.broken, read
    while True:
        try:
            changed: Any = yield step
        except errors.ApiError as error:
            if not isinstance(error, errors.Gone) and not error.retryable:
                raise
            # an object that nobody has changed has the version that was too old, still
            changed, reading = None, _listed if isinstance(error, errors.Gone) else read
        if changed is GONE:
            return None
        if changed is None:
            break
        if changed is not BOOKMARK:
            return seen_as(changed)
        broken = 0
    ended: float = yield Now()
    broken = broken + 1 if ended - began < whole / 2 else 0
    if broken > 1:
        yield Backoff(broken)
    found = yield from patiently(lambda: reading(ref), until)
    return dataclasses.replace(found, broken=broken)


def read(ref: Ref) -> Operation[Seen]:
    """The object as it is now.

    Raises:
        NotFound: It is not there.
    """
    return seen_as((yield from writing.read(ref)))


def seen_as(live: Object) -> Seen:
    """What somebody else has read."""
    return Seen(live, _version(live))


def _listed(ref: Ref) -> Operation[Seen]:
    """The object from a list, whose version is one that the server remembers; who may not list reads it."""
    try:
        found: Object = yield Send(verbs.list_(ref.resource, ref.namespace, field_selector=f"metadata.name={ref.name}"))
    except errors.Forbidden:
        return (yield from read(ref))
    items = entries(found, "items")
    # that it is not there says the answer to a read best
    return Seen(items[0], _version(found)) if items else (yield from read(ref))


def _version(answer: Object) -> str:
    return str(section(answer, "metadata").get("resourceVersion") or "")
