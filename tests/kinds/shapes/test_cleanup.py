"""The job that cleans up in Redis; its program runs with a Ray that only takes notes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rayward.kinds import shapes
from tests.kinds.shapes.sample import Object, cluster, template, variables

_OPTIONS: Object = {"redisAddress": "redis:6379", "redisPassword": {"value": "p"}}


def _job(options: Object | None = None, head: Object | None = None) -> Object:
    return shapes.redis_cleanup_job(cluster({"gcsFaultToleranceOptions": options or _OPTIONS}, head=head))


def test_it_is_the_heads_container_without_the_head() -> None:
    own = template({"resources": {"limits": {"nvidia.com/gpu": 1}}}, nodeSelector={"a": "b"})
    own["spec"]["containers"].append({"name": "beside", "image": "b"})

    job = _job(head={"template": own})

    assert job["metadata"]["name"] == "demo-redis-cleanup"
    assert (job["spec"]["backoffLimit"], job["spec"]["activeDeadlineSeconds"]) == (0, 300)
    pod = job["spec"]["template"]
    assert pod["metadata"]["labels"]["ray.io/node-type"] == "redis-cleanup"
    assert pod["spec"]["restartPolicy"] == "Never"
    assert pod["spec"]["nodeSelector"] == {"a": "b"}
    (container,) = pod["spec"]["containers"]
    assert container["resources"]["limits"] == {"cpu": "200m", "memory": "256Mi"}
    assert "livenessProbe" not in container
    assert "rayward.dev/template" not in job["metadata"]["annotations"]
    assert variables(container)["RAY_REDIS_ADDRESS"] == "redis:6379"


@pytest.mark.parametrize(
    ("address", "more", "asked"),
    [
        ("redis:6379", {}, {"host": "redis", "port": 6379, "use_ssl": False, "password": ""}),
        ("rediss://u:q@r:1,r2:2", {}, {"host": "r", "port": 1, "use_ssl": True, "password": "q"}),
        (
            "redis:6379",
            {"REDIS_USERNAME": "me", "REDIS_PASSWORD": "p"},
            {"host": "redis", "port": 6379, "use_ssl": False, "password": "p", "username": "me"},
        ),
    ],
)
def test_it_removes_the_clusters_keys(tmp_path: Path, address: str, more: dict[str, str], asked: Object) -> None:
    done = _run(tmp_path, "True", RAY_REDIS_ADDRESS=address, **more)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {**asked, "storage_namespace": "mine"}


def test_a_failure_says_what_to_do(tmp_path: Path) -> None:
    done = _run(tmp_path, "False", RAY_REDIS_ADDRESS="redis:1")

    assert done.returncode == 1
    assert "The keys of mine in Redis could not be removed." in done.stderr
    assert """-p '{"metadata":{"finalizers":null}}'""" in done.stderr


def _run(folder: Path, answer: str, **env: str) -> subprocess.CompletedProcess[str]:
    package = folder / "ray" / "_private"
    package.mkdir(parents=True)
    (folder / "ray" / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "gcs_utils.py").write_text(
        f"import json\ndef cleanup_redis_storage(**asked):\n    print(json.dumps(asked))\n    return {answer}\n"
    )
    (folder / "python").symlink_to(sys.executable)
    script: str = _job()["spec"]["template"]["spec"]["containers"][0]["args"][0]
    known = {"PATH": f"{folder}:/usr/bin:/bin", "PYTHONPATH": str(folder), "RAY_external_storage_namespace": "mine"}
    return subprocess.run(
        ["/bin/bash", "-c", script], env={**known, **env}, capture_output=True, text=True, timeout=60, check=False
    )
