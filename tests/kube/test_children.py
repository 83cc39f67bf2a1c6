"""Our children of a RayCluster against those that KubeRay makes now: of our manifests and of generated ones."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

import pytest

from rayward.kube.client.errors import AlreadyExists
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import SERVICE_ACCOUNTS, Resource
from tests.contract.kubectl import targets
from tests.kube import kuberay
from tests.kube.record import files
from tests.operator.children import RECORDED, Manifest, compared
from tests.operator.generated import generated

pytestmark = pytest.mark.kube

Object = dict[str, Any]

_SEEDS = range(100)


@pytest.fixture(scope="module", params=[targets.embedded, targets.real], ids=["embedded", "real"])
def client(request: pytest.FixtureRequest) -> Generator[SyncClient]:
    with kuberay.operating(request.param()) as client:
        yield client


def test_the_recording_is_not_stale(client: SyncClient) -> None:
    said = files.as_json(kuberay.record(client))

    assert files.same(RECORDED, said), f"{RECORDED.name} is stale: look at it, then run python -m tests.kube.kuberay"


@pytest.mark.timeout(900)
def test_generated_manifests_get_the_same_children(client: SyncClient) -> None:
    manifests = [Manifest(f"generated-{seed}", [], generated(seed)) for seed in _SEEDS]
    made = [kuberay.apply(client, manifest) for manifest in manifests]
    differences: dict[str, list[str]] = {}
    for manifest, cluster in zip(manifests, made, strict=True):
        theirs = kuberay.children(client, cluster)

        _bring_back_accounts(client, manifest.name, theirs)

        def send(collection: Resource, child: Object, namespace: str = manifest.name) -> Object:
            return _dry_run(client, collection, child, namespace)

        known = {**cluster, "metadata": {**cluster["metadata"], "uid": kuberay.UID}}
        if found := compared(known, theirs, send):
            differences[manifest.name] = found

    assert differences == {}


def _bring_back_accounts(client: SyncClient, namespace: str, theirs: list[Object]) -> None:
    """A cluster whose cleanup was looked at is gone, and its account with it; a pod needs one to be accepted."""
    for their in theirs:
        if their["kind"] == SERVICE_ACCOUNTS.kind:
            with contextlib.suppress(AlreadyExists):
                client.create(SERVICE_ACCOUNTS, {"metadata": {"name": their["metadata"]["name"]}}, namespace)


def _dry_run(client: SyncClient, collection: Resource, child: Object, namespace: str) -> Object:
    """The child as the server would keep it, under a name that KubeRay's own does not have."""
    renamed = {**child, "metadata": {**child["metadata"], "name": "ours"}}
    kept = client.create(collection, renamed, namespace, dry_run=True)
    return {**kept, "metadata": {**kept["metadata"], "name": child["metadata"]["name"]}}
