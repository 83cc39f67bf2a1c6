"""Objects that an older Rayward wrote are taken over as they are: no pod restarts, no traffic moves.

``recorded/store-COMMIT.db.xz`` is the store of that commit, filled by its ``tools/record_older.py``: RayClusters of
many shapes, one drifted, one suspended; RayServices upgraded, paused before the switch, failed, changed in place,
suspended. 1f7b8d2 wrote v1 of the hash, 743d59bd v2.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import lzma
import operator
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from prometheus_client import CollectorRegistry

from rayward.kinds import labels
from rayward.kinds.crds import manifests
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import CUSTOM_RESOURCE_DEFINITIONS, PODS, SERVICES, Resource
from rayward.operator.ray.dashboard import Dashboard
from rayward.operator.ray.reach import PodPort
from tests.contract.target import embedded_server, ended
from tests.kinds.filled import filled_in
from tests.operator.service.stage import ServiceStage, cluster_config
from tests.operator.stage import condition, group, running

pytestmark = pytest.mark.anyio

_NAMESPACE: Final = "older"
_STORES: Final = ("store-1f7b8d2.db.xz", "store-743d59bd.db.xz")
_CONFIG: Final = "rayward.dev/serve-config"

Object = dict[str, Any]


@pytest.fixture(params=_STORES)
def kubeconfig(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    recorded = Path(__file__).parent / "recorded" / request.param
    (tmp_path / "store.db").write_bytes(lzma.decompress(recorded.read_bytes()))
    with contextlib.ExitStack() as stack:
        stack.enter_context(embedded_server(tmp_path))
        log = stack.enter_context((tmp_path / "controllers.log").open("wb"))
        command = [sys.executable, "-m", "rayward.local.controllers", "--without=jobs", "--kubeconfig"]
        process = subprocess.Popen(
            [*command, str(tmp_path / "kubeconfig")], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        stack.callback(ended, process)
        yield tmp_path / "kubeconfig"


@pytest.fixture
async def ray(kubeconfig: Path) -> AsyncGenerator[ServiceStage]:
    access = find_access(kubeconfig)
    async with Client.connect(access) as client:
        # As `rayward up` does: the definitions of this release.
        for manifest in manifests():
            await client.apply(CUSTOM_RESOURCE_DEFINITIONS, manifest, field_manager="rayward-stack", force=True)
        stage = ServiceStage(client, access, _NAMESPACE)
        await _stop_the_clock(stage)
        await _revive(stage)
        async with running(stage.kubelet.run):
            yield stage
    for _ in range(20):
        await asyncio.sleep(0)


async def _stop_the_clock(ray: ServiceStage) -> None:
    """The recording grows older; the cluster that stands for some days after its upgrade is to stand in every run."""
    for found in await ray.objects(RAY_CLUSTERS):
        if "rayward.dev/delete-at" in found["metadata"].get("annotations", {}):
            change = {"metadata": {"annotations": {"rayward.dev/delete-at": "2100-01-01T00:00:00.000000Z"}}}
            await ray.client.patch(RAY_CLUSTERS, found["metadata"]["name"], change, PatchType.MERGE, _NAMESPACE)


async def _revive(ray: ServiceStage) -> None:
    """The Serve applications that run in the heads: pods outlive the operator, and so does what is in them."""
    clusters = {each["metadata"]["name"]: each["metadata"] for each in await ray.objects(RAY_CLUSTERS)}
    for pod in await ray.pods("headgroup"):
        config = clusters[pod["metadata"]["labels"][labels.CLUSTER]].get("annotations", {}).get(_CONFIG)
        if config:
            place = PodPort(_NAMESPACE, pod["metadata"]["name"], pod["status"]["podIP"], 8265)
            dashboard = Dashboard(ray.heads, place)
            await dashboard.deploy(config.encode())
            while not (await dashboard.serve()).settled:  # noqa: ASYNC110 - what settles is a head's
                await asyncio.sleep(0.02)


async def _scene(ray: ServiceStage) -> Object:
    """What users would notice if it changed."""

    async def of(resource: Resource) -> list[Object]:
        return await ray.objects(resource)

    return {
        "pods": {
            (pod["metadata"]["name"], pod["metadata"]["uid"], "deletionTimestamp" in pod["metadata"])
            for pod in await of(PODS)
        },
        "clusters": {(found["metadata"]["name"], found["metadata"]["uid"]) for found in await of(RAY_CLUSTERS)},
        "traffic": {
            found["metadata"]["name"]: (found["metadata"]["uid"], found["spec"].get("selector"))
            for found in await of(SERVICES)
        },
        "ready": {
            (found["kind"], found["metadata"]["name"], condition(found, kind).get("status"))
            for resource in (RAY_CLUSTERS, RAY_SERVICES)
            for found in await of(resource)
            for kind in ("Ready", "HeadPodReady", "RayClusterProvisioned", "UpgradeInProgress")
        },
    }


def _reconciled(registry: CollectorRegistry, controller: str) -> float:
    total = 0.0
    for result in ("success", "requeue_after"):
        found = {"controller": controller, "result": result}
        total += registry.get_sample_value("controller_runtime_reconcile_total", found) or 0.0
    return total


async def _write_back(ray: ServiceStage) -> int:
    """A typed client and a server's defaults write over every spec while the operator is down; how many they change."""
    changed = 0
    for resource, at in ((RAY_CLUSTERS, ("spec",)), (RAY_SERVICES, ("spec", "rayClusterConfig"))):
        for found in await ray.objects(resource):
            if condition(found, "Progressing").get("status") == "False":
                # A new generation of what was given up is tried again, whatever is new in it.
                continue
            spec: Object = functools.reduce(operator.getitem, at, found)
            for each in (spec["headGroupSpec"], *(spec.get("workerGroupSpecs") or ())):
                each["template"] = filled_in(each["template"])
                each["template"].setdefault("metadata", {})["creationTimestamp"] = None
                each["template"]["spec"].setdefault("volumes", [])
                each["template"]["spec"]["preemptionPolicy"] = "PreemptLowerPriority"
            written = await ray.client.update(resource, found)
            changed += written["metadata"]["generation"] > found["metadata"]["generation"]
    return changed


