"""Volumes and mounts."""

from __future__ import annotations

import pytest

from rayward.kinds import shapes
from tests.kinds.shapes.sample import Object, cluster, ray, template

_MOUNT = {"name": "shared-mem", "mountPath": "/dev/shm"}


@pytest.mark.parametrize(
    ("resources", "volume"),
    [
        ({}, {"medium": "Memory"}),
        ({"limits": {"memory": "2Gi"}, "requests": {"memory": "1Gi"}}, {"medium": "Memory", "sizeLimit": "2Gi"}),
        ({"limits": {"cpu": 1}, "requests": {"memory": 5}}, {"medium": "Memory", "sizeLimit": 5}),
    ],
)
def test_shared_memory_is_as_large_as_the_container_may_be(resources: Object, volume: Object) -> None:
    pod = shapes.head_pod(cluster(head={"template": template({"resources": resources})}), "h")

    assert pod["spec"]["volumes"] == [{"name": "shared-mem", "emptyDir": volume}]
    assert ray(pod)["volumeMounts"] == [_MOUNT]


def test_a_volume_of_that_name_is_used() -> None:
    pod = shapes.head_pod(cluster(head={"template": template(volumes=[{"name": "shared-mem", "emptyDir": {}}])}), "h")

    assert pod["spec"]["volumes"] == [{"name": "shared-mem", "emptyDir": {}}]
    assert ray(pod)["volumeMounts"] == [_MOUNT]


def test_what_is_mounted_there_stays() -> None:
    own = {"name": "mine", "mountPath": "/dev/shm"}
    pod = shapes.head_pod(cluster(head={"template": template({"volumeMounts": [own]})}), "h")

    assert "volumes" not in pod["spec"]
    assert ray(pod)["volumeMounts"] == [own]


def test_an_object_store_elsewhere_needs_none() -> None:
    pod = shapes.head_pod(cluster(head={"rayStartParams": {"plasma-directory": "/p"}}), "h")

    assert "volumes" not in pod["spec"]


def test_autoscaler_and_head_share_their_logs() -> None:
    pod = shapes.head_pod(cluster({"enableInTreeAutoscaling": True}), "h")

    assert {"name": "ray-logs", "emptyDir": {}} in pod["spec"]["volumes"]
    for container in pod["spec"]["containers"]:
        assert {"name": "ray-logs", "mountPath": "/tmp/ray"} in container["volumeMounts"]
