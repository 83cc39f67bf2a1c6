"""Pods whose objects change while they run."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import PODS
from tests.node.machine import Machine, sh
from tests.waiting import eventually


def _patch(machine: Machine, name: str, body: dict[str, Any]) -> None:
    machine.client.patch(PODS, name, body, PatchType.STRATEGIC, "default")


def _says(machine: Machine, name: str, path: str) -> bytes:
    return machine.execute(name, "cat", path)[1][1]


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_files_made_from_metadata_follow_it(machine: Machine, field: str) -> None:
    item = {"path": "told", "fieldRef": {"fieldPath": f"metadata.{field}['a']"}}
    name = machine.run(
        sh("exec sleep 600", volumeMounts=[{"name": "w", "mountPath": "/w"}]),
        metadata={field: {"a": "1"}},
        volumes=[{"name": "w", "downwardAPI": {"items": [item]}}],
    )
    machine.until_ready(name)
    assert _says(machine, name, "/w/told") == b"1"
    _patch(machine, name, {"metadata": {field: {"a": "2"}}})
    eventually(lambda: _says(machine, name, "/w/told") == b"2")
    machine.delete(name)


@pytest.mark.parametrize("policy", ["Always", "Never"])
def test_a_container_with_a_new_image_is_started_again(machine: Machine, policy: str) -> None:
    name = machine.run(sh("exec sleep 600"), restartPolicy=policy)
    machine.until_ready(name)
    _patch(machine, name, {"spec": {"containers": [{"name": "c", "image": "busybox:2"}]}})
    eventually(lambda: machine.container(name)["restartCount"] == 1)
    machine.until_ready(name)
    assert machine.container(name)["image"] == "busybox:2"
    assert machine.until_event(name, "Killing") == "Container c definition changed, will be restarted"
    machine.delete(name)
