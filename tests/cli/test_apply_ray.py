"""``rayward apply`` of Ray's kinds where the server knows them: a mistake is told at its own line of the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayward.cli.failure import Code
from rayward.kinds import names
from rayward.kube.client.config import find_access
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import SERVICES
from rayward.local.addresses import shell_addresses_of
from rayward.stack.folder import Folder
from tests.cli.rayward import Rayward, run

_SHOP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: code}
---
apiVersion: ray.io/v1
kind: RayService
metadata: {name: shop}
spec:
  suspend: true
  serveConfigV2: |
    applications:
    - name: shop
      import_path: shop:app
      route_prefix: /
  rayClusterConfig:
    rayVersion: 2.60.0
    headGroupSpec:
      rayStartParams: {}
      template: {spec: {containers: [{name: ray, image: rayproject/ray:2.60.0}]}}
    workerGroupSpecs:
    - groupName: small
      replicas: 1
      rayStartParams: {}
      template: {spec: {containers: [{name: ray, image: rayproject/ray:2.60.0}]}}
"""


@pytest.fixture(scope="module", autouse=True)
def _kinds(stack: Path) -> None:
    installed = Rayward(stack, "default")("apply", "-f", "-", "--force-conflicts", stdin=run("crds").out)
    assert installed.code == 0, installed.err


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A file to write a manifest into: mistakes are told by its name and lines."""
    return tmp_path / "shop.yaml"


@pytest.mark.parametrize("flags", [[], ["--dry-run=server"]], ids=["apply", "dry run"])
@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("import_path: shop:app", "import_path: shop.py:app", "shop.yaml:13:7: "),
        ("route_prefix: /", "route_prefx: /", "shop.yaml:14:7: "),
        (
            "      replicas: 1",
            "      replica: 1",
            "shop.yaml:22:7: there is no field 'replica' here: did you mean replicas?",
        ),
        ("kind: RayService", "kind: RayServce", "did you mean RayService?"),
    ],
    ids=["serve config", "field of a serve config", "field", "kind"],
)
def test_a_mistake_is_refused_and_nothing_is_written(
    rayward: Rayward, shop: Path, flags: list[str], right: str, wrong: str, said: str
) -> None:
    shop.write_text(_SHOP.replace(right, wrong))
    done = rayward("apply", "-f", str(shop), *flags)
    assert done.code == Code.INVALID, done.err
    assert said in done.err
    assert rayward("get", "configmap/code").code == Code.NOT_FOUND


@pytest.mark.parametrize("flags", [[], ["--dry-run=server"]], ids=["apply", "dry run"])
@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("ray, image: rayproject/ray:2.60.0", 'ray, image: "not an image!!"', "'not an image!!' is not the name of an"),
        ("rayVersion: 2.60.0", "rayVersion: newest", "shop.yaml:16:"),
    ],
    ids=["image", "rayVersion"],
)
def test_what_will_hardly_work_is_a_warning(
    rayward: Rayward, shop: Path, flags: list[str], right: str, wrong: str, said: str
) -> None:
    shop.write_text(_SHOP.replace(right, wrong, 1))
    done = rayward("apply", "-f", str(shop), *flags)
    assert done.code == 0, done.err
    (warning,) = {line for line in done.err.splitlines() if line.startswith("Warning:") and said in line}
    assert str(shop) in warning


def test_an_address_is_described_printed_and_in_documents(rayward: Rayward, shop: Path) -> None:
    shop.write_text(_SHOP)
    assert rayward("apply", "-f", str(shop)).code == 0
    serving, ports = names.serve_service("shop"), [{"name": "serve", "port": 8000}]
    with SyncClient.connect(find_access(Folder(rayward.folder).kubeconfig)) as client:
        made = client.create(SERVICES, {"metadata": {"name": serving}, "spec": {"ports": ports}}, rayward.namespace)
    url = f"http://{shell_addresses_of(made)[0]}"
    described = rayward("describe", "rayservice/shop").out
    assert url in described, described
    assert rayward("get", "rayservice/shop", "-o", "jsonpath={.status.addresses.serve}").out == f"{url}\n"
    assert rayward("get", "url", "shop").out == f"{url}\n"
    assert url in rayward("get", "rayservices").out
