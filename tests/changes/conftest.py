"""An embedded server with Ray's kinds, and a namespace for each test; the real server in ``make test-kube``."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from rayward.kinds.crds import manifests
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.access import Access
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import ApiError
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from tests.contract.kubectl import targets
from tests.waiting import eventually


def _serves(client: SyncClient) -> bool:
    with suppress(ApiError):
        for resource in (RAY_CLUSTERS, RAY_SERVICES):
            client.page(resource, limit=1)
        return True
    return False


def _install(kubeconfig: Path) -> None:
    with SyncClient.connect(find_access(kubeconfig)) as client:
        for manifest in manifests():
            client.apply(CUSTOM_RESOURCE_DEFINITIONS, manifest, field_manager="tests", force=True)
        eventually(lambda: _serves(client))


@pytest.fixture(scope="package")
def embedded_kubeconfig() -> Iterator[Path]:
    with targets.embedded() as kubeconfig:
        _install(kubeconfig)
        yield kubeconfig


@pytest.fixture(scope="package")
def real_kubeconfig() -> Iterator[Path]:
    with targets.real() as kubeconfig:
        _install(kubeconfig)
        yield kubeconfig


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.kube)])
def access(request: pytest.FixtureRequest) -> Access:
    return find_access(request.getfixturevalue(f"{request.param}_kubeconfig"))


@pytest.fixture
def client(access: Access) -> Iterator[SyncClient]:
    with SyncClient.connect(access) as made:
        yield made


@pytest.fixture
def namespace(client: SyncClient) -> str:
    name = f"t{uuid.uuid4().hex[:8]}"
    client.create(NAMESPACES, {"metadata": {"name": name}})
    return name
