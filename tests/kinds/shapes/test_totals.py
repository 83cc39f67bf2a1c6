"""How many, and how much."""

from __future__ import annotations

import pytest

from rayward.kinds import shapes
from tests.kinds.shapes.sample import Object, cluster, template

_MOST = 2**31 - 1


@pytest.mark.parametrize(
    ("group", "counts"),
    [
        ({"replicas": 2}, (2, 0, _MOST)),
        ({"replicas": None}, (0, 0, _MOST)),
        ({"replicas": None, "minReplicas": 3}, (3, 3, _MOST)),
        ({"replicas": 1, "minReplicas": 2, "maxReplicas": 4}, (2, 2, 4)),
        ({"replicas": 9, "minReplicas": 2, "maxReplicas": 4}, (4, 2, 4)),
        ({"replicas": 3, "minReplicas": 1, "maxReplicas": 4, "numOfHosts": 2}, (6, 2, 8)),
        ({"replicas": 3, "minReplicas": 1, "maxReplicas": 4, "suspend": True}, (0, 0, 0)),
        ({"replicas": 3, "maxReplicas": 4, "numOfHosts": 0}, (0, 0, 0)),
        ({"replicas": _MOST, "minReplicas": _MOST, "numOfHosts": 4}, (_MOST, _MOST, _MOST)),
    ],
)
def test_pods_of_a_group(group: Object, counts: tuple[int, int, int]) -> None:
    found = cluster(groups=[group]).groups[0]

    assert (shapes.desired_workers(found), shapes.min_workers(found), shapes.max_workers(found)) == counts


def test_resources_of_all_pods() -> None:
    limits = {"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": 1, "amd.com/gpu": "2", "google.com/tpu": 4}
    worker = {"template": template({"resources": {"limits": limits, "requests": {"cpu": "1"}}})}
    head = {"template": template({"resources": {"limits": {"cpu": "0.5", "memory": "512Mi"}}})}

    made = cluster(head=head, groups=[{**worker, "replicas": 2, "numOfHosts": 2}, {**worker, "suspend": True}])

    assert shapes.resources_of(made) == ("4500m", "4608Mi", "12", "16")


def test_no_resources_are_zero() -> None:
    assert shapes.resources_of(cluster()) == shapes.Totals("0", "0", "0", "0")
