"""Client and runtime on a real kube-apiserver."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.core.resource import PODS
from tests.kube.real.cluster import RealControlPlane
from tests.runtime.live import SCENARIOS, Scenario, run_scenario

pytestmark = [pytest.mark.kube, pytest.mark.anyio]


@pytest.fixture(scope="module")
def plane() -> Iterator[RealControlPlane]:
    with RealControlPlane() as running:
        yield running


@pytest.fixture
def access(plane: RealControlPlane) -> Access:
    return find_access(plane.kubeconfig)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
async def test_on_the_real_server(scenario: Scenario, access: Access) -> None:
    await run_scenario(scenario, access)


def _kubeconfig(plane: RealControlPlane, folder: Path, user: str) -> Path:
    file = folder / "kubeconfig"
    file.write_text(
        f"clusters: [{{name: c, cluster: {{server: '{plane.url}', certificate-authority: '{plane.ca_file}'}}}}]\n"
        f"users: [{{name: u, user: {user}}}]\n"
        "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n"
    )
    return file


async def _reads(file: Path) -> bool:
    async with Client.connect(find_access(file)) as client:
        return (await client.page(PODS)).resource_version != ""


async def test_a_client_certificate_in_files(plane: RealControlPlane, tmp_path: Path) -> None:
    certificate, key = plane.client_certificate
    user = f"{{client-certificate: '{certificate}', client-key: '{key}'}}"
    assert await _reads(_kubeconfig(plane, tmp_path, user))


@pytest.mark.parametrize("kind", ["token", "certificate"])
async def test_an_exec_plugin(plane: RealControlPlane, tmp_path: Path, kind: str) -> None:
    certificate, key = (file.read_text() for file in plane.client_certificate)
    pair = {"clientCertificateData": certificate, "clientKeyData": key}
    status = {"token": plane.token} if kind == "token" else pair
    version = "client.authentication.k8s.io/v1"
    answer = json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": status})
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!{sys.executable} -SE\nprint({answer!r})\n")
    plugin.chmod(0o755)
    user = f"{{exec: {{command: ./plugin, apiVersion: {version}, interactiveMode: Never}}}}"
    assert await _reads(_kubeconfig(plane, tmp_path, user))


async def test_acting_as_another(plane: RealControlPlane, tmp_path: Path) -> None:
    user = f"{{token: '{plane.token}', as: bob, as-groups: [a, 'system:masters']}}"
    assert await _reads(_kubeconfig(plane, tmp_path, user))
