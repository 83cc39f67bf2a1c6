"""The node has the rights that it uses, and no more; what it lacks fails every test here (`Machine._check_rights`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayward.kube.client.config import find_access
from rayward.kube.client.errors import BadRequest, Forbidden
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import CLUSTER_ROLES, NODES, PERSISTENT_VOLUME_CLAIMS, SERVICE_ACCOUNTS, Resource
from tests.identity import own_kubeconfig
from tests.node.machine import Machine, sh
from tests.waiting import eventually

_ROOT = Path(__file__).parents[3]
_BOUND = Resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)


class _Recorded(Machine):
    def _start(self, name: str, module: str, *options: str, user: int | None = None) -> None:
        super()._start(name, "tests.node.recorder" if name == "api" else module, *options, user=user)

    def used(self) -> set[tuple[str, str, str]]:
        lines = (self.folder / "api" / "rights.txt").read_text().splitlines()
        return {(group.strip("-"), part, verb) for user, group, part, verb in map(str.split, lines) if user == _NODE}

    def held(self) -> set[tuple[str, str, str]]:
        bound = self.client.list(_BOUND).items
        roles = [
            each["roleRef"]["name"]
            for each in bound
            if any(subject["name"] == _NODE for subject in each.get("subjects") or ())
        ]
        rules = [rule for role in roles for rule in self.client.get(CLUSTER_ROLES, role)["rules"]]
        return {
            (group, resource, verb)
            for rule in rules
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }


_NODE = "rayward:node"


def test_every_right_of_the_node_is_used(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    del machine  # Only to skip where pods cannot run.
    monkeypatch.setenv("PYTHONPATH", str(_ROOT))
    with _Recorded("--nodes", "2", "--name", "sim", "--cpus", "2", "--memory", "2Gi") as running:
        claim = {"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": _storage("1Gi")}}
        running.make(PERSISTENT_VOLUME_CLAIMS, claim)
        volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
        mounts = {"volumeMounts": [{"name": "v", "mountPath": "/data"}]}
        running.until_ready(running.run(sh("exec sleep 600", **mounts), name="claiming", volumes=[volume]))
        # an event that is told again is patched
        running.run(sh("exit 1"), name="failing", restartPolicy="Always")
        running.until_event("failing", "BackOff")
        account = running.client.token("default", "default", {})["status"]["token"]
        with pytest.raises(Exception, match="403"):
            running.ask("/containerLogs/default/claiming/c", token=account)
        running.delete("claiming")
        running.until_gone("claiming")
        running.stop_node()
        running.start_node("--name", "sim", "--cpus", "2", "--memory", "2Gi")
        eventually(lambda: len(running.client.list(NODES).items) == 1)
        eventually(lambda: running.used() == running.held())


def _storage(size: str) -> dict[str, dict[str, str]]:
    return {"requests": {"storage": size}}


def test_the_node_has_tokens_of_the_pods_that_run_on_it_alone(machine: Machine) -> None:
    machine.client.create(SERVICE_ACCOUNTS, {"metadata": {"name": "mighty"}}, "default")
    name = machine.run(sh("exec sleep 600"))
    machine.until_ready(name)
    away = machine.run(sh("true"), nodeSelector={"no": "such"})
    running = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": machine.pod(name)["metadata"]["uid"]}
    pending = {**running, "name": away, "uid": machine.pod(away)["metadata"]["uid"]}
    with SyncClient.connect(find_access(own_kubeconfig(machine.kubeconfig, "node"))) as node:
        assert node.token("default", "default", {"boundObjectRef": running})["status"]["token"]
        for account, spec, why in (
            ("mighty", {}, "node requested token not bound to a pod"),
            ("default", {"boundObjectRef": {**running, "uid": ""}}, "a pod binding without a uid"),
            ("default", {"boundObjectRef": pending}, "bound to a pod scheduled on a different node"),
        ):
            with pytest.raises(Forbidden, match=why):
                node.token(account, "default", spec)
        with pytest.raises(BadRequest, match="different serviceaccount name"):
            node.token("mighty", "default", {"boundObjectRef": running})
    for each in (name, away):
        machine.delete(each)
    machine.client.delete(SERVICE_ACCOUNTS, "mighty", "default")
