"""What KubeRay's Go types make of specs drawn from KubeRay's whole schema is the same release, and no drift.

A typed client decodes what it read into those types and writes what they encode to: structures that are always there,
zeros and empty lists that are dropped, quantities in their one spelling.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from typing import Any, Final

import msgspec
import pytest
import yaml

from rayward.kinds.hashing import release_hash
from rayward.kinds.rayjob import RayJobSpec
from rayward.kinds.shapes import drift, template_record
from rayward.operator.job.annotations import digests
from tests.kinds.clusters import typed
from tests.kinds.drawn import Object, drawn
from tests.kube.real.build import build, build_rewrite

pytestmark = pytest.mark.kube

_SEEDS: Final = range(400)


@pytest.fixture(scope="module")
def schemas() -> dict[str, Any]:
    """KubeRay's own, by kind: it has no field that its types do not know."""
    found: dict[str, Any] = {}
    for path in (build() / "kuberay-crds").glob("*.yaml"):
        definition = yaml.load(path.read_text(), yaml.CSafeLoader)
        (version,) = (each for each in definition["spec"]["versions"] if each["name"] == "v1")
        kind = definition["spec"]["names"]["kind"]
        found[kind] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def _written_back(objects: Iterable[Object]) -> list[Object]:
    lines = b"".join(msgspec.json.encode(each) + b"\n" for each in objects)
    done = subprocess.run([str(build_rewrite())], input=lines, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return [msgspec.json.decode(line) for line in done.stdout.splitlines()]


def _whole(kind: str, spec: Object) -> Object:
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": "c"}, "spec": spec}


def test_clusters_of_every_field_are_the_same_release_when_a_go_client_wrote_them_back(schemas: dict[str, Any]) -> None:
    written = [_whole("RayCluster", drawn(schemas["RayCluster"], seed)) for seed in _SEEDS]
    changed = 0
    for seed, before, after in zip(_SEEDS, written, _written_back(written), strict=True):
        changed += before["spec"] != after["spec"]
        one, other = typed(before), typed(after)
        records = [template_record(each.spec.head_group_spec, each) for each in (one, other)]
        assert drift(*records) == [], seed
        assert release_hash(one.spec) == release_hash(other.spec), seed
    assert changed > len(_SEEDS) / 2, "Go writes what nobody wrote"


def test_jobs_of_every_field_are_the_same_when_a_go_client_wrote_them_back(schemas: dict[str, Any]) -> None:
    written = [_whole("RayJob", drawn(schemas["RayJob"], seed)) for seed in _SEEDS]
    for seed, before, after in zip(_SEEDS, written, _written_back(written), strict=True):
        one, other = (digests(msgspec.convert(each["spec"], RayJobSpec)) for each in (before, after))
        assert one == other, (seed, [path for path in one | other if one.get(path) != other.get(path)])
