"""Limits and shares that the kernel keeps, where this machine lets us set them."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from rayward.kube.machinery import quantity
from rayward.kube.machinery.quantity import Quantity

_PERIOD: Final = 100_000
_LEAST_QUOTA: Final = 1000
SEEN_AT: Final = "/sys/fs/cgroup"
"""Where programs look for their groups."""
_SHARES_OF_CPU: Final = 1024
_LEAST_SHARES, _MOST_SHARES = 2, 262_144
# Kubernetes gives next to nothing to a container that asks for nothing; on a laptop such a pod must still answer.
_LEAST_ASKED: Final = quantity.parse("100m")


class Place(msgspec.Struct, frozen=True):
    """A folder of the kernel in which groups can be made, and which version of them."""

    memory: str
    cpu: str
    unified: bool


class Group(msgspec.Struct, frozen=True):
    """The groups of one container: files to join them by, and the one that counts kills for want of memory."""

    join: tuple[str, ...] = ()
    kills: str = ""
    seen: tuple[tuple[str, str], ...] = ()
    """Folders of the kernel, and where the container sees them: there programs look for their limits."""


def quota(cpus: Quantity) -> int:
    """The microseconds of every tenth of a second for which that many CPUs stand."""
    return max(cpus.milli() * _PERIOD // 1000, _LEAST_QUOTA)


def cpu_max(cpus: Quantity | None) -> str:
    """The content of a file ``cpu.max``."""
    return f"{'max' if cpus is None else quota(cpus)} {_PERIOD}"


def shares(cpus: Quantity) -> int:
    """How much a group counts beside others when CPUs are short, as the kubelet reckons."""
    return min(max(cpus.milli() * _SHARES_OF_CPU // 1000, _LEAST_SHARES), _MOST_SHARES)


def weight(cpus: Quantity) -> int:
    """The same on the scale of unified groups."""
    return 1 + (shares(cpus) - _LEAST_SHARES) * 9999 // (_MOST_SHARES - _LEAST_SHARES)


def place_of(mounts: str, own: str) -> Place | None:
    """Where our own groups are, by /proc/self/mountinfo and /proc/self/cgroup; None where there are none."""
    roots: dict[str, str] = {}
    for line in mounts.splitlines():
        head, _, tail = line.partition(" - ")
        kind, _, options = (*tail.split(), "", "", "")[:3]
        if kind == "cgroup2":
            roots["unified"] = head.split()[4]
        elif kind == "cgroup":
            for controller in ("memory", "cpu"):
                if controller in options.split(","):
                    roots[controller] = head.split()[4]
    paths: dict[str, str] = {}
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(",") if controllers else ("unified",):
            paths[controller] = path
    if "memory" in roots and "memory" in paths:
        cpu = roots["cpu"] + paths["cpu"] if "cpu" in roots and "cpu" in paths else ""
        return Place((roots["memory"] + paths["memory"]).rstrip("/"), cpu.rstrip("/"), unified=False)
    if "unified" in roots and "unified" in paths:
        here = (roots["unified"] + paths["unified"]).rstrip("/")
        return Place(here, here, unified=True)
    return None


class Cgroups:
    def __init__(self, place: Place | None, name: str = "rayward") -> None:
        self.refusal = ""
        """Why limits are not kept by the kernel; empty where they are."""
        self._place = place
        self._name = name
        self._roots: list[Path] = []
        if place is None:
            self.refusal = "this machine has no control groups"
            return
        try:
            self._prepare(place)
        except OSError as error:
            self.refusal = f"control groups are not writable: {error.strerror} ({error.filename})"

    @classmethod
    def here(cls, data: Path) -> Cgroups:
        """Those of this process, apart from those of a node with another data folder."""
        try:
            mounts, own = Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text()
        except OSError:
            return cls(None)
        return cls(place_of(mounts, own), f"rayward-{hashlib.sha256(bytes(data)).hexdigest()[:12]}")

    def _prepare(self, place: Place) -> None:
        if place.unified:
            controllers = Path(place.memory, "cgroup.subtree_control").read_text().split()
            if "memory" not in controllers:
                # Enabling it moves every process of this group; that is for whoever made the group.
                raise PermissionError(1, "the memory controller is not delegated", place.memory)
        for folder in dict.fromkeys((place.memory, place.cpu)):
            if folder:
                root = Path(folder, self._name)
                root.mkdir(exist_ok=True)
                self._roots.append(root)
        if place.unified:
            (self._roots[0] / "cgroup.subtree_control").write_text("+memory +cpu")
        if place.cpu:
            # All pods together count like as many programs as there are CPUs, not like one.
            self._share_cpu(Path(place.cpu, self._name), quantity.parse(os.cpu_count() or 1))

    def make(self, pod: str, container: str, limits: Mapping[str, Quantity], requests: Mapping[str, Quantity]) -> Group:
        """A group for a container; an empty one where there is no way to have one."""
        place = self._place
        if self.refusal or place is None:
            return Group()
        memory = self._folder(place.memory, pod, container)
        cpu = memory if place.unified else self._folder(place.cpu, pod, container) if place.cpu else None
        if "memory" in limits:
            name = "memory.max" if place.unified else "memory.limit_in_bytes"
            (memory / name).write_text(str(limits["memory"].as_int()))
        if cpu is not None:
            if "cpu" in limits:
                self._limit_cpu(cpu, limits["cpu"])
            self._share_cpu(cpu, max(requests.get("cpu", _LEAST_ASKED), _LEAST_ASKED))
        folders = dict.fromkeys(folder for folder in (memory, cpu) if folder is not None)
        kills = memory / ("memory.events" if place.unified else "memory.oom_control")
        seen = [(str(memory), SEEN_AT if place.unified else f"{SEEN_AT}/memory")]
        if cpu is not None and not place.unified:
            seen.append((str(cpu), f"{SEEN_AT}/cpu"))
        return Group(tuple(str(folder / "cgroup.procs") for folder in folders), str(kills), tuple(seen))

    def share(self, pod: str, requests: Mapping[str, Quantity]) -> None:
        """Let a whole pod count by what it asks for."""
        place = self._place
        if self.refusal or place is None or not place.cpu:
            return
        folder = Path(place.cpu, self._name, pod)
        folder.mkdir(exist_ok=True)
        self._share_cpu(folder, max(requests.get("cpu", _LEAST_ASKED), _LEAST_ASKED))

    def _limit_cpu(self, folder: Path, cpus: Quantity) -> None:
        if self._place is not None and self._place.unified:
            (folder / "cpu.max").write_text(cpu_max(cpus))
        else:
            (folder / "cpu.cfs_period_us").write_text(str(_PERIOD))
            (folder / "cpu.cfs_quota_us").write_text(str(quota(cpus)))

    def _share_cpu(self, folder: Path, cpus: Quantity) -> None:
        if self._place is not None and self._place.unified:
            (folder / "cpu.weight").write_text(str(weight(cpus)))
        else:
            (folder / "cpu.shares").write_text(str(shares(cpus)))

    def remove(self, pod: str) -> None:
        """Take away the groups of a pod, whose processes are gone."""
        for root in self._roots:
            folder = root / pod
            if folder.is_dir():
                for inner in (*folder.iterdir(), folder):
                    if inner.is_dir():
                        with contextlib.suppress(OSError):
                            inner.rmdir()

    def clear(self) -> None:
        """Take away everything; all pods are gone."""
        for root in self._roots:
            for folder in root.iterdir():
                if folder.is_dir():
                    self.remove(folder.name)
            with contextlib.suppress(OSError):
                root.rmdir()

    def _folder(self, base: str, pod: str, container: str) -> Path:
        folder = Path(base, self._name, pod, container)
        folder.parent.mkdir(exist_ok=True)
        if self._place is not None and self._place.unified:
            (folder.parent / "cgroup.subtree_control").write_text("+memory +cpu")
        # One per attempt would be cleaner, but a folder that was just left cannot always be removed at once.
        folder.mkdir(exist_ok=True)
        return folder
