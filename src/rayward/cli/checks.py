"""What Rayward needs of a machine, looked at one by one."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import socket
import sys
from enum import StrEnum
from pathlib import Path

import msgspec

from rayward.stack import state
from rayward.stack.folder import Folder

_LEAST_PYTHON = (3, 11)
_LEAST_DISK = 1 << 30
_LEAST_MEMORY = 2 << 30
_RAY_MEMORY = 4 << 30
_LOOPBACK = "127.43.0.1"


class Verdict(StrEnum):
    """How well something is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at: what was found and, where that is not good, what mends it."""

    name: str
    verdict: Verdict
    found: str
    remedy: str = ""


def all_of(folder: Folder) -> list[Check]:
    """Everything, in the order in which it is needed."""
    return [
        python(sys.version_info[:3]),
        *namespaces(_missing()),
        control_groups(),
        disk(folder, shutil.disk_usage(_existing(folder.root)).free),
        memory(_available_memory()),
        loopback(_cannot_bind()),
        ray(_ray_version()),
        kubectl(shutil.which("kubectl")),
        stack(folder),
    ]


def python(version: tuple[int, int, int]) -> Check:
    text = ".".join(map(str, version))
    if version[:2] >= _LEAST_PYTHON:
        return Check("python", Verdict.OK, f"{text} ({sys.executable})")
    return Check("python", Verdict.FAIL, f"{text} is too old", "install Python 3.11 or newer")


def namespaces(missing: list[str]) -> list[Check]:
    """What pods are separated by; each missing one comes as ``what: why; remedy``."""
    if not missing:
        return [Check("namespaces", Verdict.OK, "user, mount, pid, network and ipc namespaces can be made")]
    return [
        Check("namespaces", Verdict.FAIL, why or "they cannot be tried", remedy or "rayward up --api-only needs none")
        for why, _, remedy in (line.partition("; ") for line in missing)
    ]


def _missing() -> list[str]:
    from rayward.local.node.capabilities import missing_in_child

    return missing_in_child()


def control_groups() -> Check:
    """Whether limits of pods are kept by the kernel."""
    from rayward.local.node.cgroups import place_of

    try:
        place = place_of(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
    except OSError:
        place = None
    remedy = "limits are not enforced; to enforce them: systemd-run --user --scope -p Delegate=yes rayward up"
    if place is None:
        return Check("control groups", Verdict.WARN, "this machine has none", remedy)
    if not os.access(place.memory, os.W_OK):
        return Check("control groups", Verdict.WARN, f"{place.memory} is not writable", remedy)
    return Check("control groups", Verdict.OK, f"limits are enforced in {place.memory}")


def disk(folder: Folder, free: int) -> Check:
    """Room for objects, logs and pods."""
    found = f"{free / (1 << 30):.1f} GiB free for {folder.root}"
    if free >= _LEAST_DISK:
        return Check("disk", Verdict.OK, found)
    return Check("disk", Verdict.FAIL, found, "make room, or choose another place with --data-dir")


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)


def memory(available: int | None) -> Check:
    if available is None:
        return Check("memory", Verdict.WARN, "the free memory is unknown on this system")
    found = f"{available / (1 << 30):.1f} GiB available"
    if available < _LEAST_MEMORY:
        return Check("memory", Verdict.WARN, found, "a Ray head needs about 2 GiB: end other programs")
    if available < _RAY_MEMORY:
        return Check("memory", Verdict.WARN, found, "one small Ray cluster fits, not two")
    return Check("memory", Verdict.OK, found)


def _available_memory() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    return found[0] if found else None


def loopback(refusal: str) -> Check:
    """Whether services can listen for the user's shell."""
    if not refusal:
        return Check("loopback", Verdict.OK, "services can listen on 127.43.0.0/16")
    remedy = f"sudo ip addr add {_LOOPBACK}/16 dev lo" if platform.system() == "Linux" else "run Rayward on Linux"
    return Check("loopback", Verdict.WARN, f"{_LOOPBACK} cannot be listened on: {refusal}", remedy)


def _cannot_bind() -> str:
    try:
        with socket.socket() as one:
            one.bind((_LOOPBACK, 0))
    except OSError as error:
        return error.strerror or str(error)
    return ""


def ray(version: str) -> Check:
    """Ray in the environment that pods get unless told otherwise."""
    if version:
        return Check("ray", Verdict.OK, f"{version} in {sys.prefix}")
    remedy = "pip install 'ray[default,serve]'   # or map another environment: rayward up --image rayproject/ray=ENV"
    return Check("ray", Verdict.WARN, f"not installed in {sys.prefix}", remedy)


def _ray_version() -> str:
    try:
        return importlib.metadata.version("ray")
    except importlib.metadata.PackageNotFoundError:
        return ""


def kubectl(path: str | None) -> Check:
    """The client that most people know; ours does without."""
    if path:
        return Check("kubectl", Verdict.OK, path)
    return Check("kubectl", Verdict.OK, "not found; rayward get, apply, logs and exec do without")


def stack(folder: Folder) -> Check:
    seen = state.current(folder)
    if seen is None and (alone := state.unsupervised(folder)) is not None:
        found = f"{len(alone.parts)} parts run without a supervisor, which was killed: none is restarted if it ends"
        return Check("stack", Verdict.WARN, found, "rayward up   # adopts them")
    if seen is None:
        return Check("stack", Verdict.OK, "nothing runs; rayward up starts it")
    next_step = f"rayward status   # logs are in {folder.logs}"
    failed = [part for part in seen.parts if part.phase not in ("running", "starting")]
    if failed:
        found = "; ".join(f"{part.name} is in {part.phase}: {part.reason or 'it ended'}" for part in failed)
        return Check("stack", Verdict.FAIL, found, next_step)
    if starting := [part.name for part in seen.parts if part.phase == "starting"]:
        return Check("stack", Verdict.WARN, f"still starting: {', '.join(starting)}", next_step)
    return Check("stack", Verdict.OK, f"{len(seen.parts)} parts run")
