"""The parts of a stack: what runs as a process of its own, and how it says that it is ready."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rayward.stack.folder import Folder

MACHINE_QUEUE = "default"
"""The queue that covers this machine: Ray objects join it by label ``rayward.dev/queue-name``."""


@dataclass(frozen=True, slots=True)
class Part:
    """One process of the stack."""

    name: str
    command: tuple[str, ...]
    ready: Path | None = None
    """A file that it writes once it is ready; without one it is ready when it runs."""
    essential: bool = True
    """Whether the stack is of no use without it."""
    spare: bool = False
    """Whether another part does its work already: it starts last, and nobody waits for it."""


def parts(folder: Folder, *, port: int, node: Sequence[str] | None, operator: bool) -> tuple[Part, ...]:
    """The parts in the order in which they start.

    ``node`` holds the node's own flags; None leaves out what runs pods. ``operator`` makes Ray's kinds true.
    """
    python = (sys.executable, "-m")
    data = ("--data-dir", str(folder.root))
    serving = (*python, "rayward.local.apiserver", *data, "--port", str(port))
    # the node mounts these folders, and hides the rest of its own from pods
    claims = ("--claims-folder", str(folder.node / "claims"))
    wanted = [
        Part("apiserver", serving, folder.kubeconfig),
        Part("controllers", (*python, "rayward.local.controllers", *_access(folder, "controllers"), *claims)),
    ]
    if node is not None:
        # also where the project folder is around it: whoever reads the store or the keys is the cluster's administrator
        place = (*_access(folder, "node"), "--data-dir", str(folder.node), "--hide", str(folder.root))
        wanted.append(Part("node", (*python, "rayward.local.node", *place, *node), folder.node / "ready"))
        beside = (*_access(folder, "traffic"), "--data-dir", str(folder.node))
        ready = folder.node / "traffic-ready"
        traffic = (*python, "rayward.local.traffic", *beside)
        wanted.append(Part("traffic", traffic, ready))
        # whichever of the two is killed, the other answers
        second = folder.node / "traffic-2-ready"
        again = (*traffic, "--ready-file", str(second))
        wanted.append(Part("traffic-2", again, second, essential=False, spare=True))
    if operator:
        ready = folder.run / "operator-ready"
        own = _access(folder, "operator")
        quota = ("--admission", "embedded", "--machine-queue", MACHINE_QUEUE)
        become = (*python, "rayward.stack.operator", *own, *quota, "--use-kubernetes-proxy", "--ready-file", str(ready))
        become = (*become, "--timeline-folder", str(folder.timeline))
        become = (*become, "--metrics-addr", "127.0.0.1:0", "--metrics-file", str(folder.operator_metrics))
        become = (*become, "--scrape-file", str(folder.ray_metrics))
        # as an administrator would: the kinds, the operator's rights, and then the operator with no more than those
        install = ("--kubeconfig", str(folder.kubeconfig), "--operator-kubeconfig", own[1])
        wanted.append(
            Part("operator", (*python, "rayward.stack.kinds", *install, "--", *become), ready, essential=False)
        )
    return tuple(wanted)


def _access(folder: Folder, part: str) -> tuple[str, str]:
    return "--kubeconfig", str(folder.kubeconfig_of(part))
