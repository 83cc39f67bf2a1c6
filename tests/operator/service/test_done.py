"""An edit is called done when it is so: by kstatus, ``kubectl wait`` and Argo CD, in every version that was written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayservice import RayService
from tests.operator.service import verdicts
from tests.operator.service.stage import ServiceStage, cluster_config, config, service
from tests.operator.service.witness import Witness, witness
from tests.operator.stage import group

pytestmark = pytest.mark.anyio


def _called_done(seen: Witness, generation: int) -> list[RayCluster]:
    """The RayCluster as it was whenever somebody would have called this generation done."""
    cluster, found = RayCluster(), list[RayCluster]()
    for _, each in (seen.changes[version] for version in sorted(seen.changes)):
        if isinstance(each, RayCluster):
            cluster = each
        if not isinstance(each, RayService) or each.metadata.generation != generation:
            continue
        written: dict[str, Any] = msgspec.to_builtins(each)
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
