"""A service is paused, suspended, adopted and deleted."""

from __future__ import annotations

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.options import PatchType
from rayward.kube.core.objects import Key
from rayward.kube.core.resource import EVENTS, PODS, SERVICES
from rayward.operator.service.reconcile import ServiceReconciler
from tests.operator.service.stage import NAME, ServiceStage, cluster_config, config, service
from tests.operator.service.witness import witness
from tests.operator.stage import Object, group, put

pytestmark = pytest.mark.anyio

_A, _B, _C = (cluster_config(f"rayproject/ray:{letter}") for letter in "abc")


async def _until_empty(ray: ServiceStage) -> None:
    async def empty() -> bool:
        return not any([await ray.objects(kind) for kind in (RAY_CLUSTERS, PODS, SERVICES)])

    await ray.eventually(empty)


async def test_a_paused_upgrade_waits_to_be_promoted(ray: ServiceStage) -> None:
    async with ray.operator(), witness(ray) as seen:
        await ray.create(service(_A, rayClusterDeletionDelaySeconds=0))
        old = await ray.until_settled()
        await ray.annotate(pause="true")
        await ray.edit(rayClusterConfig=_B)
        await ray.until("Progressing", "True", "Paused")
        assert await ray.serving() == old
        await ray.annotate(promote="true")
        assert await ray.until_settled() != old

        async def forgotten() -> bool:
            return "rayward.dev/promote" not in (await ray.service())["metadata"]["annotations"]

        await ray.eventually(forgotten)
    seen.swears()


async def test_an_upgrade_is_aborted(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(_A))
        old = await ray.until_settled()
        await ray.annotate(pause="true")
        await ray.edit(rayClusterConfig=_B)
        await ray.until("Progressing", "True", "Paused")
        await ray.annotate(abort="true")
        await ray.until("Progressing", "False", "Aborted")
        await ray.until_names(lambda names: names == {old})

        async def forgotten() -> bool:
            return "rayward.dev/abort" not in (await ray.service())["metadata"]["annotations"]

        await ray.eventually(forgotten)
        # An annotation that cannot be read and is corrected starts nothing again.
        await ray.annotate(pause=None, drain_timeout="bogus")
        await ray.until("Progressing", "False", "ValidationFailed")
        await ray.annotate(drain_timeout=None)
        await ray.until("Progressing", "False", "Aborted")
        assert await ray.names() == {old}
        await ray.edit(rayClusterConfig=_C)
        assert await ray.until_settled(clusters=2) != old


async def test_a_suspend_in_the_middle_frees_everything_and_a_resume_begins_anew(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(_A))
        old = await ray.until_settled()
        ray.kubelet.starts = lambda pod: False
        await ray.edit(rayClusterConfig=_B)
        await ray.until("UpgradeInProgress", "True")
        await ray.edit(suspend=True)
        await ray.until("Suspended", "True", "SuspendComplete")
        await _until_empty(ray)
        assert (await ray.conditions("Ready"))[0] == "False"
        assert (await ray.service())["status"]["status"] == "SUSPENDED"
        ray.kubelet.starts = lambda pod: True
        await ray.edit(suspend=False)
        assert await ray.until_settled() != old
        assert (await ray.conditions("Suspended"))[0] == "False"
        await ray.until_reasons("Suspending", "Suspended", "Resumed")


async def test_a_rejected_edit_of_a_suspended_service_is_told_until_it_is_corrected(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(suspend=True))
        await ray.until("Suspended", "True")
        edited = await ray.edit(serveConfigV2="applications: [")
        await ray.until("Stalled", "True", "ValidationFailed")
        await ray.until_reasons("InvalidRayServiceSpec")
        assert (await ray.service())["status"]["observedGeneration"] == edited["metadata"]["generation"]
        assert (await ray.conditions("Suspended"))[0] == "True"
        await ray.edit(serveConfigV2=config())

        async def corrected() -> bool:
            return await ray.conditions("Stalled") == ("", "")

        await ray.eventually(corrected)


