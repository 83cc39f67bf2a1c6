"""From KubeRay's operator to ours and back, on KubeRay's own CRDs: not one pod is restarted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client import PatchType
from rayward.kube.client.config import find_access
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import PODS, SERVICES
from tests.beside import beside
from tests.contract.kubectl import targets
from tests.kube.real import build
from tests.operator.stage import manifest
from tests.waiting import eventually

pytestmark = pytest.mark.kube

_PATIENCE: Final = 150.0
_REPLICAS: Final = "/spec/workerGroupSpecs/0/replicas"


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    with targets.real() as kubeconfig:
        kubectl = [str(build.build() / "kubectl"), f"--kubeconfig={kubeconfig}"]
        manifests = str(build.build() / "kuberay-crds")
        subprocess.run([*kubectl, "create", "-f", manifests], check=True, capture_output=True)
        served = [*kubectl, "get", "rayclusters,rayservices"]
        eventually(lambda: subprocess.run(served, capture_output=True, check=False).returncode == 0, _PATIENCE)
        yield kubeconfig


@contextmanager
def _kuberay(kubeconfig: Path) -> Generator[None]:
    command = [str(build.build() / "kuberay-operator"), f"--kubeconfig={kubeconfig}"]
    command += ["--leader-election-namespace=default", "--metrics-addr=0", "--health-probe-bind-address=0"]
    with beside(command, kubeconfig.parent / "kuberay.log"):
        yield


def _our_command(kubeconfig: Path) -> list[str]:
    return [sys.executable, "-m", "rayward.operator", "--kubeconfig", str(kubeconfig)]


@contextmanager
def _ours(kubeconfig: Path) -> Generator[None]:
    ready = kubeconfig.parent / "ready"
    with beside([*_our_command(kubeconfig), "--ready-file", str(ready)], kubeconfig.parent / "ours.log"):
        eventually(ready.exists, _PATIENCE)
        yield
    assert not ready.exists()


@contextmanager
def _kubelet(kubeconfig: Path) -> Generator[None]:
    with beside([sys.executable, "-m", "bench.kubelet", str(kubeconfig)], kubeconfig.parent / "kubelet.log"):
        yield


class _View:
    def __init__(self, client: SyncClient) -> None:
        self._client = client

    def uids(self) -> set[str]:
        return {pod["metadata"]["uid"] for pod in self._client.list(PODS, "default").items}

    def services(self) -> set[str]:
        return {found["metadata"]["uid"] for found in self._client.list(SERVICES, "default").items}

    def patch(self, change: Any) -> None:
        kind = PatchType.JSON if isinstance(change, list) else PatchType.MERGE
        self._client.patch(RAY_CLUSTERS, "plain", change, kind, "default")

    def has(self, state: str, pods: int) -> bool:
        status = self._client.get(RAY_CLUSTERS, "plain", "default").get("status") or {}
        workers = max(pods - 1, 0)
        counted = status.get("readyWorkerReplicas", 0) == workers and len(self.uids()) == pods
        return status.get("state") == state and counted


def test_clusters_pass_from_kuberay_to_us_and_back(kubeconfig: Path) -> None:
    with SyncClient.connect(find_access(kubeconfig)) as client, _kubelet(kubeconfig):
        view = _View(client)
        with _kuberay(kubeconfig):
            client.create(RAY_CLUSTERS, manifest(upgradeStrategy={"type": "Recreate"}), "default")
            eventually(lambda: view.has("ready", 3), _PATIENCE)
            refused = subprocess.run(
                _our_command(kubeconfig), capture_output=True, text=True, timeout=_PATIENCE, check=False
            )
            assert refused.returncode == 10
            assert "KubeRay's operator is running" in refused.stderr
            assert "kubectl -n default scale deployment kuberay-operator --replicas=0" in refused.stderr
        made_by_kuberay, services = view.uids(), view.services()
        with _ours(kubeconfig):
            eventually(lambda: _accepted(client), _PATIENCE)
            assert (view.uids(), view.services()) == (made_by_kuberay, services)
            view.patch([{"op": "replace", "path": _REPLICAS, "value": 3}])
            eventually(lambda: view.has("ready", 4), _PATIENCE)
            assert made_by_kuberay < view.uids()
            view.patch({"spec": {"suspend": True}})
            eventually(lambda: view.has("suspended", 0), _PATIENCE)
            view.patch({"spec": {"suspend": False}})
            eventually(lambda: view.has("ready", 4), _PATIENCE)
        made_by_us = view.uids()
        with _kuberay(kubeconfig):
            view.patch([{"op": "replace", "path": _REPLICAS, "value": 5}])
            eventually(lambda: view.has("ready", 6), _PATIENCE)
            assert made_by_us < view.uids()
            assert view.services() == services
            view.patch([{"op": "replace", "path": _REPLICAS, "value": 1}])
            eventually(lambda: view.has("ready", 2), _PATIENCE)


def _accepted(client: SyncClient) -> bool:
    status = client.get(RAY_CLUSTERS, "plain", "default").get("status") or {}
    found = {condition["type"]: condition["status"] for condition in status.get("conditions") or ()}
    return found.get("Accepted") == "True"
