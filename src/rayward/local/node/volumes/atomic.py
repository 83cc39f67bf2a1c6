"""Puts the files of a volume in place so that readers see all of a change or nothing of it."""

from __future__ import annotations

import os
import re
import shutil
import stat
import time
from pathlib import Path
from typing import Final

from rayward.local.node.volumes.content import File, Files

_CURRENT: Final = "..data"
_OURS: Final = re.compile(r"\.\.\d{4}(_\d\d){5}\.\d+")


def write(folder: Path, files: Files) -> bool:
    """Make ``folder`` show ``files``, as kubelets do: links to a folder that is swapped. Returns whether it changed."""
    folder.mkdir(parents=True, exist_ok=True)
    current = _current(folder)
    if current is not None and _holds(current, files):
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
    draft.replace(folder / _CURRENT)
    _link(folder, files)
    for stale in folder.glob("..[0-9]*"):
        # The one before, and what a node that was killed at this left.
        if stale.name != fresh.name:
            shutil.rmtree(stale, ignore_errors=True)
    return True


def _link(folder: Path, files: Files) -> None:
    wanted = {path.partition("/")[0] for path in files}
    for entry in folder.iterdir():
        if not entry.name.startswith("..") and not (entry.name in wanted and entry.is_symlink()):
            _remove(entry)
    for name in wanted:
        link = folder / name
        if not link.is_symlink():
            link.symlink_to(f"{_CURRENT}/{name}")


def _remove(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        # Made for a container that mounted a part that was not there.
        shutil.rmtree(entry)
    else:
        entry.unlink()


def _current(folder: Path) -> Path | None:
    """The folder whose files show; None if the link to it is not one of ours, or leads nowhere."""
    try:
        name = str((folder / _CURRENT).readlink())
    except OSError:
        return None
    found = folder / name
    return found if _OURS.fullmatch(name) and found.is_dir() and not found.is_symlink() else None


def _holds(folder: Path, files: Files) -> bool:
    """Whether ``files`` and no others are in a folder. Follows no link, and reads nothing of another size."""
    found = {str(Path(place, name).relative_to(folder)) for place, _, names in os.walk(folder) for name in names}
    return found == files.keys() and all(_is(folder / path, file) for path, file in files.items())


def _is(path: Path, file: File) -> bool:
    status = path.lstat()
    alike = stat.S_ISREG(status.st_mode) and (status.st_mode & 0o777, status.st_size) == (file.mode, len(file.data))
    return alike and path.read_bytes() == file.data
