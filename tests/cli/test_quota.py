"""What the commands about quota print, and how they end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.cli.failure import Code
from rayward.kinds import crds, labels
from rayward.kinds.kueue import names
from rayward.kinds.resources import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, RAY_CLUSTERS, WORKLOADS
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import CUSTOM_RESOURCE_DEFINITIONS, Resource
from tests.cli.rayward import Done, run
from tests.contract.kubectl import targets
from tests.quota.engine.building import groups, pod_set
from tests.quota.engine.stage import FLAVOR, install

Object = dict[str, Any]
_AT: Final = "2026-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def queues() -> Iterator[Path]:
    """A server with two queues of a cohort, and a broken one."""
    with targets.embedded() as kubeconfig:
        asyncio.run(_define(kubeconfig))
        _fill(kubeconfig)
        yield kubeconfig


async def _define(kubeconfig: Path) -> None:
    async with Client.connect(find_access(kubeconfig)) as client:
        for manifest in crds.manifests():
            await client.apply(CUSTOM_RESOURCE_DEFINITIONS, manifest, field_manager="tests")
        # it waits for kinds that were defined later
        await install(client)


def _fill(kubeconfig: Path) -> None:
    """RayService shop holds 3 of the 4 CPUs of a queue, where its upgrade and somebody more urgent wait."""
    with SyncClient.connect(find_access(kubeconfig)) as client:
        _create(client, COHORTS, "teams", {})
        for name, cpu in (("research", 4), ("serving", 2)):
            _queue(client, name, cpu, FLAVOR, cohortName="teams")
        _queue(client, "broken", 1, "missing")
        held = _workload(client, "shop-1", 3, "shop")
        given = {"name": "main", "count": 1, "flavors": {"cpu": FLAVOR}, "resourceUsage": {"cpu": "3"}}
        admission = {"clusterQueue": "research", "podSetAssignments": [given]}
        said = [
            {"type": each, "status": "True", "reason": each, "message": "", "lastTransitionTime": _AT}
            for each in (names.QUOTA_RESERVED, names.ADMITTED)
        ]
        client.update(WORKLOADS, {**held, "status": {"admission": admission, "conditions": said}}, subresource="status")
        _workload(client, "shop-2", 3, "shop", role="surge")
        _workload(client, "urgent-1", 4, "urgent", priority=5)


def _create(client: SyncClient, resource: Resource, name: str, spec: Object, **meta: Any) -> Object:
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name, **meta}, "spec": spec}
    return client.create(resource, body, "default" if resource.namespaced else None)


def _queue(client: SyncClient, name: str, cpu: int, flavor: str, **spec: Any) -> None:
    quotas = groups({flavor: {"cpu": cpu}})
    _create(client, CLUSTER_QUEUES, name, {"namespaceSelector": {}, "resourceGroups": quotas, **spec})
    _create(client, LOCAL_QUEUES, name, {"clusterQueue": name})


def _workload(
    client: SyncClient, name: str, cpu: int, service: str, *, role: str = "base", priority: int = 0
) -> Object:
    asked = pod_set("main", 1, {"cpu": str(cpu)}, restartPolicy="Never")
    asked["template"]["spec"]["containers"][0]["image"] = "i"
    of = {labels.ORIGIN_KIND: "RayService", labels.ORIGIN_NAME: service, labels.ROLE: role}
    spec = {"queueName": "research", "priority": priority, "podSets": [asked]}
    return _create(client, WORKLOADS, name, spec, labels=of)


def _rayward(kubeconfig: Path, *words: str, stdin: str = "") -> Done:
    return run("quota", *words, "--kubeconfig", str(kubeconfig), stdin=stdin)


def _cluster(cpu: str, queue: str = "research") -> str:
    head = {"containers": [{"name": "ray", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}
    meta: Object = {"name": "c", "labels": {labels.QUEUE_NAME: queue} if queue else {}}
    spec = {"rayVersion": "2.52.0", "headGroupSpec": {"rayStartParams": {}, "template": {"spec": head}}}
    return json.dumps({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": meta, "spec": spec})


_TREE: Final = """\
cohort/teams
  clusterqueue/research
    cpu (default-flavor): 3 of 4 used, 6 with what others lend
    holds  RayService default/shop: cpu 3
    waits  1. RayService default/urgent: Needs cpu 4; ClusterQueue research has cpu 3 free; \
held by RayService default/shop (cpu 3); position 1 of 2
    waits  2. RayService default/shop: Needs cpu 3; ClusterQueue research has cpu 3 free; \
held by RayService default/shop (cpu 3); position 2 of 2 [surge]
  clusterqueue/serving
    cpu (default-flavor): 0 of 2 used, 6 with what others lend
clusterqueue/broken  inactive: Can't admit new workloads: references missing ResourceFlavor(s): missing.
  cpu (missing): 0 of 1 used
