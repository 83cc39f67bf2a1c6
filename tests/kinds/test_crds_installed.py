"""Our CRDs as a user installs them: with kubectl, on a real server, also where KubeRay's are."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from typing import Any

import pytest

from rayward.kinds import crds
from tests.kinds.clusters import changed, manifest
from tests.kube.real.cluster import RealControlPlane
from tests.waiting import eventually

pytestmark = pytest.mark.kube


@pytest.fixture
def plane() -> Generator[RealControlPlane]:
    with RealControlPlane() as running:
        yield running


def _kubectl(plane: RealControlPlane, *arguments: str, stdin: str | None = None) -> str:
    done = plane.run_kubectl(*arguments, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _install(plane: RealControlPlane) -> str:
    printed = subprocess.run(
        [sys.executable, "-m", "rayward.cli", "crds"], check=True, capture_output=True, text=True
    ).stdout
    told = _kubectl(plane, "apply", "--server-side", "--force-conflicts", "-f", "-", stdin=printed)
    for plural in crds.PLURALS:
        eventually(lambda plural=plural: _is_served(plane, plural))
    return told


def _is_served(plane: RealControlPlane, plural: str) -> bool:
    return plane.run_kubectl("get", plural).returncode == 0


def _get(plane: RealControlPlane, *arguments: str) -> Any:
    return json.loads(_kubectl(plane, "get", *arguments, "-o", "json"))


def test_clusters_print_the_columns_of_the_interface(plane: RealControlPlane) -> None:
    _install(plane)
    _kubectl(plane, "create", "-f", "-", stdin=json.dumps(manifest()))
    status = {
        "desiredWorkerReplicas": 2,
        "availableWorkerReplicas": 1,
        "desiredCPU": "3",
        "desiredMemory": "4Gi",
        "desiredGPU": 0,
        "desiredTPU": "0",
        "state": "ready",
        "head": {"podIP": "10.0.0.1", "serviceIP": "10.0.0.2"},
    }
    patch = json.dumps({"status": status})
    _kubectl(plane, "patch", "raycluster", "c", "--subresource=status", "--type=merge", "-p", patch)
    header, row = _kubectl(plane, "get", "rayclusters").splitlines()
    assert [part.strip() for part in header.split("  ") if part.strip()] == [
        "NAME",
        "DESIRED WORKERS",
        "AVAILABLE WORKERS",
        "CPUS",
        "MEMORY",
        "GPUS",
        "STATUS",
        "AGE",
    ]
    assert row.split()[:7] == ["c", "2", "1", "3", "4Gi", "0", "ready"]
    wide, row = _kubectl(plane, "get", "rayclusters", "-o", "wide").splitlines()
    assert [part.strip() for part in wide.split("  ") if part.strip()][-4:] == [
        "STATUS",
        "AGE",
        "HEAD POD IP",
        "HEAD SERVICE IP",
    ]
    assert row.split()[-2:] == ["10.0.0.1", "10.0.0.2"]


def test_they_take_the_place_of_kuberays_and_give_it_back(plane: RealControlPlane) -> None:
    """What was stored before stays as it was, and what both know survives the way back."""
    theirs = str(plane.kuberay_crds)
    _kubectl(plane, "create", "-f", theirs)
    eventually(lambda: _is_served(plane, "rayclusters"))
    old = changed(manifest("old"), "spec.workerGroupSpecs.-", manifest()["spec"]["workerGroupSpecs"][0])
    _kubectl(plane, "create", "-f", "-", stdin=json.dumps(old))
    before = _get(plane, "raycluster", "old")["spec"]

    _install(plane)
    eventually(lambda: "give every group a name of its own" in _refusal(plane, old))
    assert _get(plane, "raycluster", "old")["spec"] == _with_defaults_of_ours(before)
    _kubectl(plane, "label", "raycluster", "old", "still=writable")
    new = changed(manifest("new"), "spec.workerGroupSpecs.0.rayResources", {"CPU": "1"})
    _kubectl(plane, "create", "-f", "-", stdin=json.dumps(new))
    assert _get(plane, "raycluster", "new")["spec"]["workerGroupSpecs"][0]["rayResources"] == {"CPU": "1"}

    _kubectl(plane, "apply", "--server-side", "--force-conflicts", "-f", theirs)
    eventually(lambda: "rayResources" not in _get(plane, "raycluster", "new")["spec"]["workerGroupSpecs"][0])
    assert _get(plane, "raycluster", "old")["spec"] == before


def _refusal(plane: RealControlPlane, body: dict[str, Any]) -> str:
    renamed = changed(body, "metadata.name", "again")
    return plane.run_kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(renamed)).stderr


def _with_defaults_of_ours(spec: dict[str, Any]) -> dict[str, Any]:
    """KubeRay 1.7's default of a newer field."""
    for index in range(len(spec["workerGroupSpecs"])):
        spec = changed(spec, f"workerGroupSpecs.{index}.priority", 0)
    return spec
