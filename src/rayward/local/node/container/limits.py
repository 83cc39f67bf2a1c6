"""A container's limits as programs read them, where the kernel does not keep them: a statement, no more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rayward.kube.machinery.podrequests import ZERO
from rayward.kube.machinery.quantity import Quantity
from rayward.local.node.cgroups import cpu_max, weight

_UNLIMITED: Final = "max"


def stated(limits: Mapping[str, Quantity], requests: Mapping[str, Quantity]) -> dict[str, str]:
    """The files of a unified control group that say so; none for a container without limits.

    Those that change with what the container does (``memory.current``, ``memory.stat``) are the pod's init's to write.
    """
    if not {"memory", "cpu"} & limits.keys():
        return {}
    memory = str(limits["memory"].as_int()) if "memory" in limits else _UNLIMITED
    lines = {
        "cgroup.controllers": "cpu memory",
        "cgroup.subtree_control": "",
        "cgroup.type": "domain",
        "cpu.max": cpu_max(limits.get("cpu")),
        "cpu.weight": str(weight(requests.get("cpu", ZERO))),
        "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0",
        "memory.high": _UNLIMITED,
        "memory.low": "0",
        "memory.max": memory,
        "memory.min": "0",
        "memory.swap.current": "0",
        "memory.swap.max": "0",
    }
    return {name: f"{line}\n" for name, line in lines.items()}
