"""Real Ray in a pod with limits: it counts CPUs and memory by them, and its object store lies in shared memory."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest

from rayward.local.node.capabilities import missing_in_child
from tests.node.machine import Machine
from tests.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]

_MEMORY: Final = 1536 * 2**20
_PROGRAM: Final = """
import json, os
import ray

ray.init(include_dashboard=False)
found = ray.cluster_resources()
room = os.statvfs("/dev/shm")
shown = {"CPU": found["CPU"], "memory": found["memory"], "store": found["object_store_memory"]}
print(json.dumps({**shown, "room": room.f_frsize * room.f_blocks}), flush=True)
"""
# A node whose user may not set control groups: nothing can be made in what lies over them.
_WITHOUT_GROUPS: Final = (
    "unshare",
    "-m",
    "sh",
    "-c",
    'mount -t tmpfs -o ro none /sys/fs/cgroup && exec "$0" "$@"',
    sys.executable,
)


@pytest.fixture(params=[(), _WITHOUT_GROUPS], ids=["as this machine is", "where limits are only stated"])
def node(request: pytest.FixtureRequest) -> Iterator[Machine]:
    wrapper: Sequence[str] = request.param
    if refused := missing_in_child():
        pytest.skip(f"pods cannot run here: {'; '.join(refused)}")
    if wrapper and os.geteuid() != 0:
        pytest.skip("only root can take the control groups from a node; without root it has none anyway")
    with Machine("--cpus", "4", "--memory", "8Gi", wrapper=wrapper) as running:
        yield running


def test_ray_goes_by_the_limits_of_its_container(node: Machine) -> None:
    limits = {"cpu": "1", "memory": str(_MEMORY)}
    container = {"name": "c", "image": "rayproject/ray:2.60.0", "command": ["python", "-c", _PROGRAM]}
    name = node.run({**container, "resources": {"limits": limits}})
    eventually(lambda: node.status(name).get("phase") in ("Succeeded", "Failed"), 300)
    said = node.log(name)
    assert node.status(name)["phase"] == "Succeeded", said
    assert "instead of /dev/shm" not in said
    found: dict[str, Any] = json.loads(next(line for line in said.splitlines() if line.startswith('{"CPU"')))
    assert found["CPU"] == 1
    assert found["memory"] + found["store"] <= _MEMORY
    assert found["store"] <= found["room"] <= _MEMORY
    print(f"{name}: {found}")
