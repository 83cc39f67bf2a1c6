"""Limits that are stated where nobody keeps them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rayward.kube.machinery.podrequests import amounts
from rayward.local.node.container.limits import stated
from rayward.local.node.sandbox import stated as statement


@pytest.mark.parametrize(
    ("limits", "memory", "cpu"),
    [
        ({"memory": "2Gi", "cpu": "1500m"}, "2147483648", "150000 100000"),
        ({"memory": "1G"}, "1000000000", "max 100000"),
        ({"cpu": "1m"}, "max", "1000 100000"),
    ],
    ids=["both", "memory", "cpu, at least what the kernel takes"],
)
def test_limits_are_stated_as_the_kernel_would(limits: dict[str, str], memory: str, cpu: str) -> None:
    files = stated(amounts(limits), amounts(limits))
    assert (files["memory.max"], files["cpu.max"]) == (f"{memory}\n", f"{cpu}\n")
    assert files["cgroup.controllers"].split() == ["cpu", "memory"]


def test_a_container_without_limits_is_told_nothing() -> None:
    assert stated(amounts({"nvidia.com/gpu": "1"}), amounts({"cpu": "1"})) == {}


def test_what_is_used_is_told_anew(tmp_path: Path) -> None:
    statement.write(tmp_path / "c", {"memory.max": "1000\n"})
    assert (tmp_path / "c" / "memory.current").read_text() == "0\n"
    statement.update(tmp_path / "c", 700, 50)
    assert (tmp_path / "c" / "memory.current").read_text() == "750\n"
    lines = dict(line.split() for line in (tmp_path / "c" / "memory.stat").read_text().splitlines())
    # Ray takes off what the kernel could free at once, and looks for these lines to know that.
    assert (lines["anon"], lines["shmem"], lines["inactive_file"], lines["active_file"]) == ("700", "50", "0", "0")
    assert (tmp_path / "c" / "memory.max").read_text() == "1000\n"


def test_the_memory_of_processes_is_measured() -> None:
    # Outside a namespace all processes are seen, this one and its child among them.
    held = 64 * 1024 * 1024
    script = f"held = bytearray(b'x') * {held}; print(len(held), flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert statement.private_memory(os.getpid()) > held
        child.communicate(b"\n")


def test_the_memory_of_a_container_that_just_ended_is_nothing() -> None:
    assert statement.private_memory(2**22 + 1) == 0