async def test_a_pending_cluster_that_is_born_suspended_waits(ray: ServiceStage) -> None:
    async with ray.operator(), witness(ray) as seen:
        await ray.create(service(_A, rayClusterDeletionDelaySeconds=0))
        old = await ray.until_settled()
        await ray.edit(rayClusterConfig={**_B, "suspend": True})
        await ray.until("Progressing", "True", "ClusterSuspended")
        assert (await ray.conditions("Ready"))[0] == "True"
        first = await ray.names()
        assert len(await ray.pods()) == 1
        # A second edit while it waits.
        await ray.edit(rayClusterConfig={**_C, "suspend": True})
        names = await ray.until_names(lambda names: len(names) == 2 and names != first)
        (waiting,) = names - {old}
        await ray.until("Progressing", "True", "ClusterSuspended")
        # Whoever admits it releases the cluster itself; the spec stays as the user wrote it.
        await ray.patch({"spec": {"suspend": False}}, waiting)
        assert await ray.until_settled() == waiting
    seen.swears()


@pytest.mark.parametrize("finalizers", [[], [labels.SERVICE_FINALIZER]], ids=["plain", "KubeRay's finalizer"])
async def test_a_deleted_service_leaves_nothing(ray: ServiceStage, finalizers: list[str]) -> None:
    async with ray.operator() as manager:
        reconciler = manager.controllers["rayservice"]
        assert isinstance(reconciler, ServiceReconciler)
        await ray.create(service(metadata={"finalizers": finalizers}))
        await ray.until_settled()
        watched = {Key(ray.namespace, name) for name in await ray.names()}
        assert all(key in reconciler.poller for key in watched)
        await ray.client.delete(RAY_SERVICES, NAME, ray.namespace)

        async def gone() -> bool:
            return await ray.objects(RAY_SERVICES) == []

        await ray.eventually(gone)
        await _until_empty(ray)

        async def unwatched() -> bool:
            return not any(key in reconciler.poller for key in watched)

        await ray.eventually(unwatched)


def _owned_by(owner: Object) -> list[Object]:
    reference = {"apiVersion": "ray.io/v1", "kind": "RayService", "name": NAME, "uid": owner["metadata"]["uid"]}
    return [{**reference, "controller": True, "blockOwnerDeletion": True}]


async def test_a_service_that_kuberay_made_keeps_its_cluster(ray: ServiceStage) -> None:
    manifest = service(_A, metadata={"finalizers": [labels.SERVICE_FINALIZER]})
    made = await ray.create(manifest)
    child = f"{NAME}-x7k2p"
    origin = {labels.ORIGIN_NAME: NAME, labels.ORIGIN_KIND: "RayService"}
    metadata = {
        "name": child,
        "labels": origin,
        "annotations": {
            labels.SPEC_HASH: "EU5O3K9J",
            labels.WORKER_GROUP_COUNT: "0",
            labels.OPERATOR_VERSION: "v1.6.2",
        },
        "ownerReferences": _owned_by(made),
    }
    body = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": _A}
    await ray.client.create(RAY_CLUSTERS, body, ray.namespace)
    metadata = {
        "name": f"{NAME}-serve-svc",
        "labels": {**origin, labels.SERVE: f"{NAME}-serve"},
        "ownerReferences": _owned_by(made),
    }
    ports = [{"name": "serve", "port": 8000, "targetPort": 8000, "protocol": "TCP"}]
    selector = {labels.CLUSTER: child, labels.SERVE: "true"}
    serve_service = {"metadata": metadata, "spec": {"selector": selector, "ports": ports}}
    await ray.client.create(SERVICES, serve_service, ray.namespace)
    status = {"status": {"serviceStatus": "Running", "activeServiceStatus": {"rayClusterName": child}}}
    await ray.client.patch(RAY_SERVICES, NAME, status, PatchType.MERGE, ray.namespace, subresource="status")
    async with ray.operator(), witness(ray) as seen:
        assert await ray.until_settled() == child
        await ray.edit(serveConfigV2=config("app:two"))
        assert await ray.until_settled() == child
        assert seen.clusters == {child}
        await ray.edit(rayClusterConfig=_B, rayClusterDeletionDelaySeconds=0)
        assert await ray.until_settled() != child
    assert len(seen.clusters) == 2


