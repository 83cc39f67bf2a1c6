"""The controllers on the embedded server."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.kube.core.resource import CONFIG_MAPS, EVENTS, INGRESSES, NETWORK_POLICIES
from rayward.local.controllers import Published
from tests.controllers.scenarios import ENDPOINT_SLICES, SERVICES, Scenarios, running, space, until


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("server")
    command = [sys.executable, "-m", "rayward.local.apiserver", "--data-dir", str(folder)]
    with (folder.with_suffix(".log")).open("wb") as log, subprocess.Popen(command, stderr=log) as server:
        try:
            while not (folder / "kubeconfig").exists():
                assert server.poll() is None, folder.with_suffix(".log").read_text()
                time.sleep(0.02)
            yield folder / "kubeconfig"
        finally:
            server.terminate()


class TestOurServer(Scenarios):
    published = Published("10.43.0.1", "192.0.2.1", 6443)

    async def test_the_service_of_the_server_follows_it(self, kubeconfig: Path) -> None:
        for port in (6443, 7443):
            published = Published("10.43.0.1", "192.0.2.1", port)
            async with running(kubeconfig, published=published) as client:

                async def leads_there(port: int = port) -> bool:
                    slices = (await client.list(ENDPOINT_SLICES, "default")).items
                    services = (await client.list(SERVICES, "default")).items
                    return [s["ports"][0]["port"] for s in slices] == [port] and [
                        s["spec"]["ports"][0]["targetPort"] for s in services
                    ] == [port]

                await until(leads_there)

    async def test_an_ingress_and_a_network_policy_say_that_nothing_acts_on_them(
        self, kubeconfig: Path, tmp_path: Path
    ) -> None:
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "controller": True}
        specs = {
            INGRESSES: {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}},
            NETWORK_POLICIES: {"podSelector": {}},
        }
        async with running(kubeconfig, claims_folder=tmp_path) as client, space(client) as namespace:
            owned = await client.create(CONFIG_MAPS, {"metadata": {"name": "owner"}}, namespace)
            metadata = {"name": "web", "ownerReferences": [{**owner, "uid": owned["metadata"]["uid"]}]}
            for resource, spec in specs.items():
                await client.create(resource, {"metadata": metadata, "spec": spec}, namespace)

            async def told() -> bool:
                events = (await client.list(EVENTS, namespace)).items
                about = {
                    (each["reason"], each["involvedObject"]["kind"]) for each in events if "web" in each["message"]
                }
                return about >= {
                    ("IngressNotServed", "Ingress"),
                    ("IngressNotServed", "ConfigMap"),
                    ("NetworkPolicyNotEnforced", "NetworkPolicy"),
                    ("NetworkPolicyNotEnforced", "ConfigMap"),
                }

            await until(told)
