"""The operator on an API server with simulated Ray: a service comes up, changes, and keeps answering."""

from __future__ import annotations

import pytest

from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import EVENTS, PODS, SERVICES
from tests.operator.service.stage import NAME, ServiceStage, cluster_config, config, service
from tests.operator.service.witness import witness
from tests.operator.stage import condition, group

pytestmark = pytest.mark.anyio

_A, _B, _C = (cluster_config(f"rayproject/ray:{letter}") for letter in "abc")
_DELETE_AT = "rayward.dev/delete-at"
_LONG_AGO = "2020-01-01T00:00:00Z"


async def _pods(ray: ServiceStage) -> set[str]:
    return {pod["metadata"]["uid"] for pod in await ray.objects(PODS)}


async def _annotate_cluster(ray: ServiceStage, name: str, annotation: str, value: str) -> None:
    change = {"metadata": {"annotations": {annotation: value}}}
    await ray.client.patch(RAY_CLUSTERS, name, change, PatchType.MERGE, ray.namespace)


async def test_the_first_release_comes_up_and_serves(ray: ServiceStage) -> None:
    async with ray.operator(), witness(ray) as seen:
        await ray.create(service())
        serving = await ray.until_settled()
        await ray.until_reasons("CreatedRayCluster", "CreatedService", "SwitchedTraffic", "Ready")
        told = [event for event in await ray.objects(EVENTS) if event["involvedObject"]["kind"] == "RayService"]
        assert {event["source"]["component"] for event in told} == {"rayservice-controller"}
    seen.swears()
    assert {serving} == await ray.names()
    status = (await ray.service())["status"]
    assert (status["serviceStatus"], status["status"], status["numServeEndpoints"]) == ("Running", "RUNNING", 1)
    assert status["activeServiceStatus"]["rayClusterName"] == status["rayClusterName"] == serving
    assert status["activeServiceStatus"]["applicationStatuses"]["app"]["status"] == "RUNNING"
    assert "pendingServiceStatus" not in status
    assert await ray.conditions("UpgradeInProgress") == ("False", "NoPendingCluster")
    names = {found["metadata"]["name"] for found in await ray.objects(SERVICES)}
    assert names == {f"{NAME}-serve-svc", f"{NAME}-head-svc", f"{serving}-serve-svc", f"{serving}-head-svc"}
    assert len(ray.heads.of(serving).puts) == 1


async def test_another_config_is_sent_to_the_cluster_that_serves(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service())
        first = await ray.until_settled()
        await ray.edit(serveConfigV2=config("app:two"))
        assert await ray.until_settled() == first
        await ray.until_reasons("UpdatingServeApplications", "UpdatedServeApplications")
    assert len(ray.heads.of(first).puts) == 2
    assert ray.heads.words(first) == b"two"


async def test_another_cluster_takes_over_and_the_old_one_goes_after_its_delay(ray: ServiceStage) -> None:
    async with ray.operator(), witness(ray) as seen:
        await ray.create(service(_A, rayClusterDeletionDelaySeconds=3600))
        old = await ray.until_settled()
        await ray.edit(rayClusterConfig=_B, serveConfigV2=config("app:two"))
        new = await ray.until_settled(clusters=2)
        assert new != old

        async def planned() -> bool:
            return _DELETE_AT in (await ray.cluster(old))["metadata"]["annotations"]

        await ray.eventually(planned)
        assert (ray.heads.words(old), ray.heads.words(new)) == (b"one", b"two")
        assert len(ray.heads.of(old).puts) == 1
        await _annotate_cluster(ray, old, _DELETE_AT, _LONG_AGO)
        await ray.until_names(lambda names: names == {new})
        await ray.until_reasons("DeletedRayCluster")
    seen.swears()


async def _proxy_says(ray: ServiceStage, mark: str, pods: str | None) -> None:
    change = {"metadata": {"annotations": {f"rayward.dev/{mark}": pods}}}
    await ray.client.patch(SERVICES, f"{NAME}-serve-svc", change, PatchType.MERGE, ray.namespace)