"""


def test_where_there_are_no_queues_the_command_says_so() -> None:
    with targets.embedded() as kubeconfig:
        assert _rayward(kubeconfig) == Done(0, "No ClusterQueues: nothing here waits for quota.\n", "")


def test_queues_are_a_tree_with_who_holds_and_who_waits_at_which_place_and_why(queues: Path) -> None:
    assert _rayward(queues) == Done(0, _TREE, "")


def test_programs_get_the_same_tree(queues: Path) -> None:
    shown = _rayward(queues, "-o", "json")
    assert shown.code == 0, shown.err
    teams, broken = shown.json()["items"]
    assert (teams["kind"], teams["name"]) == ("Cohort", "teams")
    research, serving = teams["children"]
    assert [(one["name"], one["active"]) for one in (research, serving, broken)] == [
        ("research", True),
        ("serving", True),
        ("broken", False),
    ]
    assert research["quota"] == [
        {"flavor": FLAVOR, "resource": "cpu", "nominal": "4", "potential": "6", "used": "3"},
    ]
    (held,) = research["holding"]
    assert (held["owner"], held["workload"], held["resources"], held["role"], held["evicted"]) == (
        "RayService default/shop",
        "default/shop-1",
        {"cpu": "3"},
        "base",
        False,
    )
    assert [(one["position"], one["owner"], one["need"], one["role"]) for one in research["waiting"]] == [
        (1, "RayService default/urgent", {"cpu": "4"}, "base"),
        (2, "RayService default/shop", {"cpu": "3"}, "surge"),
    ]
    assert all("held by RayService default/shop (cpu 3)" in one["why"] for one in research["waiting"])


@pytest.mark.parametrize(
    ("cpu", "queue", "code", "fits", "says"),
    [
        pytest.param("1", "serving", 0, "now", "fits now. Needs cpu 1", id="fits now"),
        pytest.param("4", "serving", 0, "later", "waits. Needs cpu 4; ClusterQueue serving has cpu 3 free", id="waits"),
        pytest.param("7", "research", Code.QUOTA, "never", "needs cpu 7, of 6 at most", id="never fits"),
        pytest.param("1", "broken", Code.QUOTA, "never", "ClusterQueue broken is not active", id="inactive queue"),
        pytest.param("1", "nowhere", Code.QUOTA, "never", "LocalQueue default/nowhere does not exist", id="no queue"),
    ],
)
def test_a_check_tells_now_from_later_and_from_never(
    queues: Path, cpu: str, queue: str, code: int, fits: str, says: str
) -> None:
    said = _rayward(queues, "check", "-f", "-", stdin=_cluster(cpu, queue))
    assert said.code == code, said.err
    assert said.out.startswith(f"RayCluster default/c: {says}" if fits != "never" else "RayCluster default/c: ")
    assert says in said.out
    document = _rayward(queues, "check", "-f", "-", "-o", "json", stdin=_cluster(cpu, queue))
    (answer,) = document.json()["items"]
    assert (document.code, answer["object"], answer["fits"]) == (code, "RayCluster default/c", fits)


def test_a_check_of_a_spec_that_cannot_be_counted_says_what_is_wrong(queues: Path) -> None:
    said = _rayward(queues, "check", "-f", "-", stdin=_cluster("many"))
    assert said.code == Code.INVALID
    assert "RayCluster c cannot be counted" in said.err
    assert "quantities must match the regular expression" in said.err


def test_one_object_that_never_fits_decides_the_code_and_every_object_has_a_line(queues: Path) -> None:
    both = _cluster("1", "serving") + "\n---\n" + _cluster("7", "serving")
    said = _rayward(queues, "check", "-f", "-", stdin=both)
    assert (said.code, len(said.out.splitlines())) == (Code.QUOTA, 2)


def test_a_check_of_what_is_in_no_queue_says_how_to_put_it_in_one_and_writes_nothing(queues: Path) -> None:
    said = _rayward(queues, "check", "-f", "-", stdin=_cluster("1", ""))
    assert said == Done(0, "None of these objects is in a queue: label them with rayward.dev/queue-name.\n", "")
    with SyncClient.connect(find_access(queues)) as client:
        found = {one["metadata"]["name"] for one in client.list(WORKLOADS, "default").items}
    assert found == {"shop-1", "shop-2", "urgent-1"}


_EARLIER: Final = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: earlier}
spec:
  cohort: teams
  namespaceSelector: {}
  flavorFungibility: {whenCanBorrow: Borrow}
"""


def test_a_manifest_of_an_earlier_kueue_is_refused_with_what_to_write(queues: Path) -> None:
    def applied(text: str) -> Done:
        return run("apply", "-f", "-", "--dry-run=server", "--kubeconfig", str(queues), stdin=text)

    refused = applied(_EARLIER)
    assert refused.code == Code.INVALID
    assert 'the server has no kind "ClusterQueue" in version "kueue.x-k8s.io/v1beta1"' in refused.err
    for remedy in ("apiVersion: kueue.x-k8s.io/v1beta2", "cohortName: teams for spec.cohort", "MayStopSearch"):
        assert remedy in refused.err
    rewritten = (
        _EARLIER.replace("v1beta1", "v1beta2")
        .replace("cohort:", "cohortName:")
        .replace("whenCanBorrow: Borrow", "whenCanBorrow: MayStopSearch")
    )
    assert applied(rewritten).code == 0


@pytest.mark.parametrize(
    ("queue", "says"),
    [("nowhere", "LocalQueue default/nowhere does not exist"), ("broken", "ClusterQueue broken is not active")],
)
def test_what_is_applied_to_a_queue_that_nobody_can_use_ends_as_a_check_of_it(
    queues: Path, queue: str, says: str
) -> None:
    asked = _cluster("1", queue)
    applied = run("apply", "-f", "-", "--kubeconfig", str(queues), stdin=asked)
    try:
        assert applied.code == _rayward(queues, "check", "-f", "-", stdin=asked).code == Code.QUOTA
        assert says in applied.err
    finally:
        with SyncClient.connect(find_access(queues)) as client:
            client.delete(RAY_CLUSTERS, "c", "default")
