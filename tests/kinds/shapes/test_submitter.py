"""What submitting a RayJob costs."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.changes.costs import shapes_of, total
from rayward.kinds.shapes import SUBMITTER
from tests.kinds.clusters import manifest


def _job(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "j"}, "spec": {"rayClusterSpec": manifest()["spec"], **spec}}


@pytest.mark.parametrize(
    ("mode", "more", "pods"),
    [
        ("K8sJobMode", "500m", 1),
        ("SidecarMode", "500m", 0),
        ("HTTPMode", "0", 0),
        ("InteractiveMode", "0", 0),
    ],
)
def test_each_mode_costs_its_cluster_and_what_submits(mode: str, more: str, pods: int) -> None:
    alone, found = shapes_of("RayCluster", manifest()), shapes_of("RayJob", _job(submissionMode=mode))
    assert sum(shape.count for shape in found) - sum(shape.count for shape in alone) == pods
    assert str(total(found)["cpu"] - total(alone)["cpu"]) == more


def test_a_mode_that_is_not_written_is_that_of_kubernetes_jobs() -> None:
    assert shapes_of("RayJob", _job())[-1].group == SUBMITTER


def test_the_users_template_counts_instead() -> None:
    container = {"name": "submits", "resources": {"requests": {"cpu": "2"}}}
    found = shapes_of("RayJob", _job(submitterPodTemplate={"spec": {"containers": [container]}}))
    assert {name: str(amount) for name, amount in found[-1].requests.items()} == {"cpu": "2"}


def test_a_job_on_a_selected_cluster_costs_its_submitter_alone() -> None:
    found = shapes_of("RayJob", {"metadata": {"name": "j"}, "spec": {"clusterSelector": {"ray.io/cluster": "c"}}})
    assert [shape.group for shape in found] == [SUBMITTER]


def test_a_suspended_job_costs_nothing() -> None:
    assert shapes_of("RayJob", _job(suspend=True)) == ()
