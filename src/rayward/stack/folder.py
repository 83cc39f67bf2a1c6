"""The data folder: where everything of one local Rayward lies."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Folder:
    """Paths inside a data folder."""

    root: Path

    @property
    def kubeconfig(self) -> Path:
        """Written by the API server once it listens."""
        return self.root / "kubeconfig"

    @property
    def node(self) -> Path:
        """The pods of the node."""
        return self.root / "node"

    @property
    def logs(self) -> Path:
        """One log file for each part."""
        return self.root / "logs"

    @property
    def run(self) -> Path:
        """What is true only while the stack runs; gone after ``down``."""
        return self.root / "run"

    @property
    def lock(self) -> Path:
        """Held by the supervisor as long as it lives."""
        return self.root / "lock"

    @property
    def state(self) -> Path:
        """What the supervisor last said of its parts."""
        return self.run / "state.json"


def default_root() -> Path:
    """``RAYWARD_DATA_DIR``, or the user's data folder."""
    given = os.environ.get("RAYWARD_DATA_DIR")
    if given:
        return Path(given)
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "rayward"
