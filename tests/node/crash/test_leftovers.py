"""Nodes that an earlier run of the process served and this one does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rayward.kube.client.errors import NotFound
from rayward.kube.core.resource import LEASES, NODES, PODS
from tests.node.machine import Machine, sh
from tests.waiting import eventually

_ONE = ("--cpus", "4", "--memory", "8Gi", "--name", "sim")
_TWO = (*_ONE, "--nodes", "2")


@pytest.fixture
def two(machine: Machine) -> Iterator[Machine]:
    del machine  # Only to skip where pods cannot run.
    with Machine(*_TWO) as running:
        yield running


def _nodes(machine: Machine) -> list[str]:
    return sorted(node["metadata"]["name"] for node in machine.client.list(NODES).items)


def _lease_is_gone(machine: Machine, name: str) -> bool:
    try:
        machine.client.get(LEASES, name, "kube-node-lease")
    except NotFound:
        return True
    return False


def test_they_go_with_their_pods_and_new_pods_run(two: Machine) -> None:
    old = two.run(sh("exec sleep 600"), nodeName="sim-1")
    two.until_ready(old)
    two.stop_node()
    never_begun = two.run(sh("exec sleep 600"), nodeName="sim-0")
    two.start_node(*_ONE)
    two.until_gone(old)
    two.until_gone(never_begun)
    eventually(lambda: _nodes(two) == ["sim"])
    eventually(lambda: _lease_is_gone(two, "sim-0") and _lease_is_gone(two, "sim-1"))
    assert "sim-1" in two.until_event(old, "NodeRemoved")
    assert two.output(sh("echo runs")) == "runs\n"


def test_their_pods_that_outlived_the_process_end(two: Machine) -> None:
    old = two.run(sh("exec sleep 600"), nodeName="sim-1")
    two.until_ready(old)
    two.kill_node()
    assert len(two.processes()) > 1
    two.start_node(*_ONE)
    two.until_gone(old)
    eventually(lambda: len(two.processes()) == 1)
    eventually(lambda: not list((two.folder / "node" / "pods").iterdir()))


def test_they_go_though_the_process_is_killed_meanwhile(two: Machine) -> None:
    old = [two.run(sh("exec sleep 600"), nodeName=f"sim-{number % 2}") for number in range(6)]
    for name in old:
        two.until_ready(name)
    two.kill_node()
    for fewer in range(len(old) - 1, 0, -1):
        two.begin_node(*_ONE)
        eventually(lambda fewer=fewer: len(two.client.list(PODS, "default").items) <= fewer)
        two.kill_node()
    two.start_node(*_ONE)
    for name in old:
        two.until_gone(name)
    eventually(lambda: _nodes(two) == ["sim"])
    eventually(lambda: len(two.processes()) == 1)
    eventually(lambda: not list((two.folder / "node" / "pods").iterdir()))


def test_nodes_of_others_stay(two: Machine) -> None:
    other = {"metadata": {"name": "other", "labels": {"rayward.dev/node-process": "another"}}}
    two.make(NODES, other)
    two.stop_node()
    two.start_node(*_TWO)
    assert _nodes(two) == ["other", "sim-0", "sim-1"]
