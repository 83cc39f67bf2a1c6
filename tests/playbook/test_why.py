"""Every rule tells the state that its evidence was recorded in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rayward import AsyncClient
from rayward.changes.refs import parse_ref
from rayward.changes.why import RULES, Diagnosis, Evidence, explain
from rayward.changes.why.explaining import NOTHING, UNKNOWN
from rayward.kinds.admission import NO_QUEUES
from rayward.kube.client.config import find_access
from rayward.kube.client.sync import SyncClient
from rayward.local.node.capabilities import missing_in_child
from rayward.local.node.cgroups import Cgroups
from rayward.stack.composition import composed
from tests.operator.service.stage import ServiceStage
from tests.playbook import kuberay_scenes
from tests.playbook.failing import FAILING, machine
from tests.playbook.kuberay_scenes import KUBERAY_SCENES
from tests.playbook.record import FOLDER, KUBERAY
from tests.playbook.scenes import SCENES


def _recorded(name: str) -> Evidence:
    document = json.loads((FOLDER / f"{name}.json").read_text())
    lists = {name: tuple(document[name]) for name in ("clusters", "pods", "events", "workloads")}
    return Evidence(parse_ref((document["ref"],), "team"), document["object"], **lists)


def _told(name: str) -> Diagnosis:
    return explain(_recorded(name))


def test_every_rule_has_evidence_that_was_recorded_from_a_run() -> None:
    codes = sorted([*(rule.code for rule in RULES), NOTHING])
    assert sorted(SCENES) == codes
    assert sorted(found.stem for found in FOLDER.glob("*.json")) == codes
    assert sorted(found.stem for found in (FOLDER / KUBERAY).iterdir()) == sorted(KUBERAY_SCENES)


@pytest.mark.parametrize("name", KUBERAY_SCENES)
def test_so_is_the_cause_under_kuberays_operator(name: str) -> None:
    found = _told(f"{KUBERAY}/{name}")
    assert (found.code, all(found.evidence)) == (name, True)
    assert "Rayward" not in found.cause
    if name in FAILING:
        ours = _told(name)
        assert _random.sub("x", found.cause) == _random.sub("x", ours.cause)
        assert found.following.split(" plain-head")[0] == ours.following.split(" plain-head")[0]


def test_a_spec_that_kuberay_rejected_is_none_that_nobody_looks_at() -> None:
    """It writes no status then: all that is told is a warning, and one of the spec before tells nothing."""
    evidence = _recorded(f"{KUBERAY}/Rejected")
    assert not evidence.status
    assert _told(f"{KUBERAY}/Rejected").evidence[0].startswith("InvalidRayClusterSpec: ")
    assert explain(replace(evidence, events=())).code == "NoOperator"
    (event,) = evidence.events
    written = {
        "operation": "Update",
        "manager": "kubectl-edit",
        "fieldsV1": {"f:spec": {}},
        "time": "2099-01-01T00:00:00Z",
    }
    edited = {**evidence.object, "metadata": {**evidence.metadata, "managedFields": [written]}}
    assert explain(replace(evidence, object=edited)).code == "NoOperator"
    other = {**event, "involvedObject": {**event["involvedObject"], "name": "other"}}
    assert explain(replace(evidence, events=(other,))).code == "NoOperator"


def test_what_waits_for_quota_is_told_by_its_workload() -> None:
    (line,) = _told("NotAdmitted").evidence
    assert line.startswith("workload raycluster-plain-")
    assert "insufficient unused quota for cpu" in line
    assert _told(f"{KUBERAY}/NotAdmitted").evidence[0].endswith("waits for kueue.x-k8s.io/admission")


@pytest.mark.parametrize("name", SCENES)
def test_the_cause_is_told_with_its_evidence_and_the_next_command(name: str) -> None:
    found = _told(name)
    assert found.code == name
    assert found.evidence
    assert all(found.evidence)
    assert name == NOTHING or found.following
    assert "{" not in found.cause + found.following


def test_sentences_name_what_is_wrong() -> None:
    assert _told("FinalizerHolds").cause == (
        "raycluster/plain is being deleted, and finalizer example.com/archive holds it"
    )
    assert _told("HeldByBounds").following == "rayward set raycluster/plain small.max=5"
    assert _told("AtMaximum").following.startswith("rayward set raycluster/plain small.max=MORE")
    assert _told("AsAsked").evidence[1] == "group small stays at replicas 1: enableInTreeAutoscaling is off"
    assert _told("Initializing").following.endswith("-c fetch-model")
    assert "nvidia.com/gpu" in _told("Unschedulable").evidence[0]
    assert _told("DeployFailed").cause == "Serve application app of rayservice/svc does not run"


def test_an_unknown_cause_prints_the_evidence() -> None:
    evidence = _recorded("AsAsked")
    conditions = [{"type": "Ready", "status": "False", "reason": "Strange", "message": "the moon"}]
    strange = {**evidence.object, "status": {**evidence.status, "conditions": conditions}}
    found = explain(Evidence(evidence.ref, strange, evidence.clusters, evidence.pods))
    assert found.code == UNKNOWN
    assert "Ready=False Strange: the moon" in found.evidence
    assert any(line.startswith("pod plain-head") for line in found.evidence)


def test_a_cluster_at_its_maximum_is_so_only_where_nothing_else_is_wrong() -> None:
    evidence = _recorded("AtMaximum")
    conditions = [{"type": "Ready", "status": "False", "reason": "Strange", "message": "the moon"}]
    for worse in ({"conditions": conditions}, {"observedGeneration": 0}):
        strange = {**evidence.object, "status": {**evidence.status, **worse}}
        assert explain(replace(evidence, object=strange)).code == UNKNOWN


def test_workers_that_go_as_soon_as_they_are_idle_are_told_so() -> None:
    evidence = _recorded("AtMaximum")
    (group,) = evidence.spec["workerGroupSpecs"]
    for told, seconds in (({}, 60), ({"idleTimeoutSeconds": 0}, 0), ({"idleTimeoutSeconds": 5}, 5)):
        spec = {**evidence.spec, "autoscalerOptions": told, "workerGroupSpecs": [{**group, "maxReplicas": 9}]}
        found = explain(replace(evidence, object={**evidence.object, "spec": spec}))
        assert found.evidence[1] == f"group small: the autoscaler removes workers that are idle for {seconds} s"


_random = re.compile(r"(?<=plain-head-)[a-z0-9]{5}|(?<=svc-)[a-z0-9]{5}\b")


def _same(live: Diagnosis, name: str) -> None:
    """What is recorded is what is so today."""
    recorded = _told(name)
    assert (live.code, _random.sub("x", live.cause)) == (recorded.code, _random.sub("x", recorded.cause))
    assert _random.sub("x", live.following) == _random.sub("x", recorded.following)


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["Paused", "HeldByBounds", "DeployFailed"])
async def test_live_too(ray: ServiceStage, sdk: AsyncClient, name: str) -> None:
    found, _ = await sdk.why(await SCENES[name](ray))
    _same(found, name)
    assert _random.sub("x", found.evidence[0]) == _random.sub("x", _told(name).evidence[0])


@pytest.fixture(scope="module")
def kuberay() -> Iterator[SyncClient]:
    with kuberay_scenes.operating() as api:
        yield api


@pytest.mark.kube
@pytest.mark.parametrize("name", KUBERAY_SCENES)
def test_live_under_kuberays_operator_too(kuberay: SyncClient, name: str) -> None:
    _skip_unless_killed(name)
    with kuberay_scenes.namespace(kuberay, f"why-{name.lower()}") as sdk:
        found, _ = sdk.why(KUBERAY_SCENES[name](sdk))
    _same(found, f"{KUBERAY}/{name}")


def _skip_unless_killed(name: str) -> None:
    """A container is killed for its memory where the machine gives nodes control groups."""
    refusal = Cgroups.here(FOLDER).refusal
    if name == "OutOfMemory" and refusal:
        pytest.skip(refusal)


@pytest.fixture(scope="module")
def failing_node() -> Iterator[Path]:
    refused = missing_in_child()
    if refused:
        pytest.skip(f"pods cannot run here: {'; '.join(refused)}")
    with machine() as kubeconfig:
        yield kubeconfig


@pytest.mark.anyio
@pytest.mark.parametrize("name", FAILING)
async def test_pods_that_fail_on_the_node_are_explained(failing_node: Path, name: str) -> None:
    _skip_unless_killed(name)
    async with ServiceStage.on(find_access(failing_node)) as ray:
        ray.compose = composed(NO_QUEUES)
        sdk = AsyncClient(ray.client, namespace=ray.namespace)
        found, _ = await sdk.why(await FAILING[name](ray))
    _same(found, name)
