"""What our operator makes of RayJobs on a server, beside what KubeRay's was recorded to make there."""

from __future__ import annotations

import gzip
import json
from typing import Any, Final

import pytest

from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.core.resource import JOBS, SERVICES
from tests.operator.children import paths
from tests.operator.job.likekuberay import RECORDED, alike, anonymous
from tests.operator.job.manifests import SPECS, ray_job
from tests.operator.job.stage import JobStage

pytestmark = pytest.mark.anyio

Object = dict[str, Any]

_ENTRIES: Final[dict[str, Object]] = json.loads(gzip.decompress(RECORDED.read_bytes()))
_REACHED: Final = ("Running", "Waiting", "Complete")


async def test_the_children_that_our_operator_makes_are_kuberays(ray: JobStage) -> None:
    async with ray.operator():
        made = {name: await ray.create(ray_job(name)) for name in SPECS}
        found: dict[str, list[Object]] = {}

        async def all_made() -> bool:
            found.clear()
            phases = [(await ray.job(name)).get("status", {}).get("jobDeploymentStatus") for name in SPECS]
            for kind in (RAY_CLUSTERS, JOBS, SERVICES):
                for child in await ray.objects(kind):
                    for owner in child["metadata"].get("ownerReferences") or ():
                        whole = {"apiVersion": kind.api_version, "kind": kind.kind, **child}
                        found.setdefault(owner["uid"], []).append(whole)
            wanted = {name: len(_ENTRIES[name]["children"]) for name in SPECS}
            counted = {name: len(found.get(made[name]["metadata"]["uid"], ())) for name in SPECS}
            return counted == wanted and all(phase in _REACHED for phase in phases)

        await ray.eventually(all_made)
        jobs = {name: await ray.job(name) for name in SPECS}
    differences: list[str] = []
    for name, job in jobs.items():
        theirs = {child["kind"]: alike(child) for child in _ENTRIES[name]["children"]}
        for child in found[job["metadata"]["uid"]]:
            mine = alike(_told(child, job, ray.namespace))
            differences += [f"{name}: {mine['kind']}: {path}" for path in paths(theirs[mine["kind"]], mine)]
    assert differences == []


def _told(child: Object, job: Object, namespace: str) -> Object:
    """A child as it was recorded: in a namespace of the job's name."""
    name, status = job["metadata"]["name"], job["status"]
    text = json.dumps(child).replace(f".{namespace}.svc", f".{name}.svc")
    moved = json.loads(text)
    moved["metadata"]["namespace"] = name
    told = {"jobId": status.get("jobId", ""), "rayClusterName": status["rayClusterName"], "uid": job["metadata"]["uid"]}
    return anonymous(moved, told)
