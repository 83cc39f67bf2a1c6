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
_MODES: Final = ("K8sJobMode", "HTTPMode")

Object = dict[str, Any]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Generator[RayStack]:
    with stack_without_operator(tmp_path_factory.mktemp("handover")) as stack:
        yield stack


def _job(mode: str) -> Object:
    made: Object = yaml.safe_load((SAMPLES / "rayjob.yaml").read_text())
    made["metadata"]["name"] = mode.lower()
    # a file says when the job may go on: nobody knows how long the operators take
    wait = "echo began; while [ ! -e /tmp/go-on ]; do sleep 0.2; done; echo ended"
    made["spec"] |= {"entrypoint": f"bash -c '{wait}'", "submissionMode": mode, "backoffLimit": 1}
    del made["spec"]["rayClusterSpec"]["authOptions"]
    return made


def _status(stack: RayStack, mode: str) -> Object:
    return stack.client.get(RAY_JOBS, mode.lower(), "default").get("status") or {}


def test_jobs_that_run_pass_from_kuberay_to_us(stack: RayStack, tmp_path: Path) -> None:
    with kuberay_operator(stack, tmp_path / "kuberay.log"):
        for mode in _MODES:
            stack.client.create(RAY_JOBS, _job(mode), "default")
        for mode in _MODES:
            eventually(lambda mode=mode: _status(stack, mode).get("jobStatus") == "RUNNING", _PATIENCE)
    before = {mode: _status(stack, mode) for mode in _MODES}
    flags = ["--kubeconfig", str(stack.folder / "kubeconfig"), "--use-kubernetes-proxy", "--beside-kuberay"]
    with beside([sys.executable, "-m", "rayward.operator", *flags], tmp_path / "ours.log"):
        for mode in _MODES:
            head = stack.head(before[mode]["rayClusterName"])["metadata"]["name"]
            stack.rayward("exec", head, "-c", "ray-head", "--", "touch", "/tmp/go-on")
        for mode in _MODES:
            eventually(lambda mode=mode: _status(stack, mode).get("jobDeploymentStatus") == "Complete", _PATIENCE)
        eventually(lambda: not stack.client.list(RAY_CLUSTERS, "default").items, _PATIENCE)
        for mode in _MODES:
            after = _status(stack, mode)
            assert (after["jobStatus"], after["succeeded"], after.get("failed", 0)) == ("SUCCEEDED", 1, 0)
            assert after["jobId"] == before[mode]["jobId"]
            assert after["rayClusterName"] == before[mode]["rayClusterName"]
            lines = stack.rayward("logs", f"rayjob/{mode.lower()}").splitlines()
            assert (lines.count("began"), lines.count("ended")) == (1, 1)
