"""Pods as wholes: metadata, labels, the autoscaler beside the head."""

from __future__ import annotations

import pytest

from rayward.kinds import shapes
from tests.kinds.shapes.sample import Object, cluster, ray, template, variables

_OWNER = {
    "apiVersion": "ray.io/v1",
    "kind": "RayCluster",
    "name": "demo",
    "uid": "u-1",
    "controller": True,
    "blockOwnerDeletion": True,
}


def test_a_pod_belongs_to_its_cluster() -> None:
    made = cluster()
    for pod in (shapes.head_pod(made, "p"), shapes.worker_pod(made, made.groups[0], "p")):
        assert (pod["apiVersion"], pod["kind"]) == ("v1", "Pod")
        assert (pod["metadata"]["name"], pod["metadata"]["namespace"]) == ("p", "lab")
        assert pod["metadata"]["ownerReferences"] == [_OWNER]


def test_labels_tell_whose_pod_it_is() -> None:
    overriding = {
        "ray.io/cluster": "x",
        "ray.io/group": "x",
        "ray.io/node-type": "x",
        "ray.io/identifier": "own",
        "a": "b",
    }
    group = {"template": {**template(), "metadata": {"labels": overriding}}, "labels": {"a": "group"}}
    made = cluster(groups=[group])

    assert shapes.worker_pod(made, made.groups[0], "w")["metadata"]["labels"] == {
        "ray.io/cluster": "demo",
        "ray.io/group": "g0",
        "ray.io/node-type": "worker",
        "ray.io/identifier": "own",
        "ray.io/is-ray-node": "yes",
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
        "a": "group",
        "ray.io/worker-group-replica-index": "0",
    }


def test_places_of_multi_host_replicas() -> None:
    made = cluster(groups=[{"numOfHosts": 2}])
    place = shapes.ReplicaPlace("g0-abcde", 3, 1)

    found = shapes.worker_pod(made, made.groups[0], "w", place)["metadata"]["labels"]

    assert found["ray.io/worker-group-replica-name"] == "g0-abcde"
    assert found["ray.io/worker-group-replica-index"] == "3"
    assert found["ray.io/replica-host-index"] == "1"


@pytest.mark.parametrize(("kind", "head", "worker"), [("RayService", "false", "true"), ("RayJob", None, None)])
def test_serving_labels(kind: str, head: str | None, worker: str | None) -> None:
    made = cluster(labels={"ray.io/originated-from-crd": kind})

    assert shapes.head_pod(made, "h")["metadata"]["labels"].get("ray.io/serve") == head
    assert shapes.worker_pod(made, made.groups[0], "w")["metadata"]["labels"].get("ray.io/serve") == worker


def test_metadata_of_a_template() -> None:
    metadata = {"name": "mine", "namespace": "x", "finalizers": ["a/b"], "uid": "u", "annotations": {"a": "b"}}
    made = cluster(
        head={"template": {**template(), "metadata": metadata}},
        groups=[{"template": {**template(), "metadata": metadata}}],
    )

    head, worker = (
        pod["metadata"] for pod in (shapes.head_pod(made, "h"), shapes.worker_pod(made, made.groups[0], "w"))
    )

    assert (head["name"], worker["name"]) == ("mine", "w")
    assert head["finalizers"] == ["a/b"]
    assert head["namespace"] == "lab"
    assert head["annotations"]["a"] == "b"
    assert "uid" not in head


def test_the_head_says_which_release_it_is() -> None:
    before, after = (cluster({"rayVersion": version}) for version in ("2.60.0", "2.61.0"))
    annotations = [shapes.head_pod(made, "h")["metadata"]["annotations"] for made in (before, before, after)]

    hashes = [found["ray.io/upgrade-strategy-recreate-hash"] for found in annotations]

    assert hashes[0] == hashes[1] != hashes[2]
    assert {found["ray.io/kuberay-version"] for found in annotations} == {"rayward"}


@pytest.mark.parametrize("by", ["cluster", "template"])
def test_a_command_can_be_left_alone(by: str) -> None:
    annotation = {"ray.io/overwrite-container-cmd": "true"}
    own = {**template({"command": ["mine"]}), "metadata": {"annotations": annotation if by == "template" else {}}}
    made = cluster(head={"template": own}, annotations=annotation if by == "cluster" else None)

    pod = shapes.head_pod(made, "h")

    assert ray(pod)["command"] == ["mine"]
    assert "args" not in ray(pod)
    assert pod["metadata"]["annotations"]["ray.io/overwrite-container-cmd"] == "true"


@pytest.mark.parametrize(
    ("options", "variable", "policy"),
    [({}, None, None), ({"version": "v1"}, "false", None), ({"version": "v2"}, "true", "Never")],
)
def test_versions_of_the_autoscaler(options: Object, variable: str | None, policy: str | None) -> None:
    made = cluster({"enableInTreeAutoscaling": True, "autoscalerOptions": options})

    head, worker = shapes.head_pod(made, "h"), shapes.worker_pod(made, made.groups[0], "w")

    assert variables(ray(head)).get("RAY_enable_autoscaler_v2") == variable
    assert head["spec"].get("restartPolicy") == worker["spec"].get("restartPolicy") == policy
    assert head["spec"]["serviceAccountName"] == "demo"
    assert "--no-monitor" in ray(head)["args"][0]


def test_metrics_are_exposed_once() -> None:
    own = {"name": "metrics", "containerPort": 9}
    made = cluster(groups=[{"template": template({"ports": [own]})}])

    assert ray(shapes.worker_pod(made, made.groups[0], "w"))["ports"] == [own]
    assert ray(shapes.head_pod(made, "h"))["ports"] == [{"name": "metrics", "containerPort": 8080}]
