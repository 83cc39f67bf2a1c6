"""What a cluster costs."""

from __future__ import annotations

from typing import Any

from rayward.kinds import shapes
from tests.kinds.shapes.sample import cluster, template


def _amounts(shape: shapes.PodShape) -> dict[str, str]:
    return {name: str(amount) for name, amount in shape.requests.items()}


def _template(cpu: str, **spec: Any) -> dict[str, Any]:
    made = template()
    made["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu, "memory": "1Gi"}}
    return {**made, "spec": {**made["spec"], **spec}}


def _group(name: str, replicas: int, **more: Any) -> dict[str, Any]:
    return {"groupName": name, "replicas": replicas, "minReplicas": 0, "maxReplicas": 9, "rayStartParams": {}, **more}


def test_each_group_is_a_shape_of_its_own() -> None:
    groups = [_group("small", 2, template=_template("1")), _group("large", 1, template=_template("8"))]
    head, small, large = shapes.pod_shapes(cluster(groups=groups))
    assert (head.group, head.count, head.most) == ("headgroup", 1, 1)
    assert (small.group, small.count, small.most, _amounts(small)["cpu"]) == ("small", 2, 9, "1")
    assert (large.count, _amounts(large)["cpu"]) == (1, "8")


def test_hosts_of_a_replica_are_pods() -> None:
    groups = [_group("tpu", 2, numOfHosts=4, template=_template("1"))]
    assert shapes.pod_shapes(cluster(groups=groups))[1].count == 8


def test_the_autoscaler_beside_the_head_counts() -> None:
    (plain,) = shapes.pod_shapes(cluster(groups=[]))
    (scaled,) = shapes.pod_shapes(cluster({"enableInTreeAutoscaling": True}, groups=[]))
    assert "cpu" not in plain.requests
    assert _amounts(scaled)["cpu"] == "500m"


def test_a_sidecar_of_the_user_counts() -> None:
    sidecar = {"name": "log", "image": "x", "resources": {"limits": {"cpu": "500m"}}}
    made = _template("1")
    made["spec"]["containers"].append(sidecar)
    shape = shapes.pod_shapes(cluster(groups=[_group("a", 1, template=made)]))[1]
    assert _amounts(shape)["cpu"] == "1500m"


def test_a_suspended_cluster_keeps_its_shapes() -> None:
    groups = [_group("a", 3, template=_template("1"))]
    held = shapes.pod_shapes(cluster({"suspend": True}, groups=groups))
    assert [shape.count for shape in held] == [1, 3]
