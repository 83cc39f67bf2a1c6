"""Claims on the embedded server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rayward.kube.client.api import Client
from rayward.kube.core.resource import EVENTS, PERSISTENT_VOLUME_CLAIMS
from rayward.local.controllers.claims.volume import VOLUMES
from tests.controllers.scenarios import gone, running, space, until
from tests.controllers.test_on_our_server import kubeconfig

__all__ = ["kubeconfig"]


async def _make(client: Client, namespace: str, name: str, **spec: Any) -> dict[str, Any]:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": wanted}
    return await client.create(PERSISTENT_VOLUME_CLAIMS, claim, namespace)


async def _bound(client: Client, namespace: str, name: str) -> dict[str, Any] | None:
    claim = await client.get(PERSISTENT_VOLUME_CLAIMS, name, namespace)
    return claim if claim["status"]["phase"] == "Bound" else None


@pytest.mark.anyio
async def test_a_claim_gets_a_folder_and_loses_it(kubeconfig: Path, tmp_path: Path) -> None:
    async with running(kubeconfig, claims_folder=tmp_path) as client, space(client) as namespace:
        for _ in range(2):
            await _make(client, namespace, "data")
            claim = await until(lambda: _bound(client, namespace, "data"))
            name = claim["spec"]["volumeName"]
            assert claim["spec"]["storageClassName"] == "standard"
            assert claim["status"] == {
                "phase": "Bound",
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "1Gi"},
            }
            volume = await client.get(VOLUMES, name)
            folder = tmp_path / namespace / "data"
            assert volume["spec"]["hostPath"]["path"] == str(folder)
            assert volume["status"]["phase"] == "Bound"
            assert not folder.exists(), "files of an earlier claim are gone"
            folder.mkdir(parents=True)
            (folder / "file").write_text("something")
            await client.delete(PERSISTENT_VOLUME_CLAIMS, "data", namespace)
            await until(lambda name=name: gone(client, VOLUMES, name))
            assert not folder.exists()


@pytest.mark.anyio
async def test_a_claim_of_another_class_says_why_it_waits(kubeconfig: Path, tmp_path: Path) -> None:
    async with running(kubeconfig, claims_folder=tmp_path) as client, space(client) as namespace:
        await _make(client, namespace, "data", storageClassName="fast")

        async def told() -> list[str]:
            events = (await client.list(EVENTS, namespace)).items
            return [event["message"] for event in events if event["reason"] == "ProvisioningFailed"]

        assert await until(told) == ['storageclass.storage.k8s.io "fast" not found']
        assert not await _bound(client, namespace, "data")
