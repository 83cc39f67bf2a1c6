"""Simulated nodes: what they say of themselves, and which pods they get."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import LEASES, NODES, PODS, Resource
from rayward.kube.machinery import quantity
from tests.node.machine import Machine, sh
from tests.waiting import eventually

_PRIORITIES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)


@pytest.fixture(scope="module")
def cluster(machine: Machine) -> Iterator[Machine]:
    options = ("--nodes", "3", "--cpus", "4", "--memory", "8Gi", "--name", "sim")
    with Machine(*options, "--image", f"known={sys.prefix}", "--images", "strict") as running:
        yield running


def _known(script: str, **more: Any) -> dict[str, Any]:
    return {**sh(script, **more), "image": "known:1.2"}


def _asks(cpu: str) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}}


def test_every_node_is_ready_and_says_what_it_has(cluster: Machine) -> None:
    nodes = cluster.client.list(NODES).items
    assert sorted(node["metadata"]["name"] for node in nodes) == ["sim-0", "sim-1", "sim-2"]
    for node in nodes:
        allocatable = node["status"]["allocatable"]
        assert (allocatable["cpu"], allocatable["memory"], allocatable["pods"]) == ("4", "8Gi", "110")
        ready = next(found for found in node["status"]["conditions"] if found["type"] == "Ready")
        assert (ready["status"], ready["reason"]) == ("True", "KubeletReady")
        assert node["metadata"]["labels"]["kubernetes.io/hostname"] == node["metadata"]["name"]


def test_every_node_says_what_it_is_and_since_when(cluster: Machine) -> None:
    node = cluster.client.get(NODES, "sim-1")
    info = node["status"]["nodeInfo"]
    assert info["containerRuntimeVersion"].startswith("rayward://")
    assert info["kubeletVersion"].startswith("v1.")
    assert info["systemUUID"] or not info["machineID"]
    kibibytes = shutil.disk_usage(cluster.folder).total // 1024
    assert quantity.parse(node["status"]["capacity"]["ephemeral-storage"]).as_int() == kibibytes * 1024
    assert cluster.until_event("sim-1", "Starting") == "Starting kubelet."
    assert cluster.until_event("sim-1", "NodeReady") == "Node sim-1 status is now: NodeReady"


def test_every_node_has_a_lease_that_is_renewed(cluster: Machine) -> None:
    eventually(lambda: len(cluster.client.list(LEASES, "kube-node-lease").items) == 3)
    lease = cluster.client.get(LEASES, "sim-1", "kube-node-lease")
    assert lease["spec"]["holderIdentity"] == "sim-1"
    assert lease["spec"]["leaseDurationSeconds"] == 40


def test_a_pod_that_fits_nowhere_waits_and_says_why(cluster: Machine) -> None:
    name = cluster.run(_known("true", **_asks("5")))
    message = cluster.until_event(name, "FailedScheduling")
    assert message == (
        "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: "
        "3 No preemption victims found for incoming pod. "
        "The pod requests 5 cpu; the most that a node has free is 4 of 4 (rayward up --cpus gives a node more)."
    )
    condition = cluster.condition(name, "PodScheduled")
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "Unschedulable", message)
    assert cluster.status(name)["phase"] == "Pending"
    cluster.delete(name)
    cluster.until_gone(name)


def test_room_is_shared_out(cluster: Machine) -> None:
    names = [cluster.run(_known("exec sleep 600", **_asks("3"))) for _ in range(3)]
    for name in names:
        cluster.until_ready(name)
    assert len({cluster.pod(name)["spec"]["nodeName"] for name in names}) == 3
    late = cluster.run(_known("echo at last", **_asks("2")))
    cluster.until_event(late, "FailedScheduling")
    cluster.delete(names[0])
    cluster.until_phase(late, "Succeeded")
    for name in names[1:]:
        cluster.delete(name)
        cluster.until_gone(name)


def test_selectors_and_taints(cluster: Machine) -> None:
    cluster.client.patch(NODES, "sim-2", {"metadata": {"labels": {"disk": "fast"}}}, PatchType.MERGE)
    name = cluster.run(_known("true"), nodeSelector={"disk": "fast"})
    cluster.until_phase(name, "Succeeded")
    assert cluster.pod(name)["spec"]["nodeName"] == "sim-2"
    taint = {"key": "only", "value": "mine", "effect": "NoSchedule"}
    cluster.client.patch(NODES, "sim-2", {"spec": {"taints": [taint]}}, PatchType.MERGE)
    refused = cluster.run(_known("true"), nodeSelector={"disk": "fast"})
    reasons = "1 node(s) had untolerated taint(s), 2 node(s) didn't match Pod's node affinity/selector."
    assert cluster.until_event(refused, "FailedScheduling").startswith(f"0/3 nodes are available: {reasons}")
    tolerant = cluster.run(
        _known("true"),
        nodeSelector={"disk": "fast"},
        tolerations=[{"key": "only", "operator": "Equal", "value": "mine"}],
    )
    cluster.until_phase(tolerant, "Succeeded")
    cluster.client.patch(NODES, "sim-2", {"spec": {"taints": None}}, PatchType.MERGE)
    cluster.until_phase(refused, "Succeeded")


def test_a_more_important_pod_takes_the_room(cluster: Machine) -> None:
    body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}
    cluster.client.create(_PRIORITIES, body)
    small = [cluster.run(_known("exec sleep 600", **_asks("3"))) for _ in range(3)]
    for name in small:
        cluster.until_ready(name)
    important = cluster.run(_known("echo first", **_asks("2")), priorityClassName="high")
    cluster.until_phase(important, "Succeeded")
    left = [pod["metadata"]["name"] for pod in cluster.client.list(PODS, "default").items]
    assert sum(name in left for name in small) == 2
    for name in small:
        if name in left:
            cluster.delete(name)
            cluster.until_gone(name)


def test_a_scheduling_gate_holds_a_pod_back(cluster: Machine) -> None:
    name = cluster.run(_known("true"), schedulingGates=[{"name": "example.com/wait"}])
    other = cluster.run(_known("true"))
    cluster.until_phase(other, "Succeeded")
    assert "nodeName" not in cluster.pod(name)["spec"]
    cluster.client.patch(PODS, name, {"spec": {"schedulingGates": []}}, PatchType.MERGE, "default")
    cluster.until_phase(name, "Succeeded")


def test_an_image_without_an_environment_names_the_mapping_to_add(cluster: Machine) -> None:
    name = cluster.run({**sh("true"), "image": "rayproject/ray:2.52.0"})
    eventually(lambda: cluster.state(name)["waiting"]["reason"] in ("ErrImagePull", "ImagePullBackOff"))
    message = cluster.state(name)["waiting"]["message"]
    assert "--image rayproject/ray=" in message
    assert "--image rayproject/ray=" in cluster.until_event(name, "Failed", "Failed to pull image")
    cluster.until_waiting(name, "ImagePullBackOff")
    assert cluster.status(name)["phase"] == "Pending"
    cluster.delete(name)


def test_pods_of_different_nodes_reach_each_other(cluster: Machine) -> None:
    server = cluster.run(
        _known("cd /tmp; echo across > index.html; exec python3 -m http.server 8000"), nodeName="sim-0"
    )
    address = cluster.until_ready(server)["podIP"]
    said = cluster.output(_known(f"until wget -q -O- http://{address}:8000/; do sleep 0.2; done"), nodeName="sim-1")
    assert said == "across\n"
    assert address.startswith("10.42.0.")
    cluster.delete(server)


def test_a_pod_given_to_a_full_node_is_refused_by_it(cluster: Machine) -> None:
    name = cluster.run(_known("true", **_asks("5")), nodeName="sim-0")
    status = cluster.until_phase(name, "Failed")
    assert status["reason"] == "OutOfcpu"
    assert "requested: 5000, used: " in status["message"]
    assert "containerStatuses" not in status
