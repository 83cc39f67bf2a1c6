"""Connections that are cancelled while they are made are nobody's alarm; everything else still is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rayward.net.client import HttpClient, Route
from rayward.net.loop import Loop, run_loop
from rayward.net.tls import ClientTls, client_context
from tests.contract.target import embedded_server

_AT_ONCE = 60
_ROUNDS = 48
_TURNS = 12


async def _cancel_many(url: str) -> list[dict[str, Any]]:
    """Cancel requests in every turn of the loop in which their connections may be half made."""
    alarms: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: alarms.append(context))
    route = Route(tls=client_context(ClientTls(verify=False)))
    async with HttpClient() as client:
        for turns in range(_ROUNDS):
            asked = [asyncio.create_task(client.request("GET", url, route=route)) for _ in range(_AT_ONCE)]
            for _ in range(turns % _TURNS + 1):
                await asyncio.sleep(0)
            for each in asked:
                each.cancel()
            await asyncio.wait(asked)
    return alarms


def test_a_connection_cancelled_in_its_handshake_is_no_alarm(tmp_path: Path) -> None:
    with embedded_server(tmp_path) as server:
        assert run_loop(_cancel_many(f"{server.url}/livez")) == []


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("Fatal error on SSL protocol", ValueError("the handler is closed")),
        ("Fatal error on SSL protocol", RuntimeError("cannot switch state")),
        ("Task exception was never retrieved", RuntimeError("the handler is closed")),
        ("Something was never closed", None),
    ],
)
def test_everything_else_is_told(message: str, error: Exception | None) -> None:
    told: list[dict[str, Any]] = []
    loop = Loop()
    loop.set_exception_handler(lambda _, context: told.append(context))
    context = {"message": message, "exception": error}
    loop.call_exception_handler(context)
    loop.close()
    assert told == [context]


def test_the_answer_of_the_work_is_given() -> None:
    async def work() -> str:
        return type(asyncio.get_running_loop()).__name__

    assert run_loop(work()) == "Loop"
