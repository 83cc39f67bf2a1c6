"""The proxy decides after resolving, and connects to what it checked."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.local.node.egress.proxy import Dial, Proxy, Resolve, Streams, resolve
from rayward.local.node.sandboxes import Sandboxes


@pytest.fixture(autouse=True)
def no_upstream(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def _never(host: str, port: int) -> Streams:
    raise AssertionError(f"connected to {host}:{port}")


async def _asked(head: str, folder: Path, resolving: Resolve, dial: Dial) -> str:
    """What a client of the proxy hears first."""
    proxy = Proxy(Sandboxes(folder), "", lambda _host, _client: None, resolve=resolving, dial=dial)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(head.encode())
        writer.write_eof()
        heard = (await reader.read()).decode()
        writer.close()
    return heard.splitlines()[0]


_SPELLINGS = (
    "127.0.0.1",
    "127.1",
    "127.43.0.1",
    "LOCALHOST",
    "localhost",
    "0x7f000001",
    "0x7f.1",
    "2130706433",
    "017700000001",
    "0",
    "0.0.0.0",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::]",
    "169.254.169.254",
    "2852039166",
    "[fe80::1]",
)


@pytest.mark.parametrize("host", _SPELLINGS)
@pytest.mark.parametrize("form", ["CONNECT {}:80 HTTP/1.1", "GET http://{}:80/ HTTP/1.1"])
def test_no_spelling_of_this_machine_leads_to_it(host: str, form: str, tmp_path: Path) -> None:
    # A machine without IPv6 may not know some of them; nothing leads there all the same.
    said = asyncio.run(_asked(f"{form.format(host)}\r\n\r\n", tmp_path, resolve, _never))
    assert said in {"HTTP/1.1 403 Forbidden", "HTTP/1.1 502 Bad Gateway"}
    if "[" not in host:
        assert said == "HTTP/1.1 403 Forbidden"


def test_a_name_that_resolves_to_this_machine_is_no_way_to_it(tmp_path: Path) -> None:
    async def to_itself(_host: str) -> list[str]:
        return ["127.0.0.1", "::1"]

    said = asyncio.run(_asked("CONNECT evil.example:80 HTTP/1.1\r\n\r\n", tmp_path, to_itself, _never))
    assert said == "HTTP/1.1 403 Forbidden"


def test_what_was_checked_is_connected_to(tmp_path: Path) -> None:
    answers: Iterator[list[str]] = iter([["127.0.0.1", "192.0.2.7"], ["127.0.0.1"]])
    dialled: list[tuple[str, int]] = []

    async def rebinding(_host: str) -> list[str]:
        return next(answers)

    async def dial(host: str, port: int) -> Streams:
        dialled.append((host, port))
        raise OSError("refused")

    said = asyncio.run(_asked("CONNECT evil.example:81 HTTP/1.1\r\n\r\n", tmp_path, rebinding, dial))
    assert said == "HTTP/1.1 502 Bad Gateway"
    assert dialled == [("192.0.2.7", 81)]


def test_the_next_address_is_tried_when_one_does_not_answer(tmp_path: Path) -> None:
    dialled: list[str] = []

    async def two(_host: str) -> list[str]:
        return ["2001:db8::1", "192.0.2.7"]

    async def dial(host: str, _port: int) -> Streams:
        dialled.append(host)
        if ":" in host:
            raise OSError("no route")
        near, far = socket.socketpair()
        far.close()
        return await asyncio.open_connection(sock=near)

    said = asyncio.run(_asked("CONNECT good.example:443 HTTP/1.1\r\n\r\n", tmp_path, two, dial))
    assert said == "HTTP/1.1 200 Connection established"
    assert dialled == ["2001:db8::1", "192.0.2.7"]


def _through(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, resolving: Resolve, asked_for: str = "name.example:443"
) -> tuple[str, list[str]]:
    """What the client hears and what a proxy of this machine is asked for."""
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode().splitlines()[0])
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        writer.close()

    async def play() -> str:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as upstream:
            port = upstream.sockets[0].getsockname()[1]
            monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
            return await _asked(f"CONNECT {asked_for} HTTP/1.1\r\n\r\n", tmp_path, resolving, _never)

    return asyncio.run(play()), asked


def test_a_proxy_of_this_machine_is_asked_for_the_address_that_was_checked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def outside(_host: str) -> list[str]:
        return ["192.0.2.7"]

    said, asked = _through(monkeypatch, tmp_path, outside)
    assert said == "HTTP/1.1 200 Connection established"
    assert asked == ["CONNECT 192.0.2.7:443 HTTP/1.1"]


def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async def mixed(_host: str) -> list[str]:
        return ["192.0.2.7", "127.0.0.1"]

    said, asked = _through(monkeypatch, tmp_path, mixed)
    assert (said, asked) == ("HTTP/1.1 403 Forbidden", [])


def test_a_name_that_only_the_next_proxy_knows_is_its_to_resolve(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def unknown(_host: str) -> list[str]:
        raise OSError("no such name")

    said, asked = _through(monkeypatch, tmp_path, unknown)
    assert said == "HTTP/1.1 200 Connection established"
    assert asked == ["CONNECT name.example:443 HTTP/1.1"]


@pytest.mark.parametrize("asked_for", ["127.0.0.1.:80", "x.localhost:80", "127.0.0.1:80 HTTP/1.1\n\n.example:443"])
def test_nothing_that_the_next_proxy_could_take_for_this_machine_is_left_to_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, asked_for: str
) -> None:
    async def unknown(_host: str) -> list[str]:
        raise OSError("no such name")

    said, asked = _through(monkeypatch, tmp_path, unknown, asked_for)
    assert said.split()[1] in {"400", "502"}
    assert asked == []
