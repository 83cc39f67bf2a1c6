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
from rayward.local.node.capabilities import missing_in_child
from rayward.stack.composition import composed
from tests.operator.service.stage import ServiceStage
from tests.playbook.failing import FAILING, machine
from tests.playbook.record import FOLDER
from tests.playbook.scenes import SCENES


def _recorded(name: str) -> Evidence:
    document = json.loads((FOLDER / f"{name}.json").read_text())
    lists = {name: tuple(document[name]) for name in ("clusters", "pods", "events", "workloads")}
    return Evidence(parse_ref((document["ref"],), "team"), document["object"], **lists)


def _told(name: str) -> Diagnosis:
    return explain(_recorded(name))


def test_every_rule_has_a_scene() -> None:
    assert sorted(SCENES) == sorted([*(rule.code for rule in RULES), NOTHING])


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
    assert (live.code, _random.sub("x", live.cause)) == (name, _random.sub("x", recorded.cause))
    assert _random.sub("x", live.following) == _random.sub("x", recorded.following)


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["Paused", "HeldByBounds", "DeployFailed"])
async def test_live_too(ray: ServiceStage, sdk: AsyncClient, name: str) -> None:
    found, _ = await sdk.why(await SCENES[name](ray))
    _same(found, name)
    assert _random.sub("x", found.evidence[0]) == _random.sub("x", _told(name).evidence[0])


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
    async with ServiceStage.on(find_access(failing_node)) as ray:
        ray.compose = composed(NO_QUEUES)
        sdk = AsyncClient(ray.client, namespace=ray.namespace)
        found, _ = await sdk.why(await FAILING[name](ray))
    _same(found, name)
