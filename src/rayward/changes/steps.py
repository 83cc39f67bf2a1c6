"""Operations without input and output: generators that yield what they need and are sent what came of it.

``run`` drives one with a blocking client, ``run_async`` with an asynchronous one. A refusal of the API server is thrown
into the generator where it waits, so that operations handle errors with plain ``try``.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError
from rayward.kube.client.request import Request
from rayward.kube.client.sync import SyncClient
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


Step = Send | Backoff
Operation = Generator[Step, Any, T]


def run(
    client: SyncClient,
    operation: Operation[T],
    *,
    sleep: Callable[[float], None] = time.sleep,
    chance: Callable[[], float] = random.random,
) -> T:
    """Carry out an operation, waiting for each answer."""
    answer: Any = None
    failure: Exception | None = None
    while True:
        try:
            step = operation.throw(failure) if failure is not None else operation.send(answer)
        except StopIteration as done:
            return done.value
        answer, failure = None, None
        if isinstance(step, Backoff):
            sleep(step.seconds(chance()))
            continue
        try:
            answer = client.send(step.request)
        except (ApiError, NetworkError) as error:
            failure = error


async def run_async(client: Client, operation: Operation[T], *, chance: Callable[[], float] = random.random) -> T:
    """Carry out an operation on the event loop."""
    answer: Any = None
    failure: Exception | None = None
    while True:
        try:
            step = operation.throw(failure) if failure is not None else operation.send(answer)
        except StopIteration as done:
            return done.value
        answer, failure = None, None
        if isinstance(step, Backoff):
            await asyncio.sleep(step.seconds(chance()))
            continue
        try:
            answer = await client.send(step.request)
        except (ApiError, NetworkError) as error:
            failure = error
