"""KubeRay's operator at work on a server: what it makes of the manifests of ``tests/operator/manifests``."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from rayward.kinds import shapes
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client import PatchType
from rayward.kube.client.config import find_access
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import JOBS, NAMESPACES, PODS, SERVICE_ACCOUNTS, SERVICES
from tests.contract.kubectl import targets
from tests.contract.target import ended
from tests.kube.real import build
from tests.kube.record import files
from tests.operator.children import COLLECTIONS, RECORDED, UID, Manifest, manifests, steady, typed
from tests.waiting import eventually

Object = dict[str, Any]

_PATIENCE: Final = 120.0
_TOTALS: Final = (
    "desiredCPU",
    "desiredMemory",
    "desiredGPU",
    "desiredTPU",
    "desiredWorkerReplicas",
    "minWorkerReplicas",
    "maxWorkerReplicas",
)


@contextlib.contextmanager
def operating(target: AbstractContextManager[Path]) -> Generator[SyncClient]:
    """A client of a server on which KubeRay's operator runs."""
    binaries = build.build()
    with target as kubeconfig:
        install = [
            str(binaries / "kubectl"),
            f"--kubeconfig={kubeconfig}",
            "create",
            "-f",
            str(binaries / "kuberay-crds"),
        ]
        subprocess.run(install, check=True, capture_output=True)
        command = [str(binaries / "kuberay-operator"), f"--kubeconfig={kubeconfig}", "--enable-leader-election=false"]
        command += ["--metrics-addr=0", "--health-probe-bind-address=0", "--reconcile-concurrency=8"]
        with (kubeconfig.parent / "operator.log").open("wb") as log:
            operator = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            with SyncClient.connect(find_access(kubeconfig)) as client:
                yield client
        finally:
            ended(operator)


def apply(client: SyncClient, manifest: Manifest) -> Object:
    """Create a manifest in a namespace of its name."""
    namespace = manifest.name
    client.create(NAMESPACES, {"metadata": {"name": namespace}})
    eventually(lambda: bool(client.get(SERVICE_ACCOUNTS, "default", namespace)), _PATIENCE)
    for needed in manifest.before:
        client.create(COLLECTIONS[needed["kind"]], needed, namespace)
    return client.create(RAY_CLUSTERS, manifest.cluster, namespace)


def children(client: SyncClient, cluster: Object) -> list[Object]:
    """What KubeRay made, once it has made everything."""
    namespace, name = cluster["metadata"]["namespace"], cluster["metadata"]["name"]
    kind = typed(cluster)
    count = 1 + sum(shapes.desired_workers(group) for group in kind.groups)
    eventually(lambda: len(client.list(PODS, namespace).items) == count, _PATIENCE)
    eventually(lambda: bool(client.list(SERVICES, namespace).items), _PATIENCE)
    made = _owned(client, cluster)
    if client.get(RAY_CLUSTERS, name, namespace)["metadata"].get("finalizers"):
        made += _cleanup(client, cluster)
    ordered = [steady({**child}, cluster["metadata"]["uid"]) for child in made]
    return sorted(ordered, key=lambda child: (child["kind"], json.dumps(child["metadata"], sort_keys=True)))


def record(client: SyncClient) -> dict[str, Object]:
    """Every manifest with its children, the same at every run."""
    made = {name: apply(client, manifest) for name, manifest in manifests().items()}
    return {name: _entry(client, cluster) for name, cluster in made.items()}


def _entry(client: SyncClient, cluster: Object) -> Object:
    namespace, name = cluster["metadata"]["namespace"], cluster["metadata"]["name"]

    def status() -> Object:
        return client.get(RAY_CLUSTERS, name, namespace).get("status", {})

    eventually(lambda: bool(status().get("observedGeneration")), _PATIENCE)
    totals = {part: status().get(part) for part in _TOTALS}
    theirs = children(client, cluster)
    kept = {**cluster, "metadata": {k: v for k, v in cluster["metadata"].items() if k in ("labels", "annotations")}}
    kept["metadata"] |= {"name": name, "namespace": namespace, "uid": UID}
    return {"cluster": kept, "totals": totals, "children": theirs}


def _owned(client: SyncClient, cluster: Object) -> list[Object]:
    uid, namespace = cluster["metadata"]["uid"], cluster["metadata"]["namespace"]
    return [
        {"apiVersion": kind.api_version, "kind": kind.kind, **item}
        for kind in COLLECTIONS.values()
        for item in client.list(kind, namespace).items
        if any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences", ()))
    ]


def _cleanup(client: SyncClient, cluster: Object) -> list[Object]:
    """Delete the cluster and take the job that it leaves to its keys in Redis."""
    namespace, name = cluster["metadata"]["namespace"], cluster["metadata"]["name"]
    client.delete(RAY_CLUSTERS, name, namespace)
    eventually(lambda: bool(client.list(JOBS, namespace).items), _PATIENCE)
    jobs = [child for child in _owned(client, cluster) if child["kind"] == JOBS.kind]
    client.patch(RAY_CLUSTERS, name, {"metadata": {"finalizers": None}}, PatchType.MERGE, namespace)
    eventually(lambda: not _owned(client, cluster), _PATIENCE)
    return jobs


def _main() -> None:
    with operating(targets.embedded()) as client:
        files.write(RECORDED, files.as_json(record(client)))
    print(f"{RECORDED.name}: {RECORDED.stat().st_size} bytes")


if __name__ == "__main__":
    try:
        _main()
    except build.BuildError as error:
        sys.exit(f"error: {error}")
