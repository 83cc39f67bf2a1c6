"""The tables of fields: none is without a row, and no row is without an effect."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Final

import orjson
import pytest
from tools import fields
from tools.fields import Effect, Row

from rayward.kinds.effects.roles import UNKNOWN_TO_1_6
from tests.kinds.fields import RECORDING

_PAGES: Final = Path(__file__).parents[2] / "docs" / "reference"

# The fields of the published interface, table by table; of jobs what KubeRay v1.6.2 lacks.
_GROUP: Final = "template rayStartParams rayResources"
_AUTOSCALER: Final = "upscalingMode idleTimeoutSeconds image resources env volumeMounts"
_SIZES: Final = "desiredWorkerReplicas availableWorkerReplicas desiredCPU desiredMemory desiredGPU desiredTPU"
_INTERFACE: Final = {
    "raycluster-fields.md": (
        *(f"spec.headGroupSpec.{name}" for name in f"{_GROUP} serviceType enableIngress".split()),
        *(f"spec.workerGroupSpecs[].{name}" for name in f"{_GROUP} groupName replicas minReplicas maxReplicas".split()),
        *(f"spec.autoscalerOptions.{name}" for name in _AUTOSCALER.split()),
        *(f"status.{name}" for name in f"{_SIZES} state head head.podIP head.serviceIP".split()),
        *(f"metadata.{name}" for name in ["name", "namespace", "labels", "annotations", "creationTimestamp"]),
    ),
    "rayservice-fields.md": (
        *(f"spec.{name}" for name in ["rayClusterConfig", "serveConfigV2", "serveDeploymentGraphSpec"]),
        *(f"spec.deploymentUnhealthy{name}Threshold" for name in ("Second", "Restart")),
        *(f"spec.rayClusterConfig.{name}" for name in ("headGroupSpec.rayStartParams", "workerGroupSpecs[].replicas")),
        *(
            f"status.{name}"
            for name in ["status", "appStatus", "appStatus.status", "rayClusterName", "activeServiceStatus"]
        ),
        *(f"status.{name}" for name in ["deploymentStatuses", "startTime", "endTime"]),
        *(f"metadata.{name}" for name in ["name", "namespace", "labels", "annotations"]),
    ),
    "rayjob-fields.md": ("status.attempts", "status.conditions", "status.jobStatusCheckFailureStartTime"),
    "raycronjob-fields.md": ("spec.timeZone", "spec.concurrencyPolicy", "status.active", "status.conditions"),
}


# The types of conditions in KubeRay v1.7.0, by hand from raycluster_types.go and rayservice_types.go: jobs have none.
_CONDITIONS: Final = {
    "RayCluster": "RayClusterProvisioned HeadPodReady ReplicaFailure RayClusterSuspending RayClusterSuspended",
    "RayService": "Ready UpgradeInProgress RollbackInProgress Suspending Suspended",
}


def _rows(name: str) -> dict[str, Row]:
    return fields.PAGES[name][2]


def _has_row(path: str, rows: dict[str, Row]) -> bool:
    whole = (f"{prefix}{mark}" for prefix in fields.KUBERNETES if prefix in rows for mark in ".[{")
    return path in rows or path.startswith(tuple(whole))


@pytest.mark.parametrize("name", fields.PAGES)
def test_a_page_is_what_the_definitions_give(name: str) -> None:
    assert (_PAGES / name).read_text() == fields.page(name), "run python tools/fields.py"


@pytest.mark.parametrize("name", fields.PAGES)
def test_rows_and_fields_are_the_same(name: str) -> None:
    assert set(_rows(name)) == set(fields.defined(fields.PAGES[name][0]))


@pytest.mark.parametrize("name", fields.PAGES)
def test_every_field_of_kuberay_and_of_the_interface_has_a_row(name: str) -> None:
    rows, plural = _rows(name), fields.PAGES[name][0]
    recorded = orjson.loads(gzip.decompress(RECORDING.read_bytes()))[plural]["v1"]
    paths = {path.removeprefix(".").removesuffix("[]").removesuffix("{}") for path in recorded} - {""}
    newer = {f"spec.{path}" for path in UNKNOWN_TO_1_6} if plural == "rayclusters" else {"spec.suspend"}
    missing = {path for path in paths | newer | set(_INTERFACE[name]) if not _has_row(path, rows)}
    assert missing == set()


@pytest.mark.parametrize("kind", _CONDITIONS)
def test_every_condition_of_kuberay_is_on_the_page_of_conditions(kind: str) -> None:
    page = (_PAGES.parent / "concepts" / "conditions.md").read_text()
    section = page.partition(f"## {kind}\n")[2].partition("\n## ")[0]
    assert [name for name in _CONDITIONS[kind].split() if f"`{name}`" not in section] == []


_OF_THE_USER: Final = {Effect.SERVER, Effect.HONOURED, Effect.READ_BY_RAY, Effect.WARNED, Effect.REJECTED}
_OF_THE_STATUS: Final = {Effect.REPORTED, Effect.UNSET}


@pytest.mark.parametrize("name", fields.PAGES)
def test_every_row_has_an_effect_of_its_side_and_says_what_it_is(name: str) -> None:
    """That it is the true one: ``test_field_effects.py``, and the runs that record each status."""
    for path, row in _rows(name).items():
        assert row.effect in (_OF_THE_STATUS if path.startswith("status") else _OF_THE_USER), path
        assert row.says.strip(), path


def test_a_field_without_a_row_would_be_found() -> None:
    assert not _has_row("spec.fresh", fields.CLUSTER)
    assert not _has_row("spec.headGroupSpec.templates", fields.CLUSTER)
    assert _has_row("spec.headGroupSpec.template.spec", fields.CLUSTER)
