"""A machine that refuses namespaces: the control plane runs, pods wait, and all say why and what to do."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from rayward.kube.core.resource import NODES
from tests.node.machine import Machine, sh
from tests.waiting import eventually

# A user namespace of its own in which no further one may be made: the rest of the machine is not touched.
_REFUSING = (
    "unshare",
    "--user",
    "--map-root-user",
    "sh",
    "-c",
    'echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" "$@"',
)


@pytest.fixture
def refusing(machine: Machine) -> Iterator[Machine]:
    del machine
    with Machine(wrapper=(*_REFUSING, sys.executable)) as running:
        yield running


def test_pods_wait_and_say_what_would_let_them_run(refusing: Machine) -> None:
    name = refusing.run(sh("true"))
    message = refusing.until_event(name, "FailedScheduling")
    assert message.startswith("0/1 nodes are available: user namespaces: ")
    assert "sudo sysctl -w user.max_user_namespaces=" in message
    assert refusing.status(name)["phase"] == "Pending"
    assert refusing.condition(name, "PodScheduled")["message"] == message

    def node_says_so() -> bool:
        conditions = refusing.client.list(NODES).items[0]["status"]["conditions"]
        ready = next(found for found in conditions if found["type"] == "Ready")
        return ready["status"] == "False" and "user namespaces" in ready["message"]

    eventually(node_says_so)
