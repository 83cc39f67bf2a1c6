"""What the queue of an object says, in a plan and asked for alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import msgspec
import pytest

from rayward import Client
from rayward.kinds import labels
from rayward.kinds.kueue import Workload
from rayward.kinds.resources import CLUSTER_QUEUES, LOCAL_QUEUES
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client as ApiClient
from rayward.kube.client.options import PatchType
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import NODES
from rayward.quota.ledger import Ledger, Objects
from rayward.sdk.queueing import check, refusals
from tests.kinds.clusters import Object, changed, manifest, service_manifest
from tests.quota.engine.building import cluster_queue, flavor, local_queue, workload
from tests.quota.engine.stage import FLAVOR
from tests.quota.engine.stage import install as install_queues

_CONTAINER = "template.spec.containers.0.resources"
_LABEL = "metadata.labels"


def _asking(cpu: str) -> Object:
    body = changed(manifest(), _LABEL, {"rayward.dev/queue-name": "q"})
    for group in ("headGroupSpec", "workerGroupSpecs.0"):
        body = changed(body, f"spec.{group}.{_CONTAINER}", {"requests": {"cpu": cpu, "memory": "1Gi"}})
    return body


@pytest.fixture
def queued(access: Access, client: SyncClient, namespace: str) -> Iterator[Client]:
    """A queue of 3 CPUs."""

    async def install() -> None:
        async with ApiClient.connect(access) as api:
            await install_queues(api)

    asyncio.run(install())
    amounts = [{"name": "cpu", "nominalQuota": "3"}, {"name": "memory", "nominalQuota": "8Gi"}]
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": FLAVOR, "resources": amounts}]}
    spec = {"namespaceSelector": {}, "resourceGroups": [group]}
    for resource, name, about in ((CLUSTER_QUEUES, namespace, spec), (LOCAL_QUEUES, "q", {"clusterQueue": namespace})):
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": about}
        client.create(resource, body, namespace if resource.namespaced else None)
    yield Client(client, namespace=namespace)
    client.delete(CLUSTER_QUEUES, namespace)


def test_a_plan_says_that_the_queue_never_has_so_much(queued: Client) -> None:
    assert queued.plan(_asking("1")).blocked == ()
    (reason,) = queued.plan(_asking("2")).blocked
    assert "never fit" in reason
    assert "cpu 4" in reason
    answer = queued.quota_check(_asking("2"))
    assert answer is not None
    assert answer.document()["fits"] == "never"
    assert queued.quota_check(manifest()) is None, "it is in no queue"
    assert queued.plan(manifest()).blocked == ()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.headGroupSpec.template.spec.containers", []),
        ("spec.workerGroupSpecs.0.template.spec", {}),
        (f"spec.headGroupSpec.{_CONTAINER}.requests.cpu", "many"),
        ("spec.workerGroupSpecs", "none"),
    ],
)
def test_of_an_object_that_nobody_can_read_a_plan_says_nothing_about_quota(path: str, value: object) -> None:
    asked = refusals(changed(_asking("1"), path, value), "ns")
    next(asked)
    with pytest.raises(StopIteration) as ended:  # noqa: PT012 - it asks for lists until it has an answer
        while True:
            asked.send({"items": []})
    assert ended.value.value == ()


def _held(cluster: str, cpu: str, service: str = "") -> Workload:
    body = workload(cluster, "q", {"cpu": cpu}, admitted={"queue": "cq", "flavor": "f"})
    origin = {labels.ORIGIN_KIND: "RayService", labels.ORIGIN_NAME: service} if service else {}
    metadata = msgspec.structs.replace(body.metadata, labels={labels.CLUSTER: cluster, **origin})
    return msgspec.structs.replace(body, metadata=metadata)


@pytest.mark.parametrize(
    ("quota", "others", "cpu", "fits"),
    [
        ("4", "2", "1", "now"),
        ("4", "1", "1500m", "now"),
        ("4", "2", "2", "later"),
        ("4", "2", "3", "never"),
        # quota was lowered under what is used: nobody takes from it what it has
        ("3", "2", "1", "now"),
    ],
)
def test_what_a_cluster_holds_counts_for_its_edit_and_what_others_hold_does_not(
    quota: str, others: str, cpu: str, fits: str
) -> None:
    found = Objects(
        flavors=[flavor("f")],
        cluster_queues=[cluster_queue("cq", {"f": {"cpu": quota, "memory": "8Gi"}})],
        local_queues=[local_queue("q", "cq")],
        workloads=[_held("c", "2"), _held("d", others)],
    )
    wanted = _asking(cpu)
    for group in (wanted["spec"]["headGroupSpec"], wanted["spec"]["workerGroupSpecs"][0]):
        group["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    asked = check(Ledger(found, 0), wanted, "ns")
    with pytest.raises(StopIteration) as ended:
        next(asked)
    assert ended.value.value.document()["fits"] == fits


@pytest.mark.parametrize(
    ("quota", "surge", "blocked"),
    [
        pytest.param("3", False, True, id="it never fits beside the old release"),
        pytest.param("4", False, False, id="it fits"),
        pytest.param("4", True, False, id="it was admitted a moment ago"),
    ],
)
def test_an_upgrade_that_was_applied_counts_beside_the_release_that_serves_alone(
    quota: str, surge: bool, blocked: bool
) -> None:
    """The engine may be faster than whoever applied: what the new release holds by now is not kept beside it."""
    body = changed(service_manifest("s"), _LABEL, {"rayward.dev/queue-name": "q"})
    body["spec"]["rayClusterConfig"] = spec = _asking("1")["spec"]
    body["status"] = {"activeServiceStatus": {"rayClusterName": "old"}}
    held = [_held("old", "2", "s"), *([_held("new", "2", "s")] if surge else [])]
    found = Objects(
        flavors=[flavor("f")],
        cluster_queues=[cluster_queue("cq", {"f": {"cpu": quota, "memory": "8Gi"}})],
        local_queues=[local_queue("q", "cq")],
        workloads=held,
    )
    asked = check(Ledger(found, 0), body, "ns", applied=True)
    next(asked)
    with pytest.raises(StopIteration) as ended:
        asked.send({"metadata": {"name": "old"}, "spec": {**spec, "rayVersion": "2.9.0"}})
    assert ended.value.value.verdict.is_blocked == blocked


def test_a_plan_says_that_no_node_has_room(client: SyncClient, namespace: str) -> None:
    sdk = Client(client, namespace=namespace)
    body = _asking("2")
    del body["metadata"]["labels"]
    client.create(NODES, {"metadata": {"name": namespace}})
    status = {"status": {"allocatable": {"cpu": "3", "memory": "8Gi", "pods": "10"}}}
    client.patch(NODES, namespace, status, PatchType.MERGE, subresource="status")
    # the server keeps pods off a node that has not said that it is ready
    client.patch(NODES, namespace, {"spec": {"taints": None}}, PatchType.MERGE)
    try:
        assert sdk.plan(body).blocked == ("no node has room for 1 pod of group small",)
    finally:
        client.delete(NODES, namespace)
