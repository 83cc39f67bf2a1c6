from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rayward.kube.client import verbs
from rayward.kube.client.request import Request
from rayward.kube.client.transport.asgi import AsgiTransport
from rayward.kube.core.resource import PODS
from rayward.net.errors import ConnectionLost, TimedOut

pytestmark = pytest.mark.anyio

LIST = verbs.list_(PODS)


def start(status: int = 200) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": [(b"X-Test", b"yes")]}


def part(body: bytes, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def test_what_the_application_sees() -> None:
    seen: dict[str, Any] = {}

    async def application(scope: Any, receive: Any, send: Any) -> None:
        seen.update(scope)
        seen["body"] = (await receive())["body"]
        await send(start(201))
        await send(part(b"a", more=True))
        await send(part(b"b"))

    transport = AsgiTransport(application, token="t")
    request = verbs.create(PODS, {"metadata": {"namespace": "a b"}}, dry_run=True)
    response = await transport.request(request)
    assert (response.status, response.headers["x-test"], response.body) == (201, "yes", b"ab")
    assert (seen["method"], seen["path"]) == ("POST", "/api/v1/namespaces/a b/pods")
    assert (seen["raw_path"], seen["query_string"]) == (b"/api/v1/namespaces/a%20b/pods", b"dryRun=All")
    assert seen["body"] == b'{"metadata":{"namespace":"a b"}}'
    assert (b"authorization", b"Bearer t") in seen["headers"]


async def test_leaving_a_stream_hangs_up() -> None:
    ended = asyncio.Event()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send(start())
        await send(part(b"one", more=True))
        try:
            assert (await receive())["type"] == "http.disconnect"
        finally:
            ended.set()

    async with AsgiTransport(application).stream(LIST) as stream:
        async for read in stream:
            assert read == b"one"
            break
    assert ended.is_set()


async def test_a_slow_reader_slows_the_application_down() -> None:
    sent = 0

    async def application(scope: Any, receive: Any, send: Any) -> None:
        nonlocal sent
        await send(start())
        for _ in range(1000):
            await send(part(b"x", more=True))
            sent += 1
        await send(part(b""))

    async with AsgiTransport(application).stream(LIST) as stream:
        for _ in range(50):
            await asyncio.sleep(0)
        assert sent < 100
        assert len([read async for read in stream]) == 1000


@pytest.mark.parametrize("stage", ["before", "after"])
@pytest.mark.parametrize("fails", [True, False], ids=["raises", "returns"])
async def test_an_application_that_gives_up(stage: str, fails: bool) -> None:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        if stage == "after":
            await send(start())
            await send(part(b"half", more=True))
        if fails:
            raise RuntimeError("broken")

    with pytest.raises(ConnectionLost, match="broken" if fails else "None"):
        await AsgiTransport(application).request(LIST)


async def test_no_answer_in_time() -> None:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await receive()

    with pytest.raises(TimedOut):
        await AsgiTransport(application).request(Request("GET", "/", seconds=0.01))


async def test_silence_of_a_stream() -> None:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send(start())
        await receive()
        await receive()

    async with AsgiTransport(application).stream(Request("GET", "/", seconds=0.01)) as stream:
        with pytest.raises(TimedOut):
            _ = [read async for read in stream]
