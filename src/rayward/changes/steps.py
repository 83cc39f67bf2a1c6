"""Operations without input and output: generators that yield what they need and are sent what came of it.

``run`` drives one with a blocking client, ``run_async`` with an asynchronous one. A refusal of the API server is thrown
into the generator where it waits, so that operations handle errors with plain ``try``.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from rayward.changes.parts import BlockingParts, Parts
from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError, Gone
from rayward.kube.client.options import WatchOptions
from rayward.kube.client.request import Request
from rayward.kube.client.sync import SyncClient
from rayward.kube.client.watch import Bookmark, Change, ChangeType, WatchEvent, WatchFailed
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import Resource
from rayward.net.errors import NetworkError

T = TypeVar("T")

_FIRST_SECONDS: Final = 0.02
_MOST_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request; the answer is the decoded object."""

    request: Request


@dataclass(frozen=True, slots=True)
class Backoff:
    """Wait before another attempt: longer each time, and never as long as somebody else who waits too."""

    attempt: int

    def seconds(self, chance: float) -> float:
        """How long; ``chance`` lies between 0 and 1."""
        return min(_FIRST_SECONDS * 2 ** (self.attempt - 1), _MOST_SECONDS) * (0.5 + chance)


@dataclass(frozen=True, slots=True)
class Now:
    """The time of a clock that only goes forward, in seconds."""


@dataclass(frozen=True, slots=True)
class NextChange:
    """Wait for an object to change.

    The answer is the object, ``GONE`` where it was deleted, or None where the watch ended or broke: then it has to be
    read again. One watch stays open from one change to the next.
    """

    resource: Resource
    namespace: str
    name: str
    resource_version: str
    seconds: int
    """When the server is to end the watch; one that stays open for longer is opened again."""
    uid: str = ""
    generation: int = 0
    """With ``uid``, what is known of the object; tells old from new where versions are no numbers."""


@dataclass(frozen=True, slots=True)
class NextOfKind:
    """Wait for any object of a kind to change: the answer is its metadata with what ``NextChange`` answers, or None."""

    resource: Resource
    namespace: str
    resource_version: str
    seconds: int


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class NextPart:
    """Wait for the next part of an answer that comes in parts.

    The answer is bytes, none of them where nothing came within ``seconds``, or None at the end. One stream stays open
    from one part to the next of the same request.
    """

    request: Request
    seconds: float


GONE: Final[Any] = object()
BOOKMARK: Final[Any] = object()
"""Nothing has changed for a while; the watch goes on."""

Step = Send | Backoff | Now | Pause | NextChange | NextOfKind | NextPart
Operation = Generator[Step, Any, T]


def run(
    client: SyncClient,
    operation: Operation[T],
    *,
    sleep: Callable[[float], None] = time.sleep,
    chance: Callable[[], float] = random.random,
    now: Callable[[], float] = time.monotonic,
) -> T:
    """Carry out an operation, waiting for each answer."""
    answer: Any = None
    failure: Exception | None = None
    with ExitStack() as watches:
        events: Iterator[WatchEvent[KubeObject]] | None = None
        until = 0.0
        parts: dict[Request, BlockingParts] = {}
        while True:
            try:
                step = operation.throw(failure) if failure is not None else operation.send(answer)
            except StopIteration as done:
                return done.value
            answer, failure = None, None
            try:
                if isinstance(step, Backoff):
                    sleep(step.seconds(chance()))
                elif isinstance(step, Pause):
                    sleep(step.seconds)
                elif isinstance(step, NextPart):
                    if step.request not in parts:
                        parts[step.request] = BlockingParts(client, step.request)
                    answer = parts[step.request].next(step.seconds)
                    if answer is None:
                        del parts[step.request]
                elif isinstance(step, Now):
                    answer = now()
                elif isinstance(step, Send):
                    answer = client.send(step.request)
                else:
                    at = now()
                    if events is None or _is_sooner(step, until, at):
                        watches.close()
                        opened = client.watch(step.resource, KubeObject, step.namespace, **_watching(step))
                        events, until = watches.enter_context(opened), at + step.seconds
                    answer = _changed(step, next(events, None))
                    events = events if answer is not None else None
            except (ApiError, NetworkError) as error:
                events = None
                # a watch that breaks has ended: reading again tells whether the server is there
                broken = isinstance(step, NextChange | NextOfKind) and isinstance(error, NetworkError)
                failure = None if broken else error
                if isinstance(step, NextPart):
                    parts.pop(step.request, None)


async def run_async(
    client: Client,
    operation: Operation[T],
    *,
    chance: Callable[[], float] = random.random,
    now: Callable[[], float] = time.monotonic,
) -> T:
    """Carry out an operation on the event loop."""
    answer: Any = None
    failure: Exception | None = None
    async with AsyncExitStack() as stack, AsyncExitStack() as watches:
        events: AsyncIterator[WatchEvent[KubeObject]] | None = None
        until = 0.0
        parts: dict[Request, Parts] = {}
        while True:
            try:
                step = operation.throw(failure) if failure is not None else operation.send(answer)
            except StopIteration as done:
                return done.value
            answer, failure = None, None
            try:
                if isinstance(step, Backoff):
                    await asyncio.sleep(step.seconds(chance()))
                elif isinstance(step, Pause):
                    await asyncio.sleep(step.seconds)
                elif isinstance(step, NextPart):
                    if step.request not in parts:
                        parts[step.request] = await stack.enter_async_context(Parts(client, step.request))
                    answer = await parts[step.request].next(step.seconds)
                    if answer is None:
                        del parts[step.request]
                elif isinstance(step, Now):
                    answer = now()
                elif isinstance(step, Send):
                    answer = await client.send(step.request)
                else:
                    at = now()
                    if events is None or _is_sooner(step, until, at):
                        await watches.aclose()
                        opened = client.watch(step.resource, KubeObject, step.namespace, **_watching(step))
                        events, until = await watches.enter_async_context(opened), at + step.seconds
                    answer = _changed(step, await anext(events, None))
                    events = events if answer is not None else None
            except (ApiError, NetworkError) as error:
                events = None
                # a watch that breaks has ended: reading again tells whether the server is there
                broken = isinstance(step, NextChange | NextOfKind) and isinstance(error, NetworkError)
                failure = None if broken else error
                if isinstance(step, NextPart):
                    parts.pop(step.request, None)


def _is_sooner(step: NextChange | NextOfKind, until: float, now: float) -> bool:
    """Whether an open watch would stay so for longer than somebody wants to wait."""
    # both count whole seconds, each rounded by itself
    return now + step.seconds < until - 2


def _watching(step: NextChange | NextOfKind) -> WatchOptions:
    options = WatchOptions(
        resource_version=step.resource_version, allow_watch_bookmarks=True, timeout_seconds=max(step.seconds, 1)
    )
    if isinstance(step, NextChange):
        options["field_selector"] = f"metadata.name={step.name}"
    return options


def _changed(step: NextChange | NextOfKind, event: WatchEvent[KubeObject] | None) -> Any:
    if isinstance(event, Change):
        answer = GONE if event.type is ChangeType.DELETED else event.whole()
        return answer if isinstance(step, NextChange) else (event.object.metadata, answer)
    if isinstance(event, WatchFailed) and isinstance(event.error, Gone):
        # servers say it as an event, too, and reading again tells the same version
        raise event.error
    # a bookmark says that nothing has changed; an error that the watch is over, and reading again tells why
    return BOOKMARK if isinstance(event, Bookmark) else None
