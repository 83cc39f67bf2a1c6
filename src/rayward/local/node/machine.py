"""What this machine has to give."""

from __future__ import annotations

import os
import platform
import shutil
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from rayward.kube.machinery import quantity
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.machinery.quantity import Quantity


class Shape(msgspec.Struct, frozen=True):
    """How much one simulated node has."""

    cpus: Quantity
    memory: Quantity
    gpus: int = 0
    storage: Quantity = quantity.parse("100Gi")

    def resources(self, pods: int) -> dict[str, str]:
        """As capacity and allocatable of a node."""
        found = {
            "cpu": str(self.cpus),
            "ephemeral-storage": str(self.storage),
            "memory": str(self.memory),
            "pods": str(pods),
        }
        if self.gpus:
            found["nvidia.com/gpu"] = str(self.gpus)
        return found


def own_shape(data: Path) -> Shape:
    """This machine; ``data`` is where pods keep their files."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024
    there = next(folder for folder in (data, *data.parents) if folder.exists())
    storage = shutil.disk_usage(there).total // 1024
    return Shape(
        quantity.parse(len(os.sched_getaffinity(0))),
        quantity.parse(f"{memory}Ki"),
        storage=quantity.parse(f"{storage}Ki"),
    )


def node_info() -> Object:
    """``status.nodeInfo``."""
    release = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "architecture": machine,
        "bootID": _read("/proc/sys/kernel/random/boot_id"),
        "containerRuntimeVersion": f"rayward://{_own_version()}",
        "kernelVersion": platform.release(),
        "kubeProxyVersion": "",
        "kubeletVersion": "v1.36.3-rayward",
        "machineID": _read("/etc/machine-id"),
        "operatingSystem": "linux",
        "osImage": release.get("PRETTY_NAME", "Linux"),
        "systemUUID": _read("/sys/class/dmi/id/product_uuid") or _read("/etc/machine-id"),
    }


@cache
def _own_version() -> str:
    try:
        return version("rayward")
    except PackageNotFoundError:
        # Run from its sources.
        return "0"


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
