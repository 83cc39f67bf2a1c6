"""Puts the files of a volume in place so that readers see all of a change or nothing of it."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Final

from rayward.local.node.volumes.content import File, Files

_CURRENT: Final = "..data"


def write(folder: Path, files: Files) -> bool:
    """Make ``folder`` show ``files``, as kubelets do: links to a folder that is swapped. Returns whether it changed."""
    folder.mkdir(parents=True, exist_ok=True)
    current = folder / _CURRENT
    if current.is_symlink() and _read(current) == files:
        return False
    fresh = folder / f"..{time.strftime('%Y_%m_%d_%H_%M_%S', time.gmtime())}.{time.time_ns() % 10**9}"
    for path, file in files.items():
        target = fresh / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.data)
        target.chmod(file.mode)
    fresh.mkdir(exist_ok=True)
    draft = folder / "..data_tmp"
    draft.unlink(missing_ok=True)
    draft.symlink_to(fresh.name)
    draft.replace(current)
    _link(folder, files)
    for stale in folder.glob("..[0-9]*"):
        # The one before, and what a node that was killed at this left.
        if stale.name != fresh.name:
            shutil.rmtree(stale, ignore_errors=True)
    return True


def _link(folder: Path, files: Files) -> None:
    wanted = {path.partition("/")[0] for path in files}
    for entry in folder.iterdir():
        if not entry.name.startswith("..") and entry.name not in wanted:
            entry.unlink()
    for name in wanted:
        link = folder / name
        if not link.is_symlink():
            link.symlink_to(f"{_CURRENT}/{name}")


def _read(current: Path) -> Files:
    found: Files = {}
    top = current.resolve()
    for path in top.rglob("*"):
        if path.is_file():
            found[str(path.relative_to(top))] = File(path.read_bytes(), path.stat().st_mode & 0o777)
    return found