async def test_the_cluster_that_serves_follows_the_nested_suspend_in_both_directions(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service())
        serving = await ray.until_settled()
        await ray.edit(rayClusterConfig=cluster_config(suspend=True))
        suspended = await ray.until("Ready", "False", "ZeroServeEndpoints")
        await ray.until("Progressing", "True", "ClusterSuspended")

        async def is_empty() -> bool:
            return await ray.pods() == []

        await ray.eventually(is_empty)
        assert suspended["type"] == "Ready"
        assert await ray.names() == {serving}
        await ray.until_reasons("SuspendedRayCluster")

        await ray.edit(rayClusterConfig=cluster_config(suspend=False))
        assert await ray.until_settled() == serving
        await ray.until_reasons("ResumedRayCluster")


async def test_a_suspend_that_comes_with_another_release_is_for_the_new_cluster(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service())
        serving = await ray.until_settled()
        await ray.edit(rayClusterConfig=cluster_config("rayproject/ray:2", suspend=True))
        await ray.until("Progressing", "True", "ClusterSuspended")
        assert await ray.serving() == serving
        await ray.until_ready()
        (active,) = [each for each in await ray.clusters() if each["metadata"]["name"] == serving]
        assert not active["spec"].get("suspend")


async def test_another_restarted_at_sends_the_config_again_and_restarts_nothing(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service())
        serving = await ray.until_settled()
        pods = {pod["metadata"]["uid"] for pod in await ray.pods()}
        head = ray.heads.of(serving)
        assert len(head.puts) == 1
        change = {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}}}
        await ray.client.patch(RAY_SERVICES, NAME, change, PatchType.MERGE, ray.namespace)

        async def is_sent() -> bool:
            return len(head.puts) == 2

        await ray.eventually(is_sent)
        await ray.until_reasons("Refreshed")
        assert head.puts[0] == head.puts[1]
        assert await ray.until_settled() == serving
        assert {pod["metadata"]["uid"] for pod in await ray.pods()} == pods


async def test_a_restarted_at_that_came_while_no_operator_was_there_is_acted_upon(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service())
        serving = await ray.until_settled()
    head = ray.heads.of(serving)
    change = {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}}}
    await ray.client.patch(RAY_SERVICES, NAME, change, PatchType.MERGE, ray.namespace)
    async with ray.operator():
        await ray.until_reasons("Refreshed")
    assert len(head.puts) == 2
    async with ray.operator():
        await ray.edit(serveConfigV2=config("app:two"))
        await ray.until_settled()
    assert len(head.puts) == 3, "another operator sends it for another config only"


async def test_a_cluster_that_was_edited_itself_is_told(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(cluster_config("rayproject/ray:2.60.0", rayVersion="2.60.0")))
        serving = await ray.until_settled()
        edit = put("/spec/headGroupSpec/template/spec/containers/0/image", "rayproject/ray:2.60.0-gpu")
        await ray.client.patch(RAY_CLUSTERS, serving, edit, PatchType.JSON, ray.namespace)
        await ray.until_reasons("RayClusterEdited")
        (told,) = [event for event in await ray.objects(EVENTS) if event["reason"] == "RayClusterEdited"]
        assert "headGroupSpec.spec.containers[ray].image" in told["message"]
        assert not [event for event in await ray.objects(EVENTS) if event["reason"] == "RayVersionDiffers"]


@pytest.mark.parametrize(
    ("image", "version", "named"),
    [
        ("rayproject/ray:2.9.0-py311", None, "the tag of the head's image"),
        ("ray", "2.9.0", "spec.rayClusterConfig.rayVersion"),
    ],
)
async def test_a_ray_that_is_not_the_one_written_is_told(
    ray: ServiceStage, image: str, version: str | None, named: str
) -> None:
    cluster = cluster_config(image)
    del cluster["rayVersion"]
    async with ray.operator():
        await ray.create(service({**cluster, **({"rayVersion": version} if version else {})}))
        await ray.until_reasons("RayVersionDiffers")
        (told,) = [event for event in await ray.objects(EVENTS) if event["reason"] == "RayVersionDiffers"]
        assert f" runs Ray 2.60.0, but {named} is 2.9.0: write the version that runs" in told["message"]


async def test_a_worker_group_that_an_edit_dropped_is_told(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(cluster_config(groups=[group("small", 1), group("large", 1)])))
        await ray.until_settled()
        await ray.edit(rayClusterConfig=cluster_config(groups=[group("small", 1)]))
        await ray.until_reasons("WorkerGroupRemoved")
        told = [event["message"] for event in await ray.objects(EVENTS) if event["reason"] == "WorkerGroupRemoved"]
        assert "large (1 pods)" in told[0]
