"""For RayJobs over all modes: what our operator makes, on both servers, is what KubeRay v1.6.2 makes, as recorded.

Left out, in ``likekuberay.alike``, is how a submitter finds out whether to submit, and what is new in KubeRay 1.7; what
is handed to Ray is compared word by word.
"""

from __future__ import annotations

import gzip
import json
from typing import Any, Final

import pytest

from rayward.kinds import names
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.core.resource import JOBS, SERVICES
from tests.operator.children import paths
from tests.operator.job.likekuberay import RECORDED, alike, anonymous
from tests.operator.job.manifests import SPECS, ray_job
from tests.operator.job.stage import JobStage

Object = dict[str, Any]

_ENTRIES: Final[dict[str, Object]] = json.loads(gzip.decompress(RECORDED.read_bytes()))
_COLLECTIONS: Final = (RAY_CLUSTERS, JOBS, SERVICES)
_REACHED: Final = frozenset(("Waiting", "Running", "Complete"))


def test_every_manifest_is_recorded() -> None:
    assert sorted(_ENTRIES) == sorted(SPECS)
    assert len(SPECS) >= 12


@pytest.mark.anyio
async def test_children_are_kuberays(ray: JobStage, monkeypatch: pytest.MonkeyPatch) -> None:
    # ours are the cluster's names too, and nobody could tell which of both a child has
    monkeypatch.setattr(names, "submission_id", lambda job, suffix: f"{job}-id-{suffix}")
    theirs = {name: {child["kind"]: alike(child) for child in _ENTRIES[name]["children"]} for name in SPECS}
    made: dict[str, dict[str, Object]] = {}

    async def all_made() -> bool:
        nonlocal made
        made = await _owned(ray)
        phases = [((await ray.job(name)).get("status") or {}).get("jobDeploymentStatus") for name in SPECS]
        return _REACHED.issuperset(phases) and all(made[name].keys() >= theirs[name].keys() for name in SPECS)

    ray.heads.dashboards.add(8299)
    async with ray.operator():
        for name in SPECS:
            await ray.create(ray_job(name))
        await ray.eventually(all_made)
        mine = {
            name: {kind: await _alike(ray, name, made[name][kind]) for kind in sorted(made[name])} for name in SPECS
        }
    found = [difference for name in SPECS for difference in _differences(name, theirs[name], mine[name])]
    assert found == []


async def _owned(ray: JobStage) -> dict[str, dict[str, Object]]:
    """The children that are there, by the RayJob's name and their kind."""
    found: dict[str, dict[str, Object]] = {name: {} for name in SPECS}
    for kind in _COLLECTIONS:
        for child in await ray.objects(kind):
            owners = [owner for owner in child["metadata"].get("ownerReferences", ()) if owner["kind"] == "RayJob"]
            for owner in owners:
                assert kind.kind not in found[owner["name"]], f"{owner['name']} has two of {kind.kind}"
                found[owner["name"]][kind.kind] = {"apiVersion": kind.api_version, "kind": kind.kind, **child}
    return found


async def _alike(ray: JobStage, name: str, child: Object) -> Object:
    job = await ray.job(name)
    told = {
        "jobId": job["status"].get("jobId", ""),
        "rayClusterName": job["status"]["rayClusterName"],
        "uid": job["metadata"]["uid"],
    }
    # KubeRay's were made in a namespace of the manifest's name
    here = json.loads(json.dumps(child).replace(ray.namespace, name))
    return alike(anonymous(here, told))


def _differences(name: str, theirs: dict[str, Object], mine: dict[str, Object]) -> list[str]:
    if sorted(theirs) != sorted(mine):
        return [f"{name}: KubeRay makes {sorted(theirs)} and we make {sorted(mine)}"]
    return [f"{name}: {kind}: {path}" for kind in mine for path in paths(theirs[kind], mine[kind])]