async def test_an_old_cluster_stays_while_it_owes_answers(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(_A, rayClusterDeletionDelaySeconds=0))
        old = await ray.until_settled()
        (head,) = await ray.pods()
        await _proxy_says(ray, "draining", f"other,{head['metadata']['name']}")
        await ray.edit(rayClusterConfig=_B)
        new = await ray.until_settled(clusters=2)
        # Several runs later it is still there.
        await ray.edit(serveConfigV2=config("app:two"))
        assert await ray.until_settled(clusters=2) == new
        await _proxy_says(ray, "draining", None)
        await ray.until_names(lambda names: names == {new})
        assert old != new


async def test_a_release_is_not_done_while_the_proxy_sends_requests_to_the_former_one(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(_A, rayClusterDeletionDelaySeconds=0))
        old = await ray.until_settled()
        (head,) = await ray.pods()
        await _proxy_says(ray, "serving", f"other,{head['metadata']['name']}")
        await ray.edit(rayClusterConfig=_B)
        told = await ray.until("Reconciling", "True", "EndpointsMoving")
        assert told["message"] == f"Service {NAME}-serve-svc still leads to pods of RayCluster {old}"
        # Several runs later the old cluster is still there, and nothing is done.
        await ray.edit(serveConfigV2=config("app:two"))
        await ray.until("Reconciling", "True", "EndpointsMoving")
        assert old in await ray.names()
        await _proxy_says(ray, "serving", None)
        new = await ray.until_settled()
        assert old != new


async def test_a_return_in_time_is_a_switch_without_new_pods(ray: ServiceStage) -> None:
    async with ray.operator(), witness(ray) as seen:
        await ray.create(service(_A, rayClusterDeletionDelaySeconds=3600))
        old = await ray.until_settled()
        await ray.edit(rayClusterConfig=_B)
        new = await ray.until_settled(clusters=2)
        before = await _pods(ray)
        await ray.edit(rayClusterConfig=_A)
        assert await ray.until_settled(clusters=2) == old
        assert await _pods(ray) == before

        async def swapped() -> bool:
            plans = {name: _DELETE_AT in (await ray.cluster(name))["metadata"]["annotations"] for name in (old, new)}
            return plans == {old: False, new: True}

        await ray.eventually(swapped)
    seen.swears()
    assert len(ray.heads.of(old).puts) == 1


async def test_a_revert_in_the_middle_removes_what_was_on_its_way(ray: ServiceStage) -> None:
    async with ray.operator(), witness(ray) as seen:
        await ray.create(service(_A))
        old = await ray.until_settled()
        ray.kubelet.starts = lambda pod: False
        await ray.edit(rayClusterConfig=_B)
        await ray.until_names(lambda names: len(names) == 2)
        await ray.until("UpgradeInProgress", "True")
        await ray.until("Reconciling", "True")
        found = await ray.service()
        assert found["status"]["observedGeneration"] < found["metadata"]["generation"]
        assert condition(found, "Ready")["observedGeneration"] < found["metadata"]["generation"]
        await ray.edit(rayClusterConfig=_A)
        await ray.until_names(lambda names: names == {old})
        assert await ray.until_settled() == old
        assert await ray.conditions("Reconciling") == await ray.conditions("Stalled") == ("", "")
    seen.swears()
    assert len(seen.clusters) == 2


async def test_a_second_edit_in_the_middle_replaces_what_was_on_its_way(ray: ServiceStage) -> None:
    async with ray.operator(), witness(ray) as seen:
        await ray.create(service(_A, rayClusterDeletionDelaySeconds=0))
        old = await ray.until_settled()
        ray.kubelet.starts = lambda pod: False
        await ray.edit(rayClusterConfig=_B)
        await ray.until_names(lambda names: len(names) == 2)
        first = await ray.names()
        await ray.edit(rayClusterConfig=_C, serveConfigV2=config("app:three"))
        await ray.until_names(lambda names: len(names) == 2 and names != first)
        ray.kubelet.starts = lambda pod: True
        ray.kubelet.look_again()
        last = await ray.until_settled()
    assert last not in first
    seen.swears()
    assert len(seen.clusters) == 3
    assert seen.served == [old, last]


async def test_a_changed_port_reaches_the_service_only_with_its_cluster(ray: ServiceStage) -> None:
    moved = cluster_config()
    moved["headGroupSpec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"] = 9000
    async with ray.operator():
        await ray.create(service())
        await ray.until_settled()
        ray.kubelet.starts = lambda pod: False
        await ray.edit(rayClusterConfig=moved)
        await ray.until("UpgradeInProgress", "True")

        async def port() -> int:
            found = await ray.client.get(SERVICES, f"{NAME}-serve-svc", ray.namespace)
            return found["spec"]["ports"][0]["port"]

        assert await port() == 8000
        ray.kubelet.starts = lambda pod: True
        ray.kubelet.look_again()
        await ray.until_settled(clusters=2)
        assert await port() == 9000


