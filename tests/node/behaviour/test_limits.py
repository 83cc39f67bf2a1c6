"""What a container is told of its limits, and how the machine is shared."""

from __future__ import annotations

import resource
from typing import Final

from tests.node.machine import Machine, sh
from tests.waiting import eventually

# As Ray looks: the old files first, then those of unified groups.
_READ: Final = (
    "cd /sys/fs/cgroup; cat memory/memory.limit_in_bytes 2>/dev/null || cat memory.max;"
    " cat cpu/cpu.cfs_quota_us 2>/dev/null || cut -d' ' -f1 cpu.max"
)
_USED: Final = "cat /sys/fs/cgroup/memory/memory.usage_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.current"


def shows_limits(machine: Machine) -> None:
    """Containers of one pod see a limit each."""
    asked = {"requests": {"cpu": "10m", "memory": "10Mi"}}
    small = {**asked, "limits": {"memory": "192Mi", "cpu": "1"}}
    large = {**asked, "limits": {"memory": "1Gi", "cpu": "1500m"}}
    name = machine.run(sh(f"{_READ}; sleep 600", resources=small), sh(f"{_READ}; sleep 600", resources=large))
    eventually(lambda: machine.log(name) == f"{192 * 2**20}\n100000\n")
    eventually(lambda: machine.log(name, "c1").startswith(f"{2**30}\n150000\n"))
    machine.delete(name)


def shows_use(machine: Machine) -> None:
    """What a container takes shows where Ray looks for it."""
    held = 150 * 2**20
    script = f"held = bytearray(b'x') * {held}; import time; time.sleep(600)"
    command = {"name": "c", "image": "busybox", "command": ["python3", "-c", script]}
    name = machine.run({**command, "resources": {"limits": {"memory": "1Gi"}}})
    eventually(lambda: int(machine.execute(name, "sh", "-c", _USED)[1][1]) > held)
    assert int(machine.execute(name, "sh", "-c", _USED)[1][1]) < 2**30
    machine.delete(name)


def test_a_container_sees_its_own_limits(machine: Machine) -> None:
    shows_limits(machine)


def test_a_container_sees_what_it_uses(machine: Machine) -> None:
    shows_use(machine)


def test_limits_cannot_be_changed_from_inside(machine: Machine) -> None:
    change = "for f in memory.max memory/memory.limit_in_bytes; do (echo 9 > /sys/fs/cgroup/$f) 2>&1; done; true"
    said = machine.output(sh(change, resources={"limits": {"memory": "256Mi"}}))
    assert "Read-only file system" in said


def test_every_container_is_a_session(machine: Machine) -> None:
    # The kernel shares CPUs between sessions: a container with many processes has no more of them than one with few.
    look = """
import os, subprocess, time
child = subprocess.Popen(["sleep", "600"])
group = open("/proc/self/autogroup").read().strip() if os.path.exists("/proc/self/autogroup") else ""
print(os.getpid(), os.getsid(0), os.getsid(child.pid), group, flush=True)
time.sleep(600)
"""
    one = {"name": "c", "image": "busybox", "command": ["python3", "-c", look]}
    name = machine.run(one, one)
    eventually(lambda: machine.log(name).endswith("\n") and machine.log(name, "c1").endswith("\n"))
    groups: set[str] = set()
    for container in ("c", "c1"):
        process, own, child, *group = machine.log(name, container).split()
        assert process == own == child
        groups.add(" ".join(group))
    assert len(groups) == 2 or groups == {""}, "a kernel that shares by session names a group for each"
    machine.delete(name)


def test_files_may_be_opened_as_far_as_the_machine_lets_us(machine: Machine) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, hard = machine.output(sh("ulimit -Sn; ulimit -Hn")).split()
    assert soft == hard
    assert int(hard) >= most
