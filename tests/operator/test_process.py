"""The operator as a process, with no more rights than ``rayward operator rbac`` prints."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
import yaml

from rayward.kube.core.resource import LEASES, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS
from rayward.net.client import HttpClient
from rayward.operator.process import LEASE
from rayward.operator.ray.reach import NoReach
from rayward.operator.rbac import manifests
from rayward.operator.registry import registrations
from tests.operator.account import kubeconfig_of
from tests.operator.stage import Stage, manifest, template

pytestmark = pytest.mark.anyio

_KINDS: Final = {
    "ServiceAccount": SERVICE_ACCOUNTS,
    "Role": ROLES,
    "RoleBinding": ROLE_BINDINGS,
}


async def _kubeconfig(ray: Stage, folder: Path) -> Path:
    """Of an account that has the printed rights in this namespace, and no other."""
    for made in manifests(registrations(NoReach()), [ray.namespace], ray.namespace, "operator"):
        await ray.client.create(_KINDS[made["kind"]], made, ray.namespace)
    return await kubeconfig_of(ray, "operator", folder)


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


@asynccontextmanager
async def _operator(
    ray: Stage, folder: Path, port: int, kubeconfig: Path | None = None
) -> AsyncGenerator[asyncio.subprocess.Process]:
    kubeconfig = kubeconfig or await _kubeconfig(ray, folder)
    flags = ["--kubeconfig", str(kubeconfig), "--watch-namespace", ray.namespace]
    flags += ["--leader-election", "true", "--metrics-addr", f"127.0.0.1:{port}"]
    flags += ["--health-probe-bind-address", f"127.0.0.1:{port}", "--ready-file", str(folder / "ready")]
    log = (folder / "log").open("wb")
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "rayward.operator", *flags, stderr=log)
    log.close()
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def test_the_printed_rights_are_enough(ray: Stage, tmp_path: Path) -> None:
    port = _free_port()
    async with _operator(ray, tmp_path, port) as process, HttpClient() as http:

        async def ready() -> bool:
            assert process.returncode is None, (tmp_path / "log").read_text()[-3000:]
            return (tmp_path / "ready").exists()

        await ray.eventually(ready)
        lease = await ray.client.get(LEASES, LEASE, ray.namespace)
        assert str(process.pid) in lease["spec"]["holderIdentity"]
        head = {"rayStartParams": {}, "template": template(), "enableIngress": True}
        await ray.create(
            manifest(
                headGroupSpec=head,
                enableInTreeAutoscaling=True,
                authOptions={"mode": "token"},
                networkPolicy={"mode": "DenyAll"},
            )
        )
        await ray.until_pods(3)
        await ray.patch({"spec": {"headGroupSpec": {"enableIngress": False}, "networkPolicy": None}})
        await ray.until_pods(3)
        await ray.patch({"spec": {"suspend": True}})
        await ray.until_state("suspended")

        async def page(path: str) -> tuple[int, str]:
            answer = await http.request("GET", f"http://127.0.0.1:{port}{path}")
            return answer.status, answer.body.decode()

        assert (await page("/healthz"))[0] == 200
        assert (await page("/readyz"))[0] == 200
        status, metrics = await page("/metrics")
        assert status == 200
        assert f'kuberay_cluster_info{{name="plain",namespace="{ray.namespace}"' in metrics
        assert 'controller_runtime_reconcile_total{controller="raycluster"' in metrics
        assert "forbidden" not in (tmp_path / "log").read_text().lower()
        process.terminate()
        assert await process.wait() == 0
        assert not (tmp_path / "ready").exists()
        # The next one need not wait.
        lease = await ray.client.get(LEASES, LEASE, ray.namespace)
        assert lease["spec"].get("holderIdentity", "") == ""


async def test_a_start_that_cannot_be_says_what_to_do(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rayward.operator", "--kubeconfig", str(tmp_path / "missing")]
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    _, complaint = await process.communicate()
    assert process.returncode == 10
    assert b"missing does not exist" in complaint
    assert b"next: set KUBECONFIG" in complaint


class _Relay:
    """Between an operator and its server; once cut, what the operator sends still arrives, and no answer comes back."""

    def __init__(self, place: tuple[str, int]) -> None:
        self._place = place
        self._tasks: set[asyncio.Task[None]] = set()
        self.cut_at_next_byte = False
        self.cut = False
        self.last_sent = datetime.now(UTC)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(*self._place)
        for task in (self._forward(reader, back, up=True), self._forward(there, writer, up=False)):
            self._tasks.add(running := asyncio.create_task(task))
            running.add_done_callback(self._tasks.discard)

    async def _forward(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, up: bool) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(1 << 16):
                if up:
                    self.cut = self.cut or self.cut_at_next_byte
                    self.last_sent = datetime.now(UTC)
                elif self.cut:
                    continue
                target.write(data)
                await target.drain()
            target.close()


def _through(kubeconfig: Path, port: int) -> Path:
    """The same kubeconfig, by way of another port of this machine."""
    config = yaml.safe_load(kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
    relayed = kubeconfig.with_name("relayed")
    relayed.write_text(yaml.safe_dump(config))
    return relayed


@asynccontextmanager
async def _relayed(ray: Stage, kubeconfig: Path) -> AsyncGenerator[tuple[Path, _Relay]]:
    server = urlsplit(ray.access.server)
    relay = _Relay((str(server.hostname), int(server.port or 443)))
    listening = await asyncio.start_server(relay.connected, "127.0.0.1", 0)
    try:
        yield _through(kubeconfig, listening.sockets[0].getsockname()[1]), relay
    finally:
        listening.close()


async def test_a_leader_that_is_cut_off_in_the_middle_of_its_writes_sends_none_after_another_leads(
    ray: Stage, tmp_path: Path
) -> None:
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    kubeconfig = await _kubeconfig(ray, tmp_path)

    async def holder() -> str:
        return (await ray.client.get(LEASES, LEASE, ray.namespace))["spec"].get("holderIdentity") or ""

    async with (
        _relayed(ray, kubeconfig) as (relayed, relay),
        _operator(ray, folders[0], _free_port(), relayed) as first,
    ):

        async def leads() -> bool:
            assert first.returncode is None, (folders[0] / "log").read_text()[-3000:]
            return (folders[0] / "ready").exists()

        await ray.eventually(leads)
        async with _operator(ray, folders[1], _free_port(), kubeconfig) as second:

            async def taken() -> bool:
                return str(second.pid) in await holder()

            assert str(first.pid) in await holder()
            await ray.create(manifest())
            relay.cut_at_next_byte = True
            await ray.eventually(taken)
            await ray.until_pods(3)
            assert await asyncio.wait_for(first.wait(), 120) != 0
            spec = (await ray.client.get(LEASES, LEASE, ray.namespace))["spec"]
            assert str(second.pid) in spec["holderIdentity"]
            assert relay.last_sent < datetime.fromisoformat(spec["acquireTime"])
