"""A container's root, laid by the node's own code on a machine whose /dev a test has filled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from rayward.local.node.container.devices import card_minors, granted
from rayward.local.node.sandbox import linux, process, root

_ORDINARY = ("null", "zero", "full", "random", "urandom", "tty")


def laid(there: Mapping[str, str], numbers: tuple[int, ...]) -> dict[str, str]:
    """Which of these devices a container with these GPUs finds, each with the real device that it is."""
    asked = json.dumps([there, numbers])
    command = [sys.executable, "-m", "tests.node.laying", asked]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def _main(there: dict[str, str], numbers: list[int]) -> int:
    user, group = os.getuid(), os.getgid()
    linux.unshare(linux.NEW_USER | linux.NEW_MOUNTS | linux.NEW_PIDS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    # /proc of the new pid namespace is mounted by a process in it
    child = process.fork(lambda: _lay(there, numbers))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _lay(there: dict[str, str], numbers: list[int]) -> int:
    staged, laying = Path("/tmp/staged"), Path("/tmp/root")
    linux.mount("tmpfs", "/tmp", "tmpfs")
    for folder in (staged, laying, Path("/tmp/shm")):
        folder.mkdir()
    for name, real in {**{name: name for name in _ORDINARY}, **there}.items():
        (staged / name).touch()
        linux.mount(f"/dev/{real}", str(staged / name), None, linux.BIND)
    linux.mount(str(staged), "/dev", None, linux.BIND | linux.RECURSIVE)
    root.build(str(laying), "/tmp/shm", [], devices=granted(numbers, card_minors()).devices)
    kinds = {Path("/dev", name).stat().st_rdev: name for name in _ORDINARY}
    found = {path.name: kinds.get(path.stat().st_rdev, "") for path in (laying / "dev").iterdir()}
    print(json.dumps({name: found[name] for name in there if name in found}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(_main(*json.loads(sys.argv[1])))
