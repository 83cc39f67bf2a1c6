"""Port-forward through the API server: over SPDY, as kubectl does it, and with the official Python client."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import yaml
from kubernetes import client, config
from kubernetes.stream import portforward, stream

from rayward.net.errors import ConnectionLost
from rayward.net.spdysession import Session, Stream
from rayward.net.upgrade import NotUpgraded, upgraded
from tests.node.machine import Machine, sh
from tests.waiting import eventually

_PATIENCE = 150


class _Api:
    """The API server's address and the key to it."""

    def __init__(self, machine: Machine) -> None:
        content = yaml.safe_load(machine.kubeconfig.read_text())
        self.url: str = content["clusters"][0]["cluster"]["server"]
        self.headers = [("Authorization", f"Bearer {content['users'][0]['user']['token']}")]
        self.tls = ssl.create_default_context()
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE

    def forward_url(self, pod: str) -> str:
        return f"{self.url}/api/v1/namespaces/default/pods/{pod}/portforward"


@asynccontextmanager
async def _forwarding(machine: Machine, pod: str) -> AsyncGenerator[Session]:
    api = _Api(machine)
    headers = [*api.headers, ("X-Stream-Protocol-Version", "portforward.k8s.io")]
    async with (
        asyncio.timeout(_PATIENCE),
        upgraded("POST", api.forward_url(pod), "SPDY/3.1", headers=headers, tls=api.tls) as (connection, answer),
    ):
        assert answer.header("X-Stream-Protocol-Version") == "portforward.k8s.io"
        async with Session(connection, server=False) as session:
            yield session
        await connection.end()


async def _connected(session: Session, port: int, request: int = 0) -> tuple[Stream, Stream]:
    shared = [("port", str(port)), ("requestID", str(request))]
    error = await session.open([("streamType", "error"), *shared])
    await error.finish()
    return await session.open([("streamType", "data"), *shared]), error


async def _all(stream: Stream) -> bytes:
    parts: list[bytes] = []
    while part := await stream.read():
        parts.append(part)
    return b"".join(parts)


@pytest.mark.anyio
async def test_a_page_of_a_pod(machine: Machine, pages: str) -> None:
    async with _forwarding(machine, pages) as session:
        data, error = await _connected(session, 8000)
        await data.write(b"GET /hello HTTP/1.0\r\n\r\n")
        assert b"hello from " + pages.encode() in await _all(data)
        await data.finish()
        assert await _all(error) == b""


@pytest.mark.anyio
async def test_half_of_a_forwarded_connection_ends_first(machine: Machine, pages: str) -> None:
    async with _forwarding(machine, pages) as session:
        data, _ = await _connected(session, 9000)
        await data.write(b"said it all")
        await data.finish()
        assert await _all(data) == b"SAID IT ALL"


@pytest.mark.anyio
async def test_many_connections_at_once(machine: Machine, pages: str) -> None:
    async def ask(session: Session, number: int) -> bool:
        data, error = await _connected(session, 9000, number)
        said = f"number {number} ".encode() * 2000
        await data.write(said)
        await data.finish()
        return await _all(data) == said.upper() and await _all(error) == b""

    async with _forwarding(machine, pages) as session:
        assert all(await asyncio.gather(*(ask(session, number) for number in range(40))))


@pytest.mark.anyio
async def test_a_port_where_nobody_listens(machine: Machine, pages: str) -> None:
    async with _forwarding(machine, pages) as session:
        data, error = await _connected(session, 81)
        why = (await _all(error)).decode()
        assert why.startswith(f"error forwarding port 81 to pod {pages}, uid ")
        assert why.endswith(": dial tcp 127.0.0.1:81: connect: connection refused")
        assert await data.read() == b""
        # and the next connection is none the worse for it
        data, _ = await _connected(session, 9000, 1)
        await data.write(b"x")
        await data.finish()
        assert await _all(data) == b"X"


@pytest.mark.anyio
async def test_a_stream_that_makes_no_sense_is_refused(machine: Machine, pages: str) -> None:
    async with _forwarding(machine, pages) as session:
        stream = await session.open([("streamType", "data"), ("port", "no number")])
        with pytest.raises(ConnectionLost):
            await stream.read()


@pytest.mark.anyio
async def test_the_end_of_the_pod_ends_the_forwarding(machine: Machine) -> None:
    name = await asyncio.to_thread(machine.run, sh("exec sleep 600"))
    await asyncio.to_thread(machine.until_ready, name)
    async with _forwarding(machine, name) as session:
        await asyncio.to_thread(machine.delete, name)
        await session.ended(None)


@pytest.mark.anyio
async def test_who_may_not_forward_is_told(machine: Machine, pages: str) -> None:
    api = _Api(machine)
    missing = {"X-Stream-Protocol-Version": "other"}
    for headers, status in (([("Authorization", "Bearer forged")], 401), ([*api.headers, *missing.items()], 403)):
        with pytest.raises(NotUpgraded) as caught:
            async with upgraded("POST", api.forward_url(pages), "SPDY/3.1", headers=headers, tls=api.tls):
                pass
        assert caught.value.answer.status == status


@pytest.fixture
def core(machine: Machine) -> Iterator[Any]:
    settings = client.Configuration()
    config.load_kube_config(str(machine.kubeconfig), client_configuration=settings)
    with client.ApiClient(settings) as made:
        yield client.CoreV1Api(made)


def test_the_official_client_forwards_ports(core: Any, pages: str) -> None:
    forward = portforward(core.connect_get_namespaced_pod_portforward, pages, "default", ports="8000,81")
    socket = forward.socket(8000)
    socket.settimeout(_PATIENCE)
    socket.sendall(b"GET /hello HTTP/1.0\r\n\r\n")
    heard = b""
    while part := socket.recv(4096):
        heard += part
    assert f"hello from {pages}".encode() in heard
    assert "connection refused" in forward.error(81)
    assert forward.error(8000) is None
    forward.close()
    forward.websocket.shutdown()
    # its own thread closes the rest
    eventually(lambda: not any("port forward proxy" in thread.name for thread in threading.enumerate()))


def test_the_official_client_runs_commands(core: Any, pages: str) -> None:
    said = stream(
        core.connect_get_namespaced_pod_exec,
        pages,
        "default",
        command=["sh", "-c", "echo out; echo err >&2; exit 3"],
        stdout=True,
        stderr=True,
        stdin=False,
        tty=False,
        _preload_content=False,
    )
    said.run_forever(timeout=_PATIENCE)
    assert (said.read_stdout(), said.read_stderr(), said.returncode) == ("out\n", "err\n", 3)
    said.sock.shutdown()


def test_the_official_client_writes_to_a_command(core: Any, pages: str) -> None:
    """Its ``write_stdin`` of a text sends text frames, though the protocol that was agreed is a binary one."""
    said = stream(
        core.connect_get_namespaced_pod_exec,
        pages,
        "default",
        command=["sh", "-c", "read line; echo heard $line"],
        stdout=True,
        stderr=True,
        stdin=True,
        tty=False,
        _preload_content=False,
    )
    said.write_stdin("x\n")
    said.run_forever(timeout=_PATIENCE)
    assert (said.read_stdout(), said.returncode) == ("heard x\n", 0)
    said.sock.shutdown()
