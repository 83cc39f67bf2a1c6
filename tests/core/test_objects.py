from __future__ import annotations

from typing import Any

import msgspec
import orjson
import pytest

from rayward.kube.core.data import Secret
from rayward.kube.core.event import Event
from rayward.kube.core.job import Job
from rayward.kube.core.lease import Lease
from rayward.kube.core.node import Namespace, Node
from rayward.kube.core.objects import Key, KubeObject, ObjectMeta, version_number
from rayward.kube.core.pod import Pod
from rayward.kube.core.service import EndpointSlice, Service

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "namespace": "a",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 2,
        "labels": {"l": "1"},
        "annotations": {"n": "2"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "o", "uid": "ou", "controller": True}],
        "finalizers": ["f"],
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": "2026-01-02T00:00:00Z",
        "deletionGracePeriodSeconds": 30,
        "managedFields": [{"manager": "m"}],
    },
    "spec": {
        "nodeName": "n",
        "containers": [
            {
                "name": "c",
                "image": "i",
                "ports": [{"containerPort": 80, "name": "http"}],
                "resources": {"requests": {"cpu": "1", "memory": 5}},
                "env": [{"name": "X"}],
            }
        ],
    },
    "status": {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "hostIP": "10.0.0.2",
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "False"}],
        "containerStatuses": [
            {
                "name": "c",
                "ready": True,
                "restartCount": 3,
                "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
                "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
            }
        ],
    },
}


def decode(kind: type[Any], body: dict[str, Any]) -> Any:
    return msgspec.json.decode(orjson.dumps(body), type=kind)


def test_a_pod() -> None:
    pod = decode(Pod, POD)
    assert isinstance(pod, Pod)
    assert pod.key == Key("a", "p")
    assert pod.deleting
    assert pod.ready
    assert (pod.metadata.label("l"), pod.metadata.annotation("n"), pod.metadata.label("x", "none")) == (
        "1",
        "2",
        "none",
    )
    assert (pod.status.pod_ip, pod.status.host_ip, pod.spec.node_name) == ("10.0.0.1", "10.0.0.2", "n")
    assert pod.spec.containers[0].ports is not None
    assert pod.spec.containers[0].ports[0].container_port == 80
    assert pod.spec.containers[0].resources is not None
    assert pod.spec.containers[0].resources.requests == {"cpu": "1", "memory": 5}
    assert pod.status.container_statuses is not None
    (container,) = pod.status.container_statuses
    assert container.state is not None
    assert container.state.running is not None
    assert container.last_state is not None
    assert container.last_state.terminated is not None
    assert (container.restart_count, container.last_state.terminated.exit_code) == (3, 137)
    assert pod.condition("PodScheduled") is None


@pytest.mark.parametrize(
    "kind",
    [Pod, Service, EndpointSlice, Node, Namespace, Job, Secret, Lease, Event, KubeObject],
    ids=lambda k: k.__name__,
)
def test_every_kind_reads_a_bookmark(kind: type[KubeObject]) -> None:
    found = decode(
        kind, {"kind": "X", "apiVersion": "v1", "metadata": {"resourceVersion": "7", "creationTimestamp": None}}
    )
    assert found.metadata == ObjectMeta(resource_version="7")
    assert not found.deleting


def test_an_endpoint_slice_without_endpoints_as_go_writes_it() -> None:
    found = decode(EndpointSlice, {"metadata": {}, "addressType": "IPv4", "endpoints": None, "ports": None})
    assert (found.endpoints, found.ports) == (None, None)
    body = {"endpoints": [{"addresses": ["1"], "conditions": {"ready": None}}], "ports": [{"name": None, "port": 5}]}
    assert decode(EndpointSlice, body).endpoints[0].conditions.ready is None


def test_a_service_port_by_number_or_name() -> None:
    found = decode(
        Service, {"spec": {"clusterIP": "None", "ports": [{"port": 1, "targetPort": 2}, {"targetPort": "x"}]}}
    )
    assert [port.target_port for port in found.spec.ports] == [2, "x"]
    assert found.spec.cluster_ip == "None"


@pytest.mark.parametrize(
    ("conditions", "finished"),
    [
        (None, None),
        ([{"type": "Suspended", "status": "True"}, {"type": "Failed", "status": "False"}], None),
        ([{"type": "Complete", "status": "True"}], "Complete"),
        ([{"type": "Failed", "status": "True"}], "Failed"),
    ],
    ids=["none", "running", "complete", "failed"],
)
def test_how_a_job_ended(conditions: Any, finished: str | None) -> None:
    assert decode(Job, {"status": {"conditions": conditions}}).finished() == finished


def test_a_secret_does_not_show_its_data() -> None:
    secret = decode(Secret, {"metadata": {"name": "s", "namespace": "a"}, "data": {"k": "Z2VoZWlt"}})
    assert repr(secret) == "Secret(a/s)"


def test_what_is_written_is_what_was_set() -> None:
    assert msgspec.to_builtins(ObjectMeta(name="n", labels={"a": "b"})) == {"name": "n", "labels": {"a": "b"}}


@pytest.mark.parametrize(("text", "number"), [("7", 7), ("0", 0), ("", -1), ("x", -1), ("-1", -1), ("²", -1)], ids=repr)
def test_versions_as_numbers(text: str, number: int) -> None:
    assert version_number(text) == number


@pytest.mark.parametrize(("key", "text"), [(Key("a", "p"), "a/p"), (Key("", "n"), "n")], ids=str)
def test_keys_read_well(key: Key, text: str) -> None:
    assert str(key) == text
