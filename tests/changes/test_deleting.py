"""How an object of Ray's kinds is deleted."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.changes.deleting import propagation_of
from rayward.kinds import labels

_REDIS = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}


@pytest.mark.parametrize(
    ("kind", "spec", "annotations", "policy"),
    [
        ("RayCluster", {}, {}, "Foreground"),
        ("RayCluster", _REDIS, {}, "Background"),
        ("RayCluster", {}, {labels.FT_ENABLED: "true"}, "Background"),
        ("RayService", {"rayClusterConfig": {}}, {}, "Foreground"),
        ("RayService", {"rayClusterConfig": _REDIS}, {}, "Background"),
        ("RayJob", {"rayClusterSpec": _REDIS}, {}, "Background"),
        ("RayJob", {"clusterSelector": {}}, {}, "Foreground"),
    ],
)
def test_in_the_foreground_unless_a_job_has_to_remove_keys_first(
    kind: str, spec: dict[str, Any], annotations: dict[str, str], policy: str
) -> None:
    assert propagation_of({"kind": kind, "metadata": {"annotations": annotations}, "spec": spec}) == policy
