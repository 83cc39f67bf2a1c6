"""From admission to pods and back: who died in between, what came first, and what a lost node takes with it."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

import pytest

from rayward.kinds import labels
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import EVENTS, PODS
from tests.operator.lives import MARKS
from tests.operator.mortal import Moment, mortal, reads
from tests.operator.stage import condition
from tests.quota.gate.stage import ENGINES, GateStage, group, queued_service, release

pytestmark = [*MARKS, pytest.mark.parametrize("engine", ENGINES, indirect=True)]

_GRANT: Final = re.compile(r"PATCH .*/rayclusters/[^/]+(\?|$)")


def _no_grant(request: Request) -> bool:
    """Whether a request is none by which the gate writes what may run."""
    return reads(request) or _GRANT.search(f"{request.method} {request.target}") is None


async def test_a_cluster_that_no_gate_has_seen_gets_no_pods(ray: GateStage) -> None:
    """The operator may know of a RayCluster before the gate does, and of a release before its Workload."""
    await ray.queue(2)
    async with ray.operator_alone():
        await ray.create_cluster("one", groups=[group(replicas=1)])
        await ray.until_quota("one", "False")
        assert not await ray.pods_of("one")
        assert not await ray.workloads()
    async with ray.operator():
        await ray.until_pods_of("one", 2)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("write", [1, 2])
async def test_a_gate_that_dies_between_admission_and_the_grant_is_followed_by_one_that_grants(
    ray: GateStage, write: int, moment: Moment
) -> None:
    """The first grant is the one that says what is waited for, the second one lets pods run."""
    await ray.queue(2)
    client, transport = mortal(ray.client, write, moment, _no_grant)
    async with ray.within(2):
        async with ray.operator(client):
            await ray.create_cluster("one", groups=[group(replicas=1)])
            await transport.died.wait()
            await transport.settled()
        async with ray.operator():
            await ray.until_pods_of("one", 2)
            assert len(await ray.workloads()) == 1


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_gate_that_dies_while_a_slice_takes_the_place_of_another_is_followed_by_one_that_goes_on(
    ray: GateStage, moment: Moment
) -> None:
    await ray.queue(3)
    async with ray.within(3):
        async with ray.operator():
            await ray.create_cluster("one", groups=[group(replicas=1)])
            await ray.until_pods_of("one", 2)
        client, transport = mortal(ray.client, 1, moment, _no_grant)
        async with ray.operator(client):
            await ray.scale("one", 2)
            await transport.died.wait()
            await transport.settled()
        async with ray.operator():
            await ray.until_pods_of("one", 3)
            await ray.until_workload("one", "QuotaReserved", "True")


async def test_the_head_is_made_before_its_workers(ray: GateStage) -> None:
    seen: list[tuple[str, str]] = []

    def made(old: Pod | None, new: Pod | None) -> None:
        if old is None and new is not None:
            seen.append((new.metadata.label(labels.CLUSTER), new.metadata.label(labels.GROUP)))

    ray.kubelet.pods.subscribe(made)
    await ray.queue(6)
    async with ray.operator():
        await ray.create(queued_service(groups=[group()], rayClusterDeletionDelaySeconds=0))
        old = await ray.until_settled()
        await ray.edit(rayClusterConfig=release(image="rayproject/ray:2", groups=[group()]))
        new = await ray.until_settled()
    for cluster in (old, new):
        assert [each for name, each in seen if name == cluster] == [labels.HEAD_GROUP, "w", "w"]


async def test_a_lost_node_takes_head_and_worker_and_both_come_back_by_the_quota_they_had(ray: GateStage) -> None:
    """The pods fail as the collector of pods has it when their node is gone (pkg/controller/podgc)."""
    await ray.queue(3)
    async with ray.operator(), ray.within(3):
        await ray.create_cluster("one", groups=[group(replicas=2)])
        await ray.until_pods_of("one", 3)
        held = (await ray.workload_of("one"))["metadata"]["uid"]
        (head,), (worker, left) = await ray.pods(labels.HEAD_GROUP), await ray.pods("w")
        gone = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "message": "node not found"}
        status = {"phase": "Failed", "conditions": [gone]}
        for pod in (head, worker):
            name = pod["metadata"]["name"]
            await ray.client.patch(PODS, name, {"status": status}, PatchType.MERGE, ray.namespace, subresource="status")
            with suppress(NotFound):
                # the operator replaces a failed pod, and may be faster
                await ray.client.delete(PODS, name, ray.namespace, grace_period_seconds=0)
        lost = {pod["metadata"]["uid"] for pod in (head, worker)}

        async def replaced() -> bool:
            found = await ray.pods_of("one")
            running = [pod for pod in found if pod.get("status", {}).get("phase") == "Running"]
            return len(running) == len(found) == 3 and not lost & {pod["metadata"]["uid"] for pod in found}

        await ray.eventually(replaced)
        found = await ray.workload_of("one")
        assert found["metadata"]["uid"] == held
        assert condition(found, "QuotaReserved")["status"] == "True"
        assert left["metadata"]["name"]
        assert "GateViolation" not in {one["reason"] for one in await ray.objects(EVENTS)}
