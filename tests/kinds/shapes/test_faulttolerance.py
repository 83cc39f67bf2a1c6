"""State that outlives the head."""

from __future__ import annotations

from rayward.kinds import shapes
from rayward.operator.cluster import children
from tests.kinds.shapes.sample import Object, cluster, ray, variables

_ROCKSDB: Object = {"backend": "rocksdb"}


def _claim(storage: Object | None = None) -> Object | None:
    return children.storage_claim(cluster({"gcsFaultToleranceOptions": {**_ROCKSDB, "storage": storage}}))


def test_redis_by_options() -> None:
    source = {"secretKeyRef": {"name": "redis", "key": "password"}}
    options = {"redisAddress": "redis:1", "redisUsername": {"value": "u"}, "redisPassword": {"valueFrom": source}}
    pod = shapes.head_pod(cluster({"gcsFaultToleranceOptions": options}), "h")

    found = variables(ray(pod))

    assert (found["RAY_REDIS_ADDRESS"], found["REDIS_USERNAME"], found["REDIS_PASSWORD"]) == ("redis:1", "u", source)
    assert found["RAY_external_storage_namespace"] == "u-1"
    assert pod["metadata"]["annotations"]["ray.io/ft-enabled"] == "true"
    assert pod["metadata"]["annotations"]["ray.io/external-storage-namespace"] == "u-1"
    assert "--redis-password=$REDIS_PASSWORD  --redis-username=$REDIS_USERNAME" in ray(pod)["args"][0]


def test_redis_by_annotation() -> None:
    annotations = {"ray.io/ft-enabled": "TRUE", "ray.io/external-storage-namespace": "mine"}
    made = cluster(head={"rayStartParams": {"redis-password": "p"}}, annotations=annotations)

    found = variables(ray(shapes.head_pod(made, "h")))

    assert found["RAY_external_storage_namespace"] == "mine"
    assert found["REDIS_PASSWORD"] == "p"
    worker = variables(ray(shapes.worker_pod(made, made.groups[0], "w")))
    assert worker["RAY_gcs_rpc_server_reconnect_timeout_s"] == "600"


def test_none() -> None:
    made = cluster()

    assert shapes.head_pod(made, "h")["metadata"]["annotations"]["ray.io/ft-enabled"] == "false"
    worker = variables(ray(shapes.worker_pod(made, made.groups[0], "w")))
    assert "RAY_gcs_rpc_server_reconnect_timeout_s" not in worker
    assert children.storage_claim(made) is None


def test_embedded_storage_lies_on_a_claim() -> None:
    pod = shapes.head_pod(cluster({"gcsFaultToleranceOptions": {**_ROCKSDB, "storage": {"subPath": "s"}}}), "h")

    found = variables(ray(pod))

    assert (found["RAY_gcs_storage"], found["RAY_gcs_storage_path"]) == ("rocksdb", "/data/gcs")
    assert "RAY_REDIS_ADDRESS" not in found
    assert {"name": "gcs-storage", "mountPath": "/data/gcs", "subPath": "s"} in ray(pod)["volumeMounts"]
    claim = {"claimName": "demo-gcs-pvc"}
    assert {"name": "gcs-storage", "persistentVolumeClaim": claim} in pod["spec"]["volumes"]


def test_the_claim() -> None:
    usual = _claim()
    told = _claim(
        {"size": "5Gi", "storageClassName": "fast", "accessModes": ["ReadWriteMany"], "deletionPolicy": "Retain"}
    )

    assert usual is not None
    assert told is not None
    assert usual["metadata"]["name"] == "demo-gcs-pvc"
    assert usual["spec"] == {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    assert usual["metadata"]["ownerReferences"]
    assert told["spec"] == {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "5Gi"}},
        "storageClassName": "fast",
    }
    assert "ownerReferences" not in told["metadata"]


def test_a_claim_of_the_users_own_is_used() -> None:
    made = cluster({"gcsFaultToleranceOptions": {**_ROCKSDB, "storage": {"claimName": "mine"}}})

    assert children.storage_claim(made) is None
    assert shapes.head_pod(made, "h")["spec"]["volumes"][0]["persistentVolumeClaim"] == {"claimName": "mine"}
