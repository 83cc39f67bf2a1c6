"""KubeRay's own typed Go client writes objects back a hundred times with nothing changed: nothing is replaced.

Go's types serialise more than was read: ``template.metadata: {}``, ``resources: {}``, amounts in their own spelling.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS
from tests.kube.real.build import build_rewrite
from tests.operator.service.stage import NAME, ServiceStage, cluster_config, config, service
from tests.operator.service.witness import witness
from tests.operator.stage import condition, group, manifest, uids

pytestmark = [pytest.mark.anyio, pytest.mark.kube]

_TIMES: Final = 100


@pytest.fixture
def kubeconfig(request: pytest.FixtureRequest) -> Path:
    """Of the server that the test runs on."""
    return request.getfixturevalue(f"{request.node.callspec.params['access']}_kubeconfig")


async def _rewrite(kubeconfig: Path, namespace: str, kind: str, name: str) -> None:
    program = await asyncio.to_thread(build_rewrite)
    command = [str(program), str(kubeconfig), namespace, kind, name, str(_TIMES)]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    assert (process.returncode, said.decode().strip()) == (0, str(_TIMES)), said.decode()


async def test_what_a_typed_client_writes_back_replaces_nothing(ray: ServiceStage, kubeconfig: Path) -> None:
    workers = [group(replicas=1)]
    plain = manifest(groups=workers, upgradeStrategy={"type": "Recreate"})
    config_of_service = cluster_config(groups=workers)
    # Of a port without a target Go's types write ``targetPort: 0``.
    for cluster in (plain["spec"], config_of_service):
        cluster["headGroupSpec"]["headService"] = {"spec": {"ports": [{"name": "extra", "port": 1234}]}}
    serve_service = {"spec": {"ports": [{"name": "serve", "port": 80}, {"name": "extra", "port": 1234}]}}
    async with ray.operator(), witness(ray) as seen:
        await ray.client.create(RAY_CLUSTERS, plain, ray.namespace)
        await ray.create(service(config_of_service, serveService=serve_service))
        serving = await ray.until_settled(clusters=2)

        async def ready() -> bool:
            return len(await ray.pods()) == 4 and condition(await ray.cluster(), "Ready").get("status") == "True"

        await ray.eventually(ready)
        before = uids(await ray.pods())
        await _rewrite(kubeconfig, ray.namespace, "rayservice", NAME)
        await _rewrite(kubeconfig, ray.namespace, "raycluster", "plain")
        head = (await ray.cluster())["spec"]["headGroupSpec"]
        assert "metadata" in head["template"], "Go wrote what nobody asked for"
        assert head["headService"]["spec"]["ports"][0]["targetPort"] == 0

        # What has to follow is a fence: by then every write before it was acted upon.
        await ray.patch([{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 2}])
        await ray.edit(serveConfigV2=config("app:two"))

        async def followed() -> bool:
            return len(await ray.pods()) == 5

        await ray.eventually(followed)
        await ray.until_settled(clusters=2)
        assert before < uids(await ray.pods()), "no pod was replaced"
        assert seen.clusters == {"plain", serving}, "no cluster was made"

        # And a change that is one replaces every pod of the cluster.
        former = uids([pod for pod in await ray.pods() if pod["metadata"]["labels"][labels.CLUSTER] == "plain"])
        await ray.patch({"spec": {"headGroupSpec": {"template": {"metadata": {"labels": {"new": "one"}}}}}})
        await ray.until_gone(former)
