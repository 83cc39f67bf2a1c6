"""The parts of a stack: what runs as a process of its own, and what must be up before it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rayward.stack.folder import Folder


@dataclass(frozen=True, slots=True)
class Part:
    """One process of the stack."""

    name: str
    command: tuple[str, ...]


def parts(folder: Folder, *, port: int, node: Sequence[str] | None) -> tuple[Part, ...]:
    """The parts in the order in which they start; ``node`` holds the node's own flags, None leaves it out."""
    python = (sys.executable, "-m")
    data = ("--data-dir", str(folder.root))
    server = ("--kubeconfig", str(folder.kubeconfig))
    wanted = [
        Part("apiserver", (*python, "rayward.local.apiserver", *data, "--port", str(port))),
        Part("controllers", (*python, "rayward.local.controllers", *server)),
    ]
    if node is not None:
        # pods see files of this machine, but never the keys to the server
        place = ("--data-dir", str(folder.node), "--hide", str(folder.root / "pki"))
        wanted.append(Part("node", (*python, "rayward.local.node", *server, *place, *node)))
    return tuple(wanted)
