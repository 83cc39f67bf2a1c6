"""What becomes of claims and volumes on a whole server; the same for ours and for a real one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from rayward.kinds.labels import PROVISIONER
from rayward.kube.client.api import Client
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import EVENTS, PERSISTENT_VOLUME_CLAIMS
from rayward.local.controllers.claims.volume import CLASSES, VOLUMES
from tests.controllers.scenarios import Object, gone, running, space, until


async def _claim(client: Client, namespace: str, name: str, **spec: Any) -> Object:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": wanted}
    return await client.create(PERSISTENT_VOLUME_CLAIMS, claim, namespace)


async def _volume(client: Client, folder: Path, size: str = "2Gi", **spec: Any) -> str:
    """A volume that its user made; its name."""
    name = f"disk-{uuid4().hex[:8]}"
    wanted = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": size},
        "hostPath": {"path": str(folder)},
        "storageClassName": name,
        **spec,
    }
    await client.create(VOLUMES, {"apiVersion": "v1", "kind": VOLUMES.kind, "metadata": {"name": name}, "spec": wanted})
    return name


def _folder(volume: Object) -> Path:
    return Path(volume["spec"]["hostPath"]["path"])


async def _bound(client: Client, namespace: str, name: str) -> Object | None:
    claim = await client.get(PERSISTENT_VOLUME_CLAIMS, name, namespace)
    return claim if claim["status"]["phase"] == "Bound" else None


def _in_phase(client: Client, name: str, phase: str) -> Callable[[], Awaitable[Object | None]]:
    async def look() -> Object | None:
        volume = await client.get(VOLUMES, name)
        return volume if volume["status"]["phase"] == phase else None

    return look


async def _delete_volume(client: Client, name: str) -> None:
    await client.delete(VOLUMES, name)
    await until(lambda: gone(client, VOLUMES, name))


def _told(client: Client, namespace: str, reason: str) -> Callable[[], Awaitable[list[str]]]:
    async def look() -> list[str]:
        events = (await client.list(EVENTS, namespace)).items
        return [event["message"] for event in events if event["reason"] == reason]

    return look


@pytest.mark.anyio
class ClaimScenarios:
    async def test_a_claim_gets_a_folder_and_loses_it(self, kubeconfig: Path, tmp_path: Path) -> None:
        async with running(kubeconfig, claims_folder=tmp_path) as client, space(client) as namespace:
            for _ in range(2):
                await _claim(client, namespace, "data")
                claim = await until(lambda: _bound(client, namespace, "data"))
                name = claim["spec"]["volumeName"]
                assert claim["spec"]["storageClassName"] == "standard"
                assert claim["status"] == {
                    "phase": "Bound",
                    "accessModes": ["ReadWriteOnce"],
                    "capacity": {"storage": "1Gi"},
                }
                volume = await client.get(VOLUMES, name)
                folder = _folder(volume)
                assert folder.is_relative_to(tmp_path / namespace)
                assert volume["status"]["phase"] == "Bound"
                assert not folder.exists(), "files of an earlier claim are gone"
                folder.mkdir(parents=True)
                (folder / "file").write_text("something")
                await client.delete(PERSISTENT_VOLUME_CLAIMS, "data", namespace)
                await until(lambda name=name: gone(client, VOLUMES, name))
                assert not folder.exists()

    async def test_a_retained_volume_keeps_its_files_from_everybody(self, kubeconfig: Path, tmp_path: Path) -> None:
        async with running(kubeconfig, claims_folder=tmp_path) as client, space(client) as namespace:
            await _claim(client, namespace, "data")
            name = (await until(lambda: _bound(client, namespace, "data")))["spec"]["volumeName"]
            folder = _folder(await client.get(VOLUMES, name))
            folder.mkdir(parents=True)
            (folder / "file").write_text("the only copy")
            change = {"spec": {"persistentVolumeReclaimPolicy": "Retain"}}
            await client.patch(VOLUMES, name, change, PatchType.MERGE)
            await client.delete(PERSISTENT_VOLUME_CLAIMS, "data", namespace)
            await until(_in_phase(client, name, "Released"))
            assert (folder / "file").read_text() == "the only copy"
            await _claim(client, namespace, "data")
            new = (await until(lambda: _bound(client, namespace, "data")))["spec"]["volumeName"]
            assert new != name
            assert _folder(await client.get(VOLUMES, new)) != folder
            await _delete_volume(client, name)
            assert (folder / "file").exists(), "who deletes the volume alone keeps the files"

    async def test_a_class_says_what_becomes_of_its_volumes(self, kubeconfig: Path, tmp_path: Path) -> None:
        async with running(kubeconfig, claims_folder=tmp_path) as client, space(client) as namespace:
            kept = {"metadata": {"name": f"kept-{namespace}"}, "provisioner": PROVISIONER, "reclaimPolicy": "Retain"}
            await client.create(CLASSES, {"apiVersion": CLASSES.api_version, "kind": CLASSES.kind, **kept})
            await _claim(client, namespace, "data", storageClassName=f"kept-{namespace}")
            name = (await until(lambda: _bound(client, namespace, "data")))["spec"]["volumeName"]
            assert (await client.get(VOLUMES, name))["spec"]["persistentVolumeReclaimPolicy"] == "Retain"

    async def test_a_claim_of_another_class_says_why_it_waits(self, kubeconfig: Path, tmp_path: Path) -> None:
        async with running(kubeconfig, claims_folder=tmp_path) as client, space(client) as namespace:
            await _claim(client, namespace, "data", storageClassName="fast")
            said = await until(_told(client, namespace, "ProvisioningFailed"))
            assert said == ['storageclass.storage.k8s.io "fast" not found']
            assert not await _bound(client, namespace, "data")

    async def test_a_volume_of_the_user_is_bound_and_released(self, kubeconfig: Path, tmp_path: Path) -> None:
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "file").write_text("mine")
        async with running(kubeconfig, claims_folder=tmp_path / "ours") as client, space(client) as namespace:
            name = await _volume(client, tmp_path / "mine", persistentVolumeReclaimPolicy="Delete")
            await until(_in_phase(client, name, "Available"))
            claim = await _claim(client, namespace, "data", storageClassName=name)
            bound = await until(lambda: _bound(client, namespace, "data"))
            assert bound["spec"]["volumeName"] == name
            assert bound["status"]["capacity"] == {"storage": "2Gi"}, "the volume's, not what was asked for"
            held = (await until(_in_phase(client, name, "Bound")))["spec"]["claimRef"]
            assert (held["namespace"], held["name"], held["uid"]) == (namespace, "data", claim["metadata"]["uid"])
            await client.delete(PERSISTENT_VOLUME_CLAIMS, "data", namespace)
            await until(_in_phase(client, name, "Released"))
            assert (tmp_path / "mine" / "file").exists(), "only volumes that were made here are wiped"
            await _delete_volume(client, name)

    async def test_a_volume_that_comes_later_is_taken_by_one_claim(self, kubeconfig: Path, tmp_path: Path) -> None:
        async with running(kubeconfig, claims_folder=tmp_path) as client, space(client) as namespace:
            for name in ("a", "b"):
                await _claim(client, namespace, name, storageClassName=namespace)
            assert len(await until(_told(client, namespace, "ProvisioningFailed"))) >= 1
            first = await _volume(client, tmp_path, storageClassName=namespace)
            await until(_in_phase(client, first, "Bound"))
            second = await _volume(client, tmp_path, storageClassName=namespace)
            await until(_in_phase(client, second, "Bound"))
            claims = [await until(lambda name=name: _bound(client, namespace, name)) for name in ("a", "b")]
            assert {claim["spec"]["volumeName"] for claim in claims} == {first, second}

    async def test_a_volume_kept_for_a_claim_waits_for_it(self, kubeconfig: Path, tmp_path: Path) -> None:
        async with running(kubeconfig, claims_folder=tmp_path) as client, space(client) as namespace:
            kept = {"namespace": namespace, "name": "mine"}
            name = await _volume(client, tmp_path, storageClassName=namespace, claimRef=kept)
            await until(_in_phase(client, name, "Available"))
            await _claim(client, namespace, "other", storageClassName=namespace)
            await until(_told(client, namespace, "ProvisioningFailed"))
            await _claim(client, namespace, "mine", storageClassName=namespace)
            assert (await until(lambda: _bound(client, namespace, "mine")))["spec"]["volumeName"] == name
            assert not await _bound(client, namespace, "other")

    async def test_a_claim_that_names_a_volume_gets_it_or_says_why_not(self, kubeconfig: Path, tmp_path: Path) -> None:
        async with running(kubeconfig, claims_folder=tmp_path) as client, space(client) as namespace:
            name = await _volume(client, tmp_path, size="1Mi")
            await _claim(client, namespace, "large", storageClassName=name, volumeName=name)
            said = await until(_told(client, namespace, "VolumeMismatch"))
            assert said == [f'Cannot bind to requested volume "{name}": requested PV is too small']
            small = {"requests": {"storage": "1Mi"}}
            await _claim(client, namespace, "small", storageClassName=name, volumeName=name, resources=small)
            await until(lambda: _bound(client, namespace, "small"))
            held = (await client.get(VOLUMES, name))["spec"]["claimRef"]
            assert held["name"] == "small"
            said = await until(_told(client, namespace, "FailedBinding"))
            assert said == [f'volume "{name}" already bound to a different claim.']
