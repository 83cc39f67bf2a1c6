"""The simulation answers as real Ray did when it was recorded."""

from __future__ import annotations

import pytest

from tests.operator.ray.behaviour import Timings
from tests.operator.ray.compare import differences
from tests.operator.ray.play import Answer, play
from tests.operator.ray.script import BEHAVIOURS, SLOW_SECONDS, TOKEN
from tests.operator.ray.simulated import SimulatedHead
from tests.operator.ray.trace import Trace, load
from tests.runtime.virtual import VirtualClock, run


async def _simulated() -> Trace:
    clock = VirtualClock()
    head = SimulatedHead(clock.now, token=TOKEN, behaviours=BEHAVIOURS, timings=Timings(slow_startup=SLOW_SECONDS))

    async def ask(method: str, path: str, headers: tuple[tuple[str, str], ...], body: bytes | None) -> Answer:
        reply = head.answer(method, path, {name.lower(): value for name, value in headers}, body)
        await clock.sleep(reply.seconds)
        return reply.status, reply.body

    async def visit(path: str) -> Answer:
        reply = head.visit(path)
        return (0, b"") if reply is None else (reply.status, reply.body)

    return await play(ask, visit, clock, {"host": "127.0.0.1", "port": 8000})


@pytest.fixture(scope="module")
def recorded() -> Trace:
    return load()


def test_the_simulation_agrees_with_what_was_recorded(recorded: Trace) -> None:
    assert differences(recorded, run(_simulated())) == []


def test_the_simulation_is_the_same_every_time() -> None:
    assert run(_simulated()) == run(_simulated())
