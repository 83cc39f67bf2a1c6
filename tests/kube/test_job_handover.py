"""A RayJob that KubeRay's operator began, on real Ray, ends under ours: once, and with the truth."""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from tests.beside import beside
from tests.kube.kuberay_stack import kuberay_operator, stack_without_operator
from tests.ray.stack import SAMPLES, RayStack
from tests.waiting import eventually

pytestmark = [pytest.mark.kube, pytest.mark.timeout(900)]

_PATIENCE: Final = 300.0
_JOBS: Final = {
    "submitted": ("K8sJobMode", 0),
    "posted": ("HTTPMode", 0),
    "beside": ("SidecarMode", 0),
    "fails": ("K8sJobMode", 3),
}
"""Their modes, and the codes they exit with."""

_ENDS: Final = frozenset(("Complete", "Failed"))

Object = dict[str, Any]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Generator[RayStack]:
    with stack_without_operator(tmp_path_factory.mktemp("handover")) as stack:
        yield stack


def _job(name: str) -> Object:
    mode, code = _JOBS[name]
    made: Object = yaml.safe_load((SAMPLES / "rayjob.yaml").read_text())
    made["metadata"]["name"] = name
    # a file says when the job may go on: nobody knows how long the operators take
    wait = f"echo began; while [ ! -e /tmp/go-on ]; do sleep 0.2; done; echo ended; exit {code}"
    made["spec"] |= {"entrypoint": f"bash -c '{wait}'", "submissionMode": mode, "backoffLimit": 0 if code else 1}
    del made["spec"]["rayClusterSpec"]["authOptions"]
    return made


def _status(stack: RayStack, name: str) -> Object:
    return stack.client.get(RAY_JOBS, name, "default").get("status") or {}


def test_jobs_that_run_pass_from_kuberay_to_us(stack: RayStack, tmp_path: Path) -> None:
    with kuberay_operator(stack, tmp_path / "kuberay.log"):
        for name in _JOBS:
            stack.client.create(RAY_JOBS, _job(name), "default")
        for name in _JOBS:
            eventually(lambda name=name: _status(stack, name).get("jobStatus") == "RUNNING", _PATIENCE)
    before = {name: _status(stack, name) for name in _JOBS}
    flags = ["--kubeconfig", str(stack.folder / "kubeconfig"), "--use-kubernetes-proxy", "--beside-kuberay"]
    with beside([sys.executable, "-m", "rayward.operator", *flags], tmp_path / "ours.log"):
        for name in _JOBS:
            head = stack.head(before[name]["rayClusterName"])["metadata"]["name"]
            stack.rayward("exec", head, "-c", "ray-head", "--", "touch", "/tmp/go-on")
        for name, (_, code) in _JOBS.items():
            eventually(lambda name=name: _status(stack, name).get("jobDeploymentStatus") in _ENDS, _PATIENCE)
            after = _status(stack, name)
            expected = ("FAILED", 0, 1, "AppFailed") if code else ("SUCCEEDED", 1, 0, "")
            counts = (after.get("succeeded", 0), after.get("failed", 0))
            assert (after["jobStatus"], *counts, after.get("reason", "")) == expected, after
            assert after["jobId"] == before[name]["jobId"]
            assert after["rayClusterName"] == before[name]["rayClusterName"]
        eventually(lambda: not stack.client.list(RAY_CLUSTERS, "default").items, _PATIENCE)
        for name in _JOBS:
            lines = stack.rayward("logs", f"rayjob/{name}").splitlines()
            assert (lines.count("began"), lines.count("ended")) == (1, 1)
