"""A request handed on over a connection that is there already."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator

import pytest

from rayward.net.duplex import Duplex
from rayward.net.errors import ConnectionLost, NetworkError, ProtocolError
from rayward.net.forward import forwarded
from rayward.net.upgrade import dial
from tests.net.peer import Handler, Peer
from tests.net.wire import pair

pytestmark = pytest.mark.anyio


async def _to(peer: Peer) -> Duplex:
    host, port = peer.server_address[:2]
    return await dial(str(host), int(port))


async def _parts(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        await asyncio.sleep(0)
        yield part


async def test_the_head_is_sent_as_it_is_and_no_word_is_added(plain: Peer) -> None:
    target = "/a/b%2Fc//../d?x=%20y&z"
    async with forwarded(await _to(plain), "GET", target, [("Host", "me"), ("X-A", "1"), ("X-A", "2")], None) as answer:
        told = json.loads(await answer.read())
    assert (told["method"], told["path"]) == ("GET", target)
    told["headers"].pop("Connection", None)
    assert told["headers"] == {"Host": ["me"], "X-A": ["1", "2"]}


async def test_a_body_of_known_length(plain: Peer) -> None:
    headers = [("Host", "me"), ("Content-Length", "6")]
    async with forwarded(await _to(plain), "PUT", "/", headers, _parts(b"abc", b"def")) as answer:
        told = json.loads(await answer.read())
    assert (told["body"], told["headers"]["Content-Length"]) == ("abcdef", ["6"])
    assert "Transfer-Encoding" not in told["headers"]


async def test_an_answer_comes_in_parts_and_packed_as_it_was(plain: Peer) -> None:
    def answer(handler: Handler) -> None:
        handler.reply(200, gzip.compress(b"page"), Content_Encoding="gzip")

    plain.answers["/"] = answer
    async with forwarded(await _to(plain), "GET", "/", [("Host", "me")], None) as stream:
        assert stream.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(await stream.read()) == b"page"


async def test_a_redirect_is_an_answer_like_any_other(plain: Peer) -> None:
    plain.answers["/"] = lambda handler: handler.reply(302, b"", Location="/there")
    async with forwarded(await _to(plain), "GET", "/", [("Host", "me")], None) as stream:
        assert (stream.status, stream.headers["Location"]) == (302, "/there")


async def test_a_body_and_an_answer_at_the_same_time() -> None:
    heard = asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        yield b"first"
        await heard.wait()
        yield b"second"

    async def answer(far: Duplex) -> None:
        await far.reader.readuntil(b"first")
        await far.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        await far.reader.readuntil(b"second")
        await far.write(b"3\r\nbye\r\n0\r\n\r\n")

    async with pair() as (near, far):
        answering = asyncio.create_task(answer(far))
        parts: list[bytes] = []
        async with forwarded(near, "POST", "/", [("Host", "me")], body()) as stream:
            async for part in stream:
                parts.append(part)
                heard.set()
        await answering
    assert b"".join(parts) == b"hellobye"


@pytest.mark.parametrize(
    ("said", "kind"),
    [(b"", ConnectionLost), (b"SSH-2.0\r\n\r\n", ProtocolError)],
    ids=["nothing", "no HTTP"],
)
async def test_no_answer(said: bytes, kind: type[Exception]) -> None:
    async with pair() as (near, far):
        await far.write(said)
        far.finish()
        with pytest.raises(kind):
            async with forwarded(near, "GET", "/", [("Host", "me")], None):
                pass


async def test_an_answer_that_breaks_off_is_not_taken_for_whole() -> None:
    async with pair() as (near, far):
        await far.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        far.finish()
        async with forwarded(near, "GET", "/", [("Host", "me")], None) as stream:
            with pytest.raises(NetworkError):
                await stream.read()
