"""The data folder: where everything of one local Rayward lies."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Folder:
    """Paths inside a data folder."""

    root: Path

    @property
    def kubeconfig(self) -> Path:
        """The administrator's, written by the API server once it listens."""
        return self.root / "kubeconfig"

    def kubeconfig_of(self, part: str) -> Path:
        """The kubeconfig of a part of the stack, with its own rights; beside the keys, where no pod sees it."""
        return self.root / "pki" / f"{part}.kubeconfig"

    @property
    def port(self) -> Path:
        """Where the API server writes its port, for its next start."""
        return self.root / "port"

    @property
    def node(self) -> Path:
        """The pods of the node."""
        return self.root / "node"

    @property
    def logs(self) -> Path:
        """One log file for each part."""
        return self.root / "logs"

    @property
    def timeline(self) -> Path:
        """What happened to Ray's objects, as the operator's process recorded it."""
        return self.root / "timeline"

    @property
    def settings(self) -> Path:
        """What the stack was last started with; it outlives ``down`` and a crash."""
        return self.root / "settings.json"

    @property
    def run(self) -> Path:
        """What is true only while the stack runs; gone after ``down``."""
        return self.root / "run"

    @property
    def monitoring(self) -> Path:
        """What Prometheus and Grafana read: how to scrape this stack, alert rules, dashboards."""
        return self.root / "monitoring"

    @property
    def operator_metrics(self) -> Path:
        """Where the operator tells the address of its metrics."""
        return self.run / "operator-metrics.json"

    @property
    def traffic_metrics(self) -> Path:
        """Where the traffic tells the address of its metrics."""
        return self.node / "traffic-metrics.json"

    @property
    def ray_metrics(self) -> Path:
        """Where the operator tells of Ray's pods and their metrics."""
        return self.run / "ray-metrics.json"

    @property
    def lock(self) -> Path:
        """Held by the supervisor as long as it lives."""
        return self.root / "lock"

    @property
    def state(self) -> Path:
        """What the supervisor last said of its parts."""
        return self.run / "state.json"


_OWN = (
    "store.db*",
    "settings.json",
    "pki",
    "node",
    "logs",
    "timeline",
    "monitoring",
    "run",
    "port",
    "kubeconfig",
    ".kubeconfig.*",
    ".port.*",
    "lock",
)


def wipe(folder: Folder) -> None:
    """Remove what Rayward keeps in a folder, and the folder if nothing else is in it."""
    if not folder.lock.exists():
        # no supervisor ever ran here: whatever lies here is not ours
        return
    for path in [found for pattern in _OWN for found in folder.root.glob(pattern)]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.root.rmdir()


def default_root() -> Path:
    """``RAYWARD_DATA_DIR``, or the user's data folder."""
    given = os.environ.get("RAYWARD_DATA_DIR")
    if given:
        return Path(given)
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "rayward"
