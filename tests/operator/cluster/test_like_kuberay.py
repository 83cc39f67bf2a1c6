"""For every manifest of ours: what we make is what KubeRay v1.6.2 makes, as recorded, but for what is listed here.

Both sides went through an API server, so that what a server fills in counts for both. What differs in every pod is left
out by ``alike``; the reference page "compared with KubeRay" gives the reason of each difference.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.kinds import shapes
from rayward.kube.client.config import find_access
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import NAMESPACES, SERVICE_ACCOUNTS, Resource
from tests.contract.target import embedded_server
from tests.operator.children import COLLECTIONS, RECORDED, compared, manifests, typed

Object = dict[str, Any]

_ENTRIES: Final[dict[str, Object]] = json.loads(gzip.decompress(RECORDED.read_bytes()))

_IMPROVED: Final = {
    # Nothing would read the secret.
    "auth-unset": ["Secret/undecided: we make none"],
    # KubeRay's service would find no head here: it looks for a label that the group's labels overrode.
    "labels-and-resources": [
        'Service/labelled-head-svc: .spec.selector.app.kubernetes.io/name: "kuberay" is ours "by-group"'
    ],
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Generator[SyncClient]:
    folder: Path = tmp_path_factory.mktemp("server")
    with embedded_server(folder), SyncClient.connect(find_access(folder / "kubeconfig")) as client:
        yield client


@pytest.fixture
def namespace(client: SyncClient, entry: str) -> str:
    client.create(NAMESPACES, {"metadata": {"name": entry}})
    accounts = [*manifests()[entry].before, {"kind": "ServiceAccount", "metadata": {"name": "default"}}]
    name = _ENTRIES[entry]["cluster"]["metadata"]["name"]
    accounts.append({"kind": "ServiceAccount", "metadata": {"name": name[-50:]}})
    for account in accounts:
        if account["kind"] == "ServiceAccount":
            client.create(SERVICE_ACCOUNTS, account, entry)
    return entry


def test_every_manifest_is_recorded() -> None:
    assert sorted(_ENTRIES) == sorted(manifests())


@pytest.mark.parametrize("entry", sorted(_ENTRIES))
def test_children_are_kuberays(client: SyncClient, namespace: str, entry: str) -> None:
    def send(collection: Resource, child: Object) -> Object:
        if collection is SERVICE_ACCOUNTS:
            return child
        return client.create(collection, child, namespace, dry_run=True)

    recorded = _ENTRIES[entry]

    assert compared(recorded["cluster"], recorded["children"], send) == _IMPROVED.get(entry, [])
    assert {child["kind"] for child in recorded["children"]} <= set(COLLECTIONS)


@pytest.mark.parametrize("entry", sorted(set(_ENTRIES) - {"clamped"}))
def test_totals_are_kuberays(entry: str) -> None:
    cluster, theirs = typed(_ENTRIES[entry]["cluster"]), _ENTRIES[entry]["totals"]
    groups = cluster.groups

    assert shapes.resources_of(cluster) == tuple(theirs[f"desired{kind}"] for kind in ("CPU", "Memory", "GPU", "TPU"))
    assert sum(map(shapes.desired_workers, groups)) == (theirs["desiredWorkerReplicas"] or 0)
    assert sum(map(shapes.min_workers, groups)) == (theirs["minWorkerReplicas"] or 0)
    assert sum(map(shapes.max_workers, groups)) == (theirs["maxWorkerReplicas"] or 0)