@pytest.mark.parametrize("written_back", [False, True], ids=["as it is", "written back"])
async def test_everything_goes_on_as_it_was(ray: ServiceStage, *, written_back: bool) -> None:
    assert not written_back or await _write_back(ray) > 10
    before = await _scene(ray)
    assert len(before["pods"]) > 30
    counts = {"raycluster": len(before["clusters"]), "rayservice": len(await ray.objects(RAY_SERVICES))}
    registry = CollectorRegistry()
    async with ray.operator(registry=registry):

        async def all_reconciled() -> bool:
            return all(_reconciled(registry, name) >= count for name, count in counts.items())

        await ray.eventually(all_reconciled)
        after = await _scene(ray)
        for part, what in before.items():
            assert after[part] == what, part
        # What waited goes on where it was: the paused upgrade switches when it is promoted, to the cluster that stood.
        await _annotate(ray, "paused", {"rayward.dev/promote": "true"})

        async def switched() -> bool:
            return await _conditions(ray, "paused", "Progressing") == ("True", "NewReleaseAvailable")

        await ray.eventually(switched)
        # What was given up stays given up, also when another annotation changes.
        counts["rayservice"] = int(_reconciled(registry, "rayservice")) + 1
        await _annotate(ray, "failed", {"rayward.dev/drain-timeout": "5m"})
        await ray.eventually(all_reconciled)
        assert (await _conditions(ray, "failed", "Progressing"))[0] == "False"
        assert (await _scene(ray))["clusters"] <= before["clusters"]
        # And an edit is an upgrade like any other.
        change = [{"op": "add", "path": "/spec/rayClusterConfig", "value": _release("d")}]
        await ray.client.patch(RAY_SERVICES, "named", change, PatchType.JSON, _NAMESPACE)

        async def upgraded() -> bool:
            found = await ray.client.get(SERVICES, "front", _NAMESPACE)
            return found["spec"]["selector"] != before["traffic"]["front"][1]

        await ray.eventually(upgraded)


def _release(letter: str) -> Object:
    return cluster_config(f"rayproject/ray:{letter}", groups=[group("small", 1)])


async def _annotate(ray: ServiceStage, name: str, annotations: dict[str, str]) -> None:
    change = {"metadata": {"annotations": annotations}}
    await ray.client.patch(RAY_SERVICES, name, change, PatchType.MERGE, _NAMESPACE)


async def _conditions(ray: ServiceStage, name: str, kind: str) -> tuple[str, str]:
    found = condition(await ray.client.get(RAY_SERVICES, name, _NAMESPACE), kind)
    return found.get("status", ""), found.get("reason", "")
