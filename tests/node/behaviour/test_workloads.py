"""Deployments and StatefulSets, with pods that really run."""

from __future__ import annotations

from typing import Any

from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import DEPLOYMENTS, PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS, Resource
from tests.node.machine import Machine, sh
from tests.waiting import eventually

Object = dict[str, Any]


def _make(machine: Machine, resource: Resource, name: str, container: Object, **spec: Any) -> None:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]},
    }
    selector = {"matchLabels": {"app": name}}
    machine.make(resource, {"metadata": {"name": name}, "spec": {"selector": selector, "template": template, **spec}})


def _status(machine: Machine, resource: Resource, name: str) -> Object:
    return machine.client.get(resource, name, "default").get("status") or {}


def _logs(machine: Machine, name: str) -> set[str]:
    pods = machine.client.list(PODS, "default", label_selector=f"app={name}").items
    return {machine.log(pod["metadata"]["name"]) for pod in pods}


def test_a_deployment_rolls_out_and_is_deleted_with_its_pods(machine: Machine) -> None:
    _make(machine, DEPLOYMENTS, "web", sh("echo one; exec sleep 600"), replicas=2)
    eventually(lambda: _status(machine, DEPLOYMENTS, "web").get("availableReplicas") == 2)
    eventually(lambda: _logs(machine, "web") == {"one\n"})
    change = {"spec": {"template": {"spec": {"containers": [sh("echo two; exec sleep 600")]}}}}
    machine.client.patch(DEPLOYMENTS, "web", change, PatchType.MERGE, "default")
    eventually(lambda: _logs(machine, "web") == {"two\n"})
    status = _status(machine, DEPLOYMENTS, "web")
    assert (status["updatedReplicas"], status["replicas"]) == (2, 2)
    machine.client.delete(DEPLOYMENTS, "web", "default")
    eventually(lambda: not machine.client.list(PODS, "default", label_selector="app=web").items)


def test_a_stateful_set_keeps_names_and_files(machine: Machine) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    mounted = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    container = sh("hostname >> /data/starts; cat /data/starts; exec sleep 600", **mounted)
    _make(machine, STATEFUL_SETS, "db", container, replicas=2, serviceName="db", volumeClaimTemplates=[claim])
    eventually(lambda: _status(machine, STATEFUL_SETS, "db").get("readyReplicas") == 2)
    uid = machine.pod("db-1")["metadata"]["uid"]
    machine.delete("db-1")
    eventually(lambda: machine.pod("db-1")["metadata"]["uid"] != uid)
    machine.until_ready("db-1")
    eventually(lambda: machine.log("db-1") == "db-1\ndb-1\n")
    assert machine.log("db-0") == "db-0\n"
    machine.client.delete(STATEFUL_SETS, "db", "default")
    eventually(lambda: not machine.client.list(PODS, "default", label_selector="app=db").items)
    kept = machine.client.list(PERSISTENT_VOLUME_CLAIMS, "default", label_selector="app=db").items
    assert [each["metadata"]["name"] for each in kept] == ["data-db-0", "data-db-1"]
