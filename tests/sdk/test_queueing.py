"""What the queue of an object says, in a plan and asked for alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from rayward import Client
from rayward.kinds.resources import CLUSTER_QUEUES, LOCAL_QUEUES
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client as ApiClient
from rayward.kube.client.options import PatchType
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import NODES
from tests.kinds.clusters import Object, changed, manifest
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


def test_a_plan_says_that_no_node_has_room(client: SyncClient, namespace: str) -> None:
    sdk = Client(client, namespace=namespace)
    body = _asking("2")
    del body["metadata"]["labels"]
    client.create(NODES, {"metadata": {"name": namespace}})
    status = {"status": {"allocatable": {"cpu": "3", "memory": "8Gi", "pods": "10"}}}
    client.patch(NODES, namespace, status, PatchType.MERGE, subresource="status")
    try:
        assert sdk.plan(body).blocked == ("no node has room for 1 pod of group small",)
    finally:
        client.delete(NODES, namespace)
