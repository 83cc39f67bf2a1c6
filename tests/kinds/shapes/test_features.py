"""What a manifest asks for."""

from __future__ import annotations

import pytest

from rayward.kinds.shapes import features
from tests.kinds.shapes.sample import Object, cluster


@pytest.mark.parametrize(
    ("head", "address"),
    [
        ({}, "demo-head-svc.lab.svc.cluster.local"),
        ({"headService": {}}, "demo-head-svc.lab.svc.cluster.local"),
        ({"headService": {"metadata": None}}, "demo-head-svc.lab.svc.cluster.local"),
        ({"headService": {"metadata": {"name": "mine"}}}, "mine.lab.svc.cluster.local"),
    ],
)
def test_where_the_head_is(head: Object, address: str) -> None:
    assert features.head_address(cluster(head=head)) == address


@pytest.mark.parametrize(
    ("label", "kind"),
    [(None, "RayCluster"), ("RayJob", "RayJob"), ("RayService", "RayService"), ("Another", "RayCluster")],
)
def test_whose_manifest_it_is(label: str | None, kind: str) -> None:
    made = cluster(labels={"ray.io/originated-from-crd": label} if label else None)

    assert features.creator(made) == kind


@pytest.mark.parametrize(
    ("annotations", "options", "tolerant", "embedded"),
    [
        ({}, None, False, False),
        ({"ray.io/ft-enabled": "True"}, None, True, False),
        ({"ray.io/ft-enabled": "yes"}, None, False, False),
        ({}, {}, True, False),
        ({}, {"backend": "redis"}, True, False),
        ({}, {"backend": "rocksdb"}, True, True),
    ],
)
def test_where_state_lies(annotations: dict[str, str], options: Object | None, tolerant: bool, embedded: bool) -> None:
    made = cluster({"gcsFaultToleranceOptions": options}, annotations=annotations)

    assert (features.fault_tolerant(made), features.embedded_storage(made)) == (tolerant, embedded)


@pytest.mark.parametrize(("value", "rolls"), [("workers", True), ("", False), ("all", False)])
def test_who_is_replaced_one_by_one(value: str, rolls: bool) -> None:
    assert features.rolls_workers(cluster(annotations={"rayward.dev/rolling-update": value})) is rolls
