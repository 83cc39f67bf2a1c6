"""RayJobs on a stack with real Ray."""

from __future__ import annotations

from typing import Any, Final

import yaml

from rayward.kinds.resources import RAY_JOBS
from rayward.kube.client.options import PatchType
from rayward.kube.machinery.jsonvalue import Object
from tests.ray.stack import PATIENCE, SAMPLES, RayStack
from tests.waiting import eventually

_ENDS: Final = frozenset(("Complete", "Failed", "ValidationFailed"))


def sample_job(name: str, entrypoint: str, **spec: Any) -> Object:
    """The sample RayJob with another name and program."""
    made: Object = yaml.safe_load((SAMPLES / "rayjob.yaml").read_text())
    made["metadata"]["name"] = name
    made["spec"] |= {"entrypoint": entrypoint, "backoffLimit": 0, **spec}
    return made


def job_on(cluster: str, name: str, entrypoint: str = "", **spec: Any) -> Object:
    """A RayJob on a cluster that is there."""
    made = sample_job(name, entrypoint, clusterSelector={"ray.io/cluster": cluster}, **spec)
    for field in ("rayClusterSpec", "shutdownAfterJobFinishes"):
        del made["spec"][field]
    return made


def status_of(stack: RayStack, name: str) -> Object:
    return stack.client.get(RAY_JOBS, name, "default").get("status") or {}


def edit(stack: RayStack, name: str, **spec: Any) -> None:
    stack.client.patch(RAY_JOBS, name, {"spec": spec}, PatchType.MERGE, "default")


def runs(stack: RayStack, name: str) -> None:
    """Wait until Ray runs it."""
    eventually(lambda: status_of(stack, name).get("jobStatus") == "RUNNING", PATIENCE)


def ends(stack: RayStack, name: str, phase: str = "Complete") -> Object:
    """Its status once it has ended; any other end is a failure."""
    eventually(lambda: status_of(stack, name).get("jobDeploymentStatus") in _ENDS, PATIENCE)
    found = status_of(stack, name)
    assert found["jobDeploymentStatus"] == phase, found
    return found
