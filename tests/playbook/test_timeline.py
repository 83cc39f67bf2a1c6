"""The timeline of an upgrade, recorded by the operator's process, and read back after the object is gone."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from rayward import AsyncClient
from rayward.changes.intents import SetImage
from rayward.changes.outcomes import Conflict, NotFound, Unavailable, UsageError
from rayward.changes.timeline import Store
from rayward.changes.timeline.serving import TimelineServer
from rayward.kinds.admission import NO_QUEUES
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import CONTROLLER_REVISIONS, EVENTS, LEASES, PODS, SERVICE_ACCOUNTS
from rayward.net.server import Server, listen
from rayward.stack.composition import composed
from tests.kube.address import own_address
from tests.operator.service.stage import ServiceStage, service
from tests.operator.stage import Stage, manifest

pytestmark = pytest.mark.anyio


async def test_an_upgrade_is_recorded_and_outlives_the_service(
    ray: ServiceStage, sdk: AsyncClient, tmp_path: Path
) -> None:
    store = Store(tmp_path)
    ray.compose = composed(NO_QUEUES, store=store)
    registry = CollectorRegistry()

    def measured(name: str, **more: str) -> float | None:
        about = {"namespace": ray.namespace, "team": "search", "kind": "RayService", "name": "svc"}
        return registry.get_sample_value(name, {**about, **more})

    async with ray.operator(registry=registry):
        await ray.create(service(metadata={"labels": {"team": "search"}}))
        first = await ray.until_settled()
        written = await sdk.upgrade("rayservice/svc", SetImage("rayproject/ray:2"), cause="newer Ray")
        await sdk.settle(written)
        second = await ray.serving()
        assert (await sdk.stats("rayservice/svc")).changes == 2

        async def counted() -> bool:
            return measured("rayward_changes_total", result="Applied") == 2

        await ray.eventually(counted)
        assert measured("rayward_change_lead_seconds_count") == 2
        subjects = await sdk.all_stats()
        assert [(one.name, one.stats.changes) for one in subjects] == [("rayservice/svc", 2), ("team/search", 2)]
        await ray.client.delete(RAY_SERVICES, "svc", ray.namespace)

        async def gone() -> bool:
            return not await ray.objects(RAY_SERVICES) and not await ray.objects(CONTROLLER_REVISIONS)

        await ray.eventually(gone)

        async def forgotten() -> bool:
            return measured("rayward_changes_total", result="Applied") is None

        await ray.eventually(forgotten)
    found = await sdk.timeline("rayservice/svc", store)
    texts = [one.text for one in found]
    assert f"traffic goes to RayCluster {second}, not {first}" in texts
    assert f"Service selects pods of RayCluster {second}, not {first}" in texts
    # who records a generation first knows not why, or not from what
    assert any(text.startswith("generation 2") and "newer Ray" in text for text in texts)
    assert any(text.startswith("generation 2 was requested") and "spec.rayClusterConfig" in text for text in texts)
    assert "generation 2 ended: NewReleaseAvailable" in texts
    edited = "\n".join(one.detail for one in found if one.what == "spec")
    assert "headGroupSpec.template.spec.containers[ray].image: rayproject/ray:1 -> rayproject/ray:2" in edited
    assert {"RayService", "RayCluster", "Pod"} <= {one.kind for one in found}
    assert texts[-1] != texts[0]
    assert [one.at for one in found] == sorted(one.at for one in found)
    with pytest.raises(NotFound):
        await sdk.timeline("rayservice/svc")


async def test_the_removal_of_a_finalizer_is_recorded_and_outlives_the_object(
    ray: ServiceStage, sdk: AsyncClient, tmp_path: Path
) -> None:
    store = Store(tmp_path)
    ray.compose = composed(NO_QUEUES, store=store)
    async with ray.operator():
        await Stage.create(ray, manifest(metadata={"finalizers": ["example.com/archive"]}))
        await ray.until_pods(3)
        await ray.client.delete(RAY_CLUSTERS, "plain", ray.namespace)

        async def removed() -> bool:
            # the operator writes its status meanwhile
            with suppress(Conflict):
                return (await sdk.unstick("raycluster/plain", approve="plain")).removed == "example.com/archive"
            return False

        await ray.eventually(removed)

        async def told() -> bool:
            return not await ray.objects(RAY_CLUSTERS) and any("FinalizerRemoved" in one.text for one in store.read())

        await ray.eventually(told)
    # the operator may have warned of something else meanwhile
    found = await sdk.timeline("raycluster/plain", store)
    (entry,) = (one for one in found if one.what == "event" and "FinalizerRemoved" in one.text)
    assert "Removed finalizer example.com/archive by rayward unstick" in entry.text
    assert (entry.kind, entry.name, entry.by) == ("RayCluster", "plain", "rayward")


async def test_a_warning_that_is_recorded_is_told_once(ray: ServiceStage, sdk: AsyncClient, tmp_path: Path) -> None:
    """The API server has it too, for an hour."""
    store = Store(tmp_path)
    ray.compose = composed(NO_QUEUES, store=store)
    async with ray.operator():
        await Stage.create(ray, manifest())
        await ray.until_pods(3)
        (head,) = await ray.pods("headgroup")
        about = {"apiVersion": "v1", "kind": "Pod", "name": head["metadata"]["name"], "namespace": ray.namespace}
        event = {"involvedObject": about, "type": "Warning", "reason": "Odd", "message": "strange"}
        await ray.client.create(EVENTS, {"metadata": {"name": "odd"}, **event}, ray.namespace)

        async def told() -> bool:
            return any(one.text == "Odd: strange" for one in store.read())

        await ray.eventually(told)
    assert [one.text for one in await sdk.timeline("raycluster/plain", store)].count("Odd: strange") == 1


@asynccontextmanager
async def _listening(store: Store, address: str) -> AsyncGenerator[int]:
    listener = listen(address, 0)
    server = Server(TimelineServer(store, "2026-01-01T00:00:00Z"), listener)
    await server.start()
    try:
        yield listener.getsockname()[1]
    finally:
        await server.stop()


# the embedded server leads to pods through their kubelet, which is not there
@pytest.mark.parametrize("access", [pytest.param("real", marks=pytest.mark.kube)], indirect=True)
async def test_the_recorder_of_a_cluster_is_asked_through_the_api_server(ray: ServiceStage, sdk: AsyncClient) -> None:
    """The operator is a pod there: a Lease names it, and who may use its proxy reads its timeline."""
    address, store = own_address(), Store()
    ray.compose = composed(NO_QUEUES, store=store)
    ray.kubelet.starts = lambda pod: pod.metadata.name != "operator-0"
    async with ray.operator(), _listening(store, address) as port:
        await Stage.create(ray, manifest())
        await ray.until_pods(3)
        await ray.client.delete(RAY_CLUSTERS, "plain", ray.namespace)

        async def gone() -> bool:
            return not await ray.objects(RAY_CLUSTERS) and any(one.what == "deleted" for one in store.read())

        await ray.eventually(gone)
        await ray.client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "operator"}}, ray.namespace)
        spec = {
            "nodeName": "elsewhere",
            "serviceAccountName": "operator",
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "rayward"}],
        }
        await ray.client.create(PODS, {"metadata": {"name": "operator-0"}, "spec": spec}, ray.namespace)
        status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
        await ray.client.patch(
            PODS, "operator-0", {"status": status}, PatchType.MERGE, ray.namespace, subresource="status"
        )
        where = f"{ray.namespace}:{port}"
        with pytest.raises(NotFound):
            await sdk.recorded("raycluster/plain", where)
        lease = {"metadata": {"name": "rayward-operator"}, "spec": {"holderIdentity": "operator-0_1_ab"}}
        await ray.client.create(LEASES, lease, ray.namespace)
        recorded = await sdk.recorded("raycluster/plain", where)
        assert (recorded.since, recorded.durable) == ("2026-01-01T00:00:00Z", False)
        assert recorded.items == tuple(one for one in store.read() if one.concerns("raycluster/plain"))
        assert {one.what for one in await sdk.timeline("raycluster/plain", recorded)} >= {"created", "pod", "deleted"}
        with pytest.raises(Unavailable, match="has no timeline at port 1"):
            await sdk.recorded("raycluster/plain", f"{ray.namespace}/operator-0:1")
        with pytest.raises(UsageError, match="cannot read"):
            await sdk.recorded("raycluster/plain", "here")


async def test_without_a_record_the_server_is_asked(ray: ServiceStage, sdk: AsyncClient) -> None:
    async with ray.operator():
        await ray.create(service())
        await ray.until_settled()
        await ray.until_reasons("SwitchedTraffic")
    found = await sdk.timeline("rayservice/svc")
    assert {"spec", "condition", "event"} <= {one.what for one in found}
    assert any(one.text.startswith("SwitchedTraffic") for one in found)
