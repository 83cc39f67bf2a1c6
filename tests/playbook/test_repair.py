"""Recreating, unsticking, and what was left behind."""

from __future__ import annotations

import asyncio

import pytest

from rayward import AsyncClient
from rayward.changes.outcomes import Invalid, NotFound, UsageError
from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import CONTROLLER_REVISIONS, EVENTS, PODS, Resource
from tests.operator.job.stage import ray_job
from tests.operator.mortal import mortal
from tests.operator.service.stage import ServiceStage, service
from tests.operator.stage import GROUPS, Object, Stage, manifest, put, template
from tests.playbook.scenes import finalizer

pytestmark = pytest.mark.anyio
_REF = "raycluster/plain"


async def test_a_finalizer_is_shown_and_only_removed_with_approval(ray: ServiceStage, sdk: AsyncClient) -> None:
    await finalizer(ray)
    stuck = await sdk.stuck(_REF)
    assert stuck.since
    assert [one.finalizer for one in stuck.held] == ["example.com/archive"]
    with pytest.raises(UsageError, match="needs approval"):
        await sdk.unstick(_REF, approve="plane")
    with pytest.raises(NotFound, match="no finalizer"):
        await sdk.unstick(_REF, "example.com/other", approve="plain")
    assert (await sdk.unstick(_REF, approve="plain")).removed == "example.com/archive"
    with pytest.raises(NotFound):
        await sdk.get(_REF)
    assert "FinalizerRemoved" in {event["reason"] for event in await ray.objects(EVENTS)}


async def test_exactly_one_of_several_goes(ray: ServiceStage, sdk: AsyncClient) -> None:
    await Stage.create(ray, manifest(metadata={"finalizers": ["example.com/a", "example.com/b"]}))
    with pytest.raises(Invalid, match="not being deleted"):
        await sdk.unstick(_REF, approve="plain")
    await ray.client.delete(RAY_CLUSTERS, "plain", ray.namespace)
    with pytest.raises(UsageError, match="exactly one is removed"):
        await sdk.unstick(_REF, approve="plain")
    await sdk.unstick(_REF, "example.com/b", approve="plain")
    assert (await ray.cluster())["metadata"]["finalizers"] == ["example.com/a"]


@pytest.mark.parametrize(
    ("resource", "body", "held"),
    [
        pytest.param(RAY_SERVICES, service(), labels.SERVICE_FINALIZER, id="RayService"),
        pytest.param(RAY_JOBS, ray_job("run"), labels.JOB_FINALIZER, id="RayJob"),
    ],
)
async def test_the_cleanup_that_is_known_is_done_before_the_finalizer_goes(
    ray: ServiceStage, sdk: AsyncClient, resource: Resource, body: Object, held: str
) -> None:
    """Killed after it deleted the RayClusters, the finalizer still stands for what is to be done."""
    name = body["metadata"]["name"]
    body = {**body, "metadata": {**body["metadata"], "finalizers": [held]}}
    made = await ray.client.create(resource, body, ray.namespace)
    owner = {"apiVersion": made["apiVersion"], "kind": made["kind"], "name": name, "uid": made["metadata"]["uid"]}
    for child, owners in (("mine", [owner]), ("mine-too", [owner]), ("other", [])):
        cluster = manifest(child, groups=[], metadata={"ownerReferences": owners})
        await ray.client.create(RAY_CLUSTERS, cluster, ray.namespace)
    await ray.client.delete(resource, name, ray.namespace)
    ref = f"{made['kind'].lower()}/{name}"
    stuck = await sdk.stuck(ref)
    assert [(one.finalizer, stuck.cost(one)) for one in stuck.held] == [
        (held, "deletes RayCluster mine, mine-too first")
    ]
    with pytest.raises(UsageError, match="needs approval"):
        await sdk.unstick(ref)
    assert await ray.names() == {"mine", "mine-too", "other"}

    client, _ = mortal(ray.client, 2, "after")
    with pytest.raises(asyncio.CancelledError):
        await AsyncClient(client, namespace=ray.namespace).unstick(ref, approve=name)
    assert await ray.names() == {"other"}
    assert (await ray.client.get(resource, name, ray.namespace))["metadata"]["finalizers"] == [held]

    assert (await sdk.unstick(ref, approve=name)).removed == held
    assert not await ray.objects(resource)
    assert await ray.names() == {"other"}


async def test_a_recreated_object_keeps_its_history(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await Stage.create(ray, manifest(metadata={"labels": {"team": "search"}}))
        await ray.until_pods(3)
        await ray.patch(put(f"{GROUPS}/0/replicas", 1))
        await ray.until_pods(2)
        before = (await ray.cluster())["metadata"]["uid"]
        with pytest.raises(UsageError, match="needs approval"):
            await sdk.recreate(_REF)
        wanted = manifest(gcsFaultToleranceOptions={"redisAddress": "redis:6379"})
        made = (await sdk.recreate(_REF, wanted, approve="plain")).object
        assert made["metadata"]["uid"] != before
        assert made["metadata"]["labels"] == {"team": "search"}
        assert made["spec"]["gcsFaultToleranceOptions"] == {"redisAddress": "redis:6379"}
        found = [(one.revision, one.earlier) for one in await sdk.history(_REF)]
        assert found == [(1, 1), (2, 1), (1, 0)]
        assert not [one for one in await ray.objects(CONTROLLER_REVISIONS) if one["metadata"]["name"].startswith("rec")]


async def test_killed_at_each_write_a_recreation_goes_on(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await Stage.create(ray, manifest(groups=[]))
        await ray.until_pods(1)
        deaths = 0
        for number in range(1, 20):
            moment = ("before", "after")[number % 2]
            uid = (await ray.cluster())["metadata"]["uid"]
            client, transport = mortal(ray.client, number, moment)
            try:
                await AsyncClient(client, namespace=ray.namespace).recreate(_REF, approve="plain")
            except asyncio.CancelledError:
                deaths += 1
            await sdk.recreate(_REF, approve="plain")
            cluster = await ray.cluster()
            assert cluster["metadata"]["uid"] != uid
            assert not [
                one for one in await ray.objects(CONTROLLER_REVISIONS) if one["metadata"]["name"].startswith("recreate")
            ]
            if not transport.died.is_set():
                break
        assert deaths >= 5
        await ray.until_pods(1)


async def test_what_was_left_behind_is_deleted_or_adopted(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await Stage.create(ray, manifest(groups=[]))
        await ray.until_pods(1)
    assert await sdk.leftovers() == ()
    (head,) = await ray.pods()
    await ray.client.patch(
        PODS, head["metadata"]["name"], {"metadata": {"ownerReferences": None}}, PatchType.MERGE, ray.namespace
    )
    marks = {labels.CLUSTER: "gone", labels.IDENTIFIER: "gone-head"}
    await ray.client.create(PODS, {"metadata": {"name": "lost", "labels": marks}, **template()}, ray.namespace)
    own = {"metadata": {"name": "user", "labels": {labels.CLUSTER: "gone"}}, **template()}
    await ray.client.create(PODS, own, ray.namespace)
    found = await sdk.leftovers()
    assert {(one.name, one.action) for one in found} == {("lost", "delete"), (head["metadata"]["name"], "adopt")}
    await sdk.clean(*found)
    assert await sdk.leftovers() == ()
    assert {pod["metadata"]["name"] for pod in await ray.pods()} == {head["metadata"]["name"], "user"}