async def test_sizes_and_appended_groups_reach_the_cluster_that_serves(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(cluster_config(groups=[group(replicas=1)])))
        serving = await ray.until_settled()
        await ray.edit(rayClusterConfig=cluster_config(groups=[group(replicas=2, maxReplicas=20)]))
        await ray.until_pods(3, serving)
        await ray.edit(rayClusterConfig=cluster_config(groups=[group(replicas=2), group("more", replicas=1)]))
        await ray.until_pods(4, serving)
        assert await ray.until_settled() == serving
    (cluster,) = await ray.clusters()
    groups = cluster["spec"]["workerGroupSpecs"]
    assert [(each["groupName"], each["replicas"], each["maxReplicas"]) for each in groups] == [
        ("small", 2, 10),
        ("more", 1, 10),
    ]


async def test_replicas_that_the_autoscaler_set_stay(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service(cluster_config(groups=[group(replicas=1)])))
        serving = await ray.until_settled()
        path = "/spec/workerGroupSpecs/0/replicas"
        await ray.patch([{"op": "replace", "path": path, "value": 3}], serving)
        await ray.until_pods(4, serving)
        await ray.edit(rayClusterConfig=cluster_config(groups=[group(replicas=1, maxReplicas=20)]))

        async def grown() -> bool:
            found = (await ray.cluster(serving))["spec"]["workerGroupSpecs"][0]
            return found["maxReplicas"] == 20

        await ray.eventually(grown)
        assert (await ray.cluster(serving))["spec"]["workerGroupSpecs"][0]["replicas"] == 3


async def test_edits_of_the_serve_service_reach_it(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service())
        serving = await ray.until_settled()
        wish = {"metadata": {"annotations": {"a": "b"}, "labels": {"team": "x"}}, "spec": {"type": "NodePort"}}
        await ray.edit(serveService=wish)

        async def has(*expected: str | None) -> bool:
            found = await ray.client.get(SERVICES, f"{NAME}-serve-svc", ray.namespace)
            metadata = found["metadata"]
            return expected == (
                metadata["annotations"].get("a"),
                metadata["labels"].get("team"),
                found["spec"]["type"],
                found["spec"]["selector"].get(labels.CLUSTER),
            )

        await ray.eventually(lambda: has("b", "x", "NodePort", serving))
        # What is no longer asked for goes.
        await ray.edit(serveService={"metadata": {"labels": {"team": "y"}}})
        await ray.eventually(lambda: has(None, "y", "ClusterIP", serving))
        await ray.edit(serveService={"metadata": {"name": "mine"}})

        async def renamed() -> bool:
            found = {each["metadata"]["name"]: each for each in await ray.objects(SERVICES)}
            if f"{NAME}-serve-svc" in found or "mine" not in found:
                return False
            return found["mine"]["spec"]["selector"] == {labels.CLUSTER: serving, labels.SERVE: "true"}

        await ray.eventually(renamed)
        assert await ray.names() == {serving}


async def test_a_selector_that_somebody_broke_is_mended(ray: ServiceStage) -> None:
    async with ray.operator():
        await ray.create(service())
        serving = await ray.until_settled()
        broken = {"spec": {"selector": {labels.CLUSTER: "nobody"}}}
        await ray.client.patch(SERVICES, f"{NAME}-serve-svc", broken, PatchType.MERGE, ray.namespace)

        async def mended() -> bool:
            return await ray.serving() == serving

        await ray.eventually(mended)
        assert await ray.names() == {serving}


async def test_an_upgrade_costs_few_status_writes(ray: ServiceStage) -> None:
    async with ray.operator(), witness(ray) as seen:
        await ray.create(service(_A, rayClusterDeletionDelaySeconds=3600))
        await ray.until_settled()
        before = seen.statuses
        await ray.edit(rayClusterConfig=_B)
        await ray.until_settled(clusters=2)
    # The edit itself, and between first and last word where pods or applications are slow.
    assert seen.statuses - before <= 10
    assert condition(await ray.service(), "Ready")["status"] == "True"
