"""An edit is called done when it is so: by kstatus, ``kubectl wait`` and Argo CD, in every version that was written."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import pytest

from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayservice import RayService
from rayward.kube.client.config import find_access
from rayward.kube.core.resource import ENDPOINT_SLICES
from tests.operator.service import verdicts
from tests.operator.service.servers import embedded_and_controllers
from tests.operator.service.stage import NAME, ServiceStage, cluster_config, config, service
from tests.operator.service.witness import Witness, witness
from tests.operator.stage import group

pytestmark = pytest.mark.anyio


def _called_done(seen: Witness, generation: int) -> list[RayCluster]:
    """The RayCluster as it was whenever somebody would have called this generation done."""
    cluster, found = RayCluster(), list[RayCluster]()
    for _, each in (seen.changes[version] for version in sorted(seen.changes)):
        if isinstance(each, RayCluster):
            cluster = each
        if not isinstance(each, RayService) or each.metadata.generation != generation or not each.status.conditions:
            continue
        written = verdicts.as_written(each)
        health, _ = verdicts.argocd(written)
        if verdicts.kstatus(written) == "Current" or verdicts.waited_for(written) or health == "Healthy":
            found.append(cluster)
    return found


async def _generation(ray: ServiceStage) -> int:
    return (await ray.service())["metadata"]["generation"]


async def test_an_edit_of_sizes_is_done_when_the_workers_are_there(ray: ServiceStage) -> None:
    starts: Callable[[Any], bool] = ray.kubelet.starts
    async with ray.operator(), witness(ray) as seen:
        await ray.create(service(cluster_config(groups=[group(replicas=1)])))
        await ray.until_settled()
        ray.kubelet.starts = lambda pod: False
        await ray.edit(rayClusterConfig=cluster_config(groups=[group(replicas=3)]))
        told = await ray.until("Reconciling", "True", "ScalingWorkers")
        assert "1 of 3 pods of worker group small are running" in told["message"]
        found = await ray.service()
        assert (verdicts.kstatus(found), verdicts.waited_for(found)) == ("InProgress", False)
        assert (await ray.conditions("Ready"))[0] == "True", "requests are answered all the while"

        # Another edit on top of it, with the workers still missing: neither is done.
        await ray.edit(serveConfigV2=config("app:two"))
        await ray.until("Reconciling", "True", "ScalingWorkers")
        ray.kubelet.starts = starts
        ray.kubelet.look_again()
        await ray.until_settled()
        grown = await _generation(ray)

        await ray.edit(rayClusterConfig=cluster_config(groups=[group(replicas=0)]))
        await ray.until_settled()
        shrunk = await _generation(ray)
    assert _called_done(seen, grown - 1) == []
    assert {each.status.ready_worker_replicas for each in _called_done(seen, grown)} == {3}
    assert {each.status.ready_worker_replicas for each in _called_done(seen, shrunk)} == {0}


async def test_a_nested_suspension_is_not_called_done_before_it_began(ray: ServiceStage) -> None:
    async with ray.operator(), witness(ray) as seen:
        await ray.create(service())
        serving = await ray.until_settled()
        await ray.edit(rayClusterConfig=cluster_config(suspend=True))
        await ray.until("Reconciling", "True", "ClusterSuspended")
        await ray.until("Ready", "False", "ZeroServeEndpoints")
        suspended = await _generation(ray)
        await ray.edit(rayClusterConfig=cluster_config(suspend=False))
        assert await ray.until_settled() == serving
        resumed = await _generation(ray)
    assert _called_done(seen, suspended) == []
    done = _called_done(seen, resumed)
    assert done
    assert all(each.status.state == "ready" and not each.spec.suspend for each in done)


async def test_a_release_is_not_done_while_the_endpoints_are_those_of_the_former_one() -> None:
    # Its own server: who keeps the endpoints stands still for a while.
    with embedded_and_controllers() as (kubeconfig, controllers):
        async with ServiceStage.on(find_access(kubeconfig)) as ray, ray.operator(), witness(ray) as seen:
            await ray.create(service(rayClusterDeletionDelaySeconds=3600))
            former = await ray.until_settled()
            await ray.annotate(pause="true")
            await ray.edit(rayClusterConfig=cluster_config("rayproject/ray:2"))
            await ray.until("Progressing", "True", "Paused")
            controllers.send_signal(signal.SIGSTOP)
            try:
                await ray.annotate(pause=None)
                told = await ray.until("Reconciling", "True", "EndpointsMoving")
                assert told["message"] == f"Service {NAME}-serve-svc still leads to pods of RayCluster {former}"
                found = await ray.service()
                assert (verdicts.kstatus(found), verdicts.waited_for(found)) == ("InProgress", False)
                assert verdicts.argocd(found) == ("Progressing", told["message"])
                assert await ray.serving() != former
                assert await _clusters_behind(ray) == {former}
                edited = await _generation(ray)
                assert _called_done(seen, edited) == []
            finally:
                controllers.send_signal(signal.SIGCONT)
            serving = await ray.until_settled(clusters=2)
            assert verdicts.kstatus(await ray.service()) == "Current"
            assert await _clusters_behind(ray) == {serving}


async def _clusters_behind(ray: ServiceStage) -> set[str]:
    """Whose pods are endpoints of the stable Service."""
    slices = await ray.objects(ENDPOINT_SLICES)
    own = (each for each in slices if each["metadata"]["labels"]["kubernetes.io/service-name"] == f"{NAME}-serve-svc")
    return {endpoint["targetRef"]["name"].rpartition("-head")[0] for each in own for endpoint in each["endpoints"]}
