from __future__ import annotations

import base64
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rayward.changes import codesecrets
from rayward.changes.codesecrets import mounted, secret_names
from rayward.changes.outcomes import Conflict, NotFound
from rayward.changes.packing import Package
from rayward.changes.refs import Ref
from rayward.changes.running import Run, manifest, rerun, start
from rayward.changes.steps import run
from rayward.kinds.rayjob import RayJob
from rayward.kinds.validation import job_problems
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import SECRETS

RUN = Run(("python", "train.py"), "rayproject/ray:2.60.0", "2.60.0")
SMALL = Package(b"an archive", 1, 10)
LARGE = Package(bytes(number % 251 for number in range(55)), 1, 55)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codesecrets, "PART", 20)


def _ref(namespace: str, name: str = "train") -> Ref:
    return Ref("RayJob", name, namespace)


def _pods(package: Package) -> list[dict[str, Any]]:
    made = manifest(replace(RUN, workers=1, gpus=1, runtime_env="env_vars: {A: b}\n"), _ref("n"), package)
    environment = msgspec.json.decode(made["spec"]["runtimeEnvYAML"])
    assert environment == {"env_vars": {"A": "b"}, "working_dir": f"file:///rayward/code/{package.digest}.zip"}
    assert job_problems(msgspec.convert(made, RayJob)) == []
    spec = made["spec"]["rayClusterSpec"]
    return [group["template"]["spec"] for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"])]


def test_code_of_one_part_is_mounted_where_the_runtime_environment_says() -> None:
    for pod in _pods(SMALL):
        assert pod["containers"][0]["volumeMounts"][0]["mountPath"] == "/rayward/code"
        assert pod["volumes"][0]["secret"]["items"][0]["path"] == f"{SMALL.digest}.zip"
        assert "initContainers" not in pod


def test_code_of_many_parts_is_put_together_before_the_container_starts(tmp_path: Path) -> None:
    for pod in _pods(LARGE):
        (maker,) = pod["initContainers"]
        assert "nvidia.com/gpu" not in maker["resources"]["limits"]
        parts, code = tmp_path / "parts", tmp_path / "code"
        parts.mkdir(exist_ok=True)
        code.mkdir(exist_ok=True)
        sources = pod["volumes"][0]["projected"]["sources"]
        assert [source["secret"]["name"] for source in sources] == list(secret_names(LARGE))
        for number, source in enumerate(sources):
            (item,) = source["secret"]["items"]
            (parts / item["path"]).write_bytes(LARGE.data[number * 20 : number * 20 + 20])
        script = maker["command"][-1].replace("/rayward", str(tmp_path))
        subprocess.run(["sh", "-c", script], check=True)
        assert (code / f"{LARGE.digest}.zip").read_bytes() == LARGE.data


def test_more_parts_than_a_digit_counts_keep_their_order() -> None:
    pod: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
    mounted(pod, Package(bytes(20 * 120), 1, 1))
    sources = pod["volumes"][0]["projected"]["sources"]
    paths = [source["secret"]["items"][0]["path"] for source in sources]
    assert len(paths) == 120
    assert paths == sorted(paths)


@pytest.mark.parametrize("package", [SMALL, LARGE], ids=["one", "many"])
def test_code_goes_with_the_last_job_that_uses_it(client: SyncClient, namespace: str, package: Package) -> None:
    first = _ref(namespace)
    run(client, start(first, manifest(RUN, first, package), package))
    assert run(client, rerun(first))["metadata"]["name"] == "train-2"
    assert run(client, rerun(_ref(namespace, "train-2")))["metadata"]["name"] == "train-3"
    other = _ref(namespace, "same-code")
    run(client, start(other, manifest(RUN, other, package), package))
    secrets = [client.get(SECRETS, name, namespace) for name in secret_names(package)]
    assert b"".join(base64.b64decode(secret["data"]["working-dir.zip"]) for secret in secrets) == package.data
    assert all(secret["immutable"] for secret in secrets)
    owners = {owner["name"] for owner in secrets[0]["metadata"]["ownerReferences"]}
    assert owners == {"train", "train-2", "train-3", "same-code"}
    for part in secrets[1:]:
        assert [owner["uid"] for owner in part["metadata"]["ownerReferences"]] == [secrets[0]["metadata"]["uid"]]


def test_an_upload_that_was_cut_off_is_completed_by_the_next(client: SyncClient, namespace: str) -> None:
    run(client, codesecrets.upload(namespace, LARGE))
    names = secret_names(LARGE)
    client.delete(SECRETS, names[1], namespace)
    run(client, start(_ref(namespace), manifest(RUN, _ref(namespace), LARGE), LARGE))
    assert client.get(SECRETS, names[1], namespace)["type"] == "rayward.dev/working-dir"


@pytest.mark.parametrize("package", [SMALL, LARGE], ids=["one", "many"])
def test_code_that_is_gone_cannot_be_run_again(client: SyncClient, namespace: str, package: Package) -> None:
    ref = _ref(namespace)
    run(client, start(ref, manifest(RUN, ref, package), package))
    client.delete(SECRETS, secret_names(package)[-1], namespace)
    with pytest.raises(NotFound, match="code that was uploaded"):
        run(client, rerun(ref))


def test_a_secret_of_other_content_is_not_taken_for_the_code(client: SyncClient, namespace: str) -> None:
    body = {"metadata": {"name": secret_names(SMALL)[0]}, "data": {"working-dir.zip": "b3RoZXI="}}
    client.create(SECRETS, body, namespace)
    with pytest.raises(Conflict, match="another content"):
        run(client, start(_ref(namespace), manifest(RUN, _ref(namespace), SMALL), SMALL))
