"""The parts of a stack: what runs as a process of its own, and what must be up before it."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from rayward.stack.folder import Folder


@dataclass(frozen=True, slots=True)
class Part:
    """One process of the stack."""

    name: str
    command: tuple[str, ...]


def parts(folder: Folder, *, port: int) -> tuple[Part, ...]:
    """The parts of the control plane, in the order in which they start."""
    python = (sys.executable, "-m")
    data = ("--data-dir", str(folder.root))
    return (
        Part("apiserver", (*python, "rayward.local.apiserver", *data, "--port", str(port))),
        Part("controllers", (*python, "rayward.local.controllers", "--kubeconfig", str(folder.kubeconfig))),
    )
