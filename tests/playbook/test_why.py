"""Every rule tells the state that its evidence was recorded in."""

from __future__ import annotations

import json

import pytest

from rayward import AsyncClient
from rayward.changes.refs import parse_ref
from rayward.changes.why import RULES, Diagnosis, Evidence, explain
from rayward.changes.why.explaining import NOTHING, UNKNOWN
from tests.operator.service.stage import ServiceStage
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


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["Paused", "HeldByBounds"])
async def test_live_too(ray: ServiceStage, sdk: AsyncClient, name: str) -> None:
    found, _ = await sdk.why(await SCENES[name](ray))
    assert found.code == name
