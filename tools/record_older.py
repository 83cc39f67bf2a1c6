"""Makes the store of a release, for ``tests/operator/test_older.py`` of the releases after it.

Run it in a checkout of the release to record, with that release's environment:

    PYTHONPATH=. .venv/bin/python PATH/TO/tools/record_older.py FOLDER
    xz -9e -c FOLDER/store.db > tests/operator/recorded/store-COMMIT.db.xz
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from tests.contract.target import embedded_server, ended
from tests.operator.service import stage
from tests.operator.service.stage import ServiceStage, cluster_config, config, service
from tests.operator.stage import group, install, manifest, put, running

from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import AlreadyExists
from rayward.kube.core.resource import NAMESPACES, SERVICE_ACCOUNTS

MANIFESTS = ("complete", "autoscaling", "auth-token", "ingress", "multi-host", "redis", "serve", "volumes", "node-port")


async def fill(kubeconfig: Path) -> None:
    access = find_access(kubeconfig)
    async with Client.connect(access) as client:
        await install(client)
        await client.create(NAMESPACES, {"metadata": {"name": "older"}})
        with contextlib.suppress(AlreadyExists):
            await client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": "older"}})
        ray = ServiceStage(client, access, "older")
        async with running(ray.kubelet.run), ray.operator():
            await clusters(ray)
            await services(ray)


async def clusters(ray: ServiceStage) -> None:
    folder = Path("tests/operator/manifests")
    for name in MANIFESTS:
        for written in yaml.safe_load_all((folder / f"{name}.yaml").read_text()):
            if written and written["kind"] == "RayCluster":
                written["metadata"].pop("namespace", None)
                await ray.client.create(RAY_CLUSTERS, written, "older")
                await ready(ray, written["metadata"]["name"])
    recreate = manifest("recreate", upgradeStrategy={"type": "Recreate"})
    await ray.client.create(RAY_CLUSTERS, recreate, "older")
    drifted = manifest("drifted")
    await ray.client.create(RAY_CLUSTERS, drifted, "older")
    rolling = manifest("rolling", metadata={"annotations": {"rayward.dev/rolling-update": "workers"}})
    await ray.client.create(RAY_CLUSTERS, rolling, "older")
    stopped = manifest("stopped", suspend=True)
    await ray.client.create(RAY_CLUSTERS, stopped, "older")
    for name in ("recreate", "drifted", "rolling"):
        await ready(ray, name)
    await ray.patch(
        put("/spec/workerGroupSpecs/0/template/spec/containers/0/image", "rayproject/ray:2.53.0"), "drifted"
    )
    await ray.until_state("suspended", "stopped")

    async def shows() -> bool:
        found = await ray.cluster("drifted")
        return found["status"].get("observedGeneration") == found["metadata"]["generation"]

    await ray.eventually(shows)


async def ready(ray: ServiceStage, name: str) -> None:
    async def holds() -> bool:
        found = await ray.cluster(name)
        conditions = {each["type"]: each["status"] for each in (found.get("status") or {}).get("conditions") or ()}
        return conditions.get("RayClusterProvisioned") == "True"

    await ray.eventually(holds)


async def services(ray: ServiceStage) -> None:
    a, b, c = (cluster_config(f"rayproject/ray:{letter}", groups=[group("small", 1)]) for letter in "abc")

    def named(name: str) -> None:
        stage.NAME = name

    def made(name: str, *args: Any, **more: Any) -> Any:
        found = service(*args, **more)
        found["metadata"]["name"] = name
        return found

    # One that was upgraded; its former cluster stands for an hour.
    named("upgraded")
    await ray.create(made("upgraded", a, rayClusterDeletionDelaySeconds=360000))
    await ray.until("Ready", "True")
    await ray.edit(rayClusterConfig=b)
    await ray.until("Progressing", "True", "NewReleaseAvailable")
    # One whose upgrade is held before the switch.
    named("paused")
    await ray.create(made("paused", a, metadata={"annotations": {"rayward.dev/pause": "true"}}))
    await ray.annotate(promote="true")
    await ray.until("Ready", "True")
    await ray.edit(rayClusterConfig=b)
    await ray.until("Progressing", "True", "Paused")
    # One whose upgrade was given up.
    named("failed")
    await ray.create(made("failed", a))
    await ray.until("Ready", "True")
    await ray.edit(rayClusterConfig=c, serveConfigV2=config("app:broken"))
    await ray.until("Progressing", "False")
    # One with a name of its own for its Service, another config in place, suspended ones.
    named("named")
    await ray.create(made("named", a, serveService={"metadata": {"name": "front", "labels": {"team": "x"}}}))
    await ray.until("Ready", "True")
    await ray.edit(serveConfigV2=config("app:two"))
    await ray.until("Progressing", "True", "NewReleaseAvailable")
    named("asleep")
    await ray.create(made("asleep", a, suspend=True))

    async def sleeps() -> bool:
        found = await ray.client.get(RAY_SERVICES, "asleep", "older")
        conditions = (found.get("status") or {}).get("conditions") or ()
        return any(each["status"] == "True" and each["type"] == "Suspended" for each in conditions)

    await ray.eventually(sleeps)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        stack.enter_context(embedded_server(folder))
        kubeconfig = folder / "kubeconfig"
        log = stack.enter_context((folder / "controllers.log").open("wb"))
        command = [sys.executable, "-m", "rayward.local.controllers", "--kubeconfig", str(kubeconfig), "--without=jobs"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        stack.callback(ended, process)
        asyncio.run(fill(kubeconfig))


if __name__ == "__main__":
    main()
