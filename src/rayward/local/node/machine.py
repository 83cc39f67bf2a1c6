"""What this machine has to give."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import msgspec

from rayward.kube.machinery import quantity
from rayward.kube.machinery.quantity import Quantity

Object = dict[str, Any]


class Shape(msgspec.Struct, frozen=True):
    """How much one simulated node has."""

    cpus: Quantity
    memory: Quantity
    gpus: int = 0

    def resources(self, pods: int) -> dict[str, str]:
        """As capacity and allocatable of a node."""
        found = {
            "cpu": str(self.cpus),
            "ephemeral-storage": "100Gi",
            "memory": str(self.memory),
            "pods": str(pods),
        }
        if self.gpus:
            found["nvidia.com/gpu"] = str(self.gpus)
        return found


def own_shape() -> Shape:
    """This machine."""
    kibibytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024
    return Shape(quantity.parse(len(os.sched_getaffinity(0))), quantity.parse(f"{kibibytes}Ki"))


def node_info() -> Object:
    """``status.nodeInfo``."""
    release = platform.freedesktop_os_release() if Path("/etc/os-release").exists() else {}
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "architecture": machine,
        "bootID": _read("/proc/sys/kernel/random/boot_id"),
        "containerRuntimeVersion": "rayward://0.1.0",
        "kernelVersion": platform.release(),
        "kubeProxyVersion": "",
        "kubeletVersion": "v1.36.3-rayward",
        "machineID": _read("/etc/machine-id"),
        "operatingSystem": "linux",
        "osImage": release.get("PRETTY_NAME", "Linux"),
        "systemUUID": "",
    }


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
