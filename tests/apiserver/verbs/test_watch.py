"""A watch whose client does not read."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rayward.local.apiserver import hub
from rayward.local.apiserver.verbs import watch
from rayward.net.tls import ClientTls, client_context
from tests.apiserver.inprocess import Api, serving

pytestmark = pytest.mark.anyio

_CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
_LARGE = "x" * 900_000


@asynccontextmanager
async def _stalled(folder: Path, url: str, query: str) -> AsyncGenerator[asyncio.StreamReader]:
    """A watch of the ConfigMaps of which nobody reads more than what fits a small buffer."""
    context: ssl.SSLContext = client_context(ClientTls((folder / "pki" / "ca.crt").read_text()))
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port, ssl=context, limit=4096)
    token = (folder / "pki" / "token").read_text()
    head = f"GET {_CONFIG_MAPS}?watch=1{query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
    writer.write(head.encode())
    await reader.readuntil(b"\r\n\r\n")
    try:
        yield reader
    finally:
        writer.transport.abort()


async def _write(api: Api, times: int) -> None:
    for number in range(times):
        body = {"metadata": {"name": "large"}, "data": {"a": _LARGE, "n": str(number)}}
        answer = await api.call("PUT", f"{_CONFIG_MAPS}/large", body)
        if answer.code == 404:
            answer = await api.call("POST", _CONFIG_MAPS, body)
        assert answer.code < 300


async def _watches(api: Api) -> int:
    text: bytes = (await api.call("GET", "/metrics")).body
    line = next(line for line in text.splitlines() if line.startswith(b"apiserver_longrunning_requests "))
    return int(float(line.split()[1]))


async def _closed(reader: asyncio.StreamReader) -> None:
    """Read until the server has hung up."""
    try:
        while await reader.read(1 << 20):
            pass
    except (ConnectionError, ssl.SSLError):
        return


@pytest.mark.parametrize(
    ("query", "bytes_kept"),
    [pytest.param("", 4 << 20, id="too slow"), pytest.param("&timeoutSeconds=2", 1 << 40, id="out of time")],
)
async def test_a_client_that_reads_nothing_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str, bytes_kept: int
) -> None:
    monkeypatch.setattr(watch, "_LAST_WORD", 0.2, raising=False)
    monkeypatch.setattr(hub, "_MOST_PENDING_BYTES", bytes_kept)
    async with serving(tmp_path) as api, _stalled(tmp_path, api.url, query) as reader:
        await _write(api, 20)
        async with asyncio.timeout(60):
            while await _watches(api):  # noqa: ASYNC110 - told by its metric alone
                await asyncio.sleep(0.05)
            await _closed(reader)
