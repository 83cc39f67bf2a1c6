"""The operator dies before or after each of its writes, and another goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import pytest

from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from tests.operator.mortal import MortalTransport
from tests.operator.stage import Object, Stage, install

MARKS: Final = [
    pytest.mark.anyio,
    # Whoever dies leaves its sockets open.
    pytest.mark.usefixtures("buried"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]
_AT_ONCE: Final = 10
_FEWEST: Final = 2

AnyStage = TypeVar("AnyStage", bound=Stage)
Play = Callable[[Client, int], Awaitable[tuple[Any, bool]]]
"""Plays a change whose operator dies of its k-th write: what is there in the end, and whether there was a death."""


@dataclass(frozen=True)
class Change(Generic[AnyStage]):
    """What a user does, from which state, and when it is done."""

    manifest: Object
    begun: Callable[[AnyStage], Awaitable[Any]] | None
    """Waits until the manifest is where the change begins; None where it begins with nothing."""
    edit: Callable[[AnyStage], Awaitable[Any]]
    done: Callable[[AnyStage], Awaitable[Any]]


async def two_lives(ray: AnyStage, change: Change[AnyStage], first: tuple[Client, MortalTransport]) -> bool:
    """One life on a mortal client and, until the change is done, the next one; whether there was a death."""
    if change.begun is not None:
        async with ray.operator():
            await ray.create(change.manifest)
            await change.begun(ray)
    await change.edit(ray)
    client, transport = first
    async with ray.operator(client):
        done = asyncio.ensure_future(change.done(ray))
        death = asyncio.ensure_future(transport.died.wait())
        await asyncio.wait((done, death), return_when=asyncio.FIRST_COMPLETED)
        await transport.settled()
    died = transport.died.is_set()
    done.cancel()
    death.cancel()
    await asyncio.gather(done, death, return_exceptions=True)
    async with ray.operator():
        await change.done(ray)
    return died


async def every_death(access: Access, play: Play, fewest: int = _FEWEST) -> dict[int, Any]:
    """Play without a death, and with one at each write there is: the ends, by the write; 0 is without a death."""
    async with Client.connect(access, max_in_flight=512) as client:
        await install(client)
        ends: dict[int, Any] = {0: (await play(client, 0))[0]}
        deaths = 0
        while True:
            writes = range(len(ends), len(ends) + _AT_ONCE)
            played = await asyncio.gather(*(play(client, write) for write in writes))
            ends |= {write: end for write, (end, _) in zip(writes, played, strict=True)}
            deaths += sum(died for _, died in played)
            # As many writes as there are: the first one that nobody dies of is the last.
            if not played[-1][1]:
                break
    assert deaths >= fewest, f"{deaths} deaths in {len(ends) - 1} plays"
    return ends
