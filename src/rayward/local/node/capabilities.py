"""Which namespaces this machine lets us have; where one is missing, why, and the line that allows it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from rayward.local.node.sandbox import linux, process
from rayward.local.node.sandbox.netlink import Netlink
from rayward.local.node.sandbox.pod import BRIDGE_ADDRESS

_SECONDS: Final = 20


class Missing(msgspec.Struct, frozen=True):
    """One thing that pods need and this machine refuses."""

    what: str
    why: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}: {self.why}; {self.remedy}"


def missing() -> list[Missing]:
    """What keeps pods from running here; nothing where they can."""
    if sys.platform != "linux":
        return [
            Missing("namespaces", "this system is not Linux", "run Rayward on Linux, or in a Linux virtual machine")
        ]
    user = _try(lambda: linux.unshare(linux.NEW_USER))
    if user:
        return [Missing("user namespaces", user, remedy_for_user(_setting))]
    found: list[Missing] = []
    for what, flag in (
        ("mount namespaces", linux.NEW_MOUNTS),
        ("pid namespaces", linux.NEW_PIDS),
        ("network namespaces", linux.NEW_NETWORK),
        ("ipc namespaces", linux.NEW_IPC),
    ):
        why = _try(lambda flag=flag: linux.unshare(linux.NEW_USER | flag))
        if why:
            kind = what.split(maxsplit=1)[0]
            name = {"mount": "mnt", "network": "net"}.get(kind, kind)
            found.append(Missing(what, why, f"allow them: sudo sysctl -w user.max_{name}_namespaces=10000"))
    return found or _missing_inside()


def _missing_inside() -> list[Missing]:
    found: list[Missing] = []
    why = _try(_mount_processes)
    if why:
        remedy = "in a container, allow it with --security-opt systempaths=unconfined (podman: unmask=ALL)"
        found.append(Missing("a /proc of a pod's own", why, remedy))
    for what, attempt in (("bridge", _make_bridge), ("veth", _make_pair)):
        why = _try(attempt)
        if why:
            found.append(Missing(f"network links of kind {what}", why, f"load them: sudo modprobe {what}"))
    return found


def _mount_processes() -> None:
    linux.unshare(linux.NEW_USER | linux.NEW_MOUNTS | linux.NEW_PIDS)

    def mount() -> None:
        linux.mount("proc", "/proc", "proc")

    why = _try(mount)
    if why:
        raise PermissionError(1, why)


def _make_bridge() -> None:
    linux.unshare(linux.NEW_USER | linux.NEW_NETWORK)
    with Netlink() as network:
        network.make_bridge("rw0", BRIDGE_ADDRESS)


def _make_pair() -> None:
    linux.unshare(linux.NEW_USER | linux.NEW_NETWORK)
    with Netlink() as network:
        network.make_pair("p0", "eth0", os.getpid())


def remedy_for_user(setting: Callable[[str], str]) -> str:
    """The line that allows user namespaces, by what the kernel's settings say."""
    if setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return "allow them: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    if setting("kernel/unprivileged_userns_clone") == "0":
        return "allow them: sudo sysctl -w kernel.unprivileged_userns_clone=1"
    if setting("user/max_user_namespaces") == "0":
        return "allow them: sudo sysctl -w user.max_user_namespaces=10000"
    return "in a container, allow them with --security-opt seccomp=unconfined --security-opt systempaths=unconfined"


def _setting(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""


def _try(attempt: Callable[[], None]) -> str:
    """The kernel's objection to something tried in a child, or nothing."""
    said_in, said_out = os.pipe()

    def body() -> int:
        try:
            attempt()
        except OSError as error:
            os.write(said_out, (error.strerror or str(error)).encode())
        return 0

    child = process.fork(body)
    os.close(said_out)
    with os.fdopen(said_in, "rb") as said:
        answer = said.read().decode()
    os.waitpid(child, 0)
    return answer


def main() -> int:
    """``python -m rayward.local.node.capabilities``: say what is missing."""
    found = missing()
    for one in found:
        print(one)  # noqa: T201
    return 1 if found else 0


def missing_in_child() -> list[str]:
    """The same from a fresh process: forking is for programs with one thread."""
    command = [sys.executable, "-m", "rayward.local.node.capabilities"]
    answer = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    return answer.stdout.splitlines() if answer.returncode in (0, 1) else [answer.stderr.strip()[-500:]]


if __name__ == "__main__":
    sys.exit(main())
