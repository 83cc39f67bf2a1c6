"""For RayJobs over all modes: what we make is what KubeRay v1.6.2 makes, as recorded.

Both sides went through an API server. Left out, in ``likekuberay.alike``, is how a submitter finds out whether to
submit, and what is new in KubeRay 1.7; what is handed to Ray is compared word by word.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

from rayward.kinds.crds import manifests
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import ApiError
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import CUSTOM_RESOURCE_DEFINITIONS, JOBS, NAMESPACES, SERVICES
from tests.contract.target import embedded_server
from tests.operator.children import paths, steady
from tests.operator.job.likekuberay import RECORDED, alike, ours
from tests.operator.job.manifests import SPECS
from tests.waiting import eventually

Object = dict[str, Any]

_ENTRIES: Final[dict[str, Object]] = json.loads(gzip.decompress(RECORDED.read_bytes()))
_COLLECTIONS: Final = {kind.kind: kind for kind in (RAY_CLUSTERS, JOBS, SERVICES)}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Generator[SyncClient]:
    folder: Path = tmp_path_factory.mktemp("server")
    with embedded_server(folder), SyncClient.connect(find_access(folder / "kubeconfig")) as client:
        for manifest in manifests():
            client.apply(CUSTOM_RESOURCE_DEFINITIONS, manifest, field_manager="tests", force=True)
        eventually(lambda: _serves(client))
        yield client


def _serves(client: SyncClient) -> bool:
    try:
        client.page(RAY_CLUSTERS, limit=1)
    except ApiError:
        return False
    return True


def test_every_manifest_is_recorded() -> None:
    assert sorted(_ENTRIES) == sorted(SPECS)
    assert len(SPECS) >= 12


@pytest.mark.parametrize("entry", sorted(SPECS))
def test_children_are_kuberays(client: SyncClient, entry: str) -> None:
    client.create(NAMESPACES, {"metadata": {"name": entry}})
    recorded = _ENTRIES[entry]
    theirs = {child["kind"]: alike(child) for child in recorded["children"]}
    mine: dict[str, Object] = {}
    for child in ours(recorded["job"]):
        kind = _COLLECTIONS[child["kind"]]
        kept = {"apiVersion": kind.api_version, "kind": kind.kind, **client.create(kind, child, entry, dry_run=True)}
        mine[child["kind"]] = alike(steady(kept))
    assert sorted(theirs) == sorted(mine)
    found = [f"{kind}: {path}" for kind in sorted(mine) for path in paths(theirs[kind], mine[kind])]
    assert found == []
