from __future__ import annotations

import types
import typing
from collections.abc import Iterator

import msgspec
import pytest

from rayward.kinds import crds, kueue
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.raycronjob import RayCronJob
from rayward.kinds.rayjob import RayJob
from rayward.kinds.rayservice import RayService
from tests.kinds.fields import fields_by_version


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        (RayCluster, "rayclusters"),
        (RayService, "rayservices"),
        (RayJob, "rayjobs"),
        (RayCronJob, "raycronjobs"),
        (kueue.AdmissionCheck, "admissionchecks"),
        (kueue.ClusterQueue, "clusterqueues"),
        (kueue.Cohort, "cohorts"),
        (kueue.LocalQueue, "localqueues"),
        (kueue.ResourceFlavor, "resourceflavors"),
        (kueue.Workload, "workloads"),
        (kueue.WorkloadPriorityClass, "workloadpriorityclasses"),
    ],
)
def test_every_typed_field_is_one_of_the_crd(kind: type[msgspec.Struct], plural: str) -> None:
    [known, *_] = fields_by_version(crds.manifest(plural)).values()
    assert [path for path in _paths(kind) if not path.startswith(".metadata") and path not in known] == []


def _paths(kind: type[msgspec.Struct], at: str = "") -> Iterator[str]:
    hints = typing.get_type_hints(kind)
    for field in msgspec.structs.fields(kind):
        path = f"{at}.{field.encode_name}"
        yield path
        yield from _below(hints[field.name], path)


def _below(hint: object, at: str) -> Iterator[str]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield from _paths(hint, at)
    origin = typing.get_origin(hint)
    inside = f"{at}[]" if origin in (list, tuple) else at
    if origin in (list, tuple, types.UnionType):
        for argument in typing.get_args(hint):
            yield from _below(argument, inside)
