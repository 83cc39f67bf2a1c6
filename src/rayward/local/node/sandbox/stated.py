"""Limits that are only stated: the files a container reads them from, with what it uses kept up to date."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

PERIOD: Final = 1.0
"""Seconds between two looks: Ray ends workers by these numbers, and memory does not fill up faster than it looks."""
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Lay out the files of one run."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(content)
    update(folder, 0, 0)


def update(folder: Path, private: int, shared: int) -> None:
    """Say what is used, in bytes: memory of processes, and files in memory."""
    stat = {"anon": private, "file": shared, "shmem": shared, "inactive_file": 0, "active_file": 0}
    _replace(folder / "memory.current", f"{private + shared}\n")
    _replace(folder / "memory.stat", "".join(f"{name} {amount}\n" for name, amount in stat.items()))


def private_memory(init: int) -> int:
    """The memory that the processes of a container have to themselves; ``init`` is the first of them."""
    # Its own /proc shows its processes and no others.
    folder = f"/proc/{init}/root/proc"
    pages = 0
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):  # noqa: PTH208
            if name.isdigit():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    _, resident, mapped, *_ = Path(folder, name, "statm").read_bytes().split()
                    pages += int(resident) - int(mapped)
    return pages * _PAGE


def shared_memory(folder: str) -> int:
    """What lies in the pod's shared memory; it counts for every container, for nobody knows whose it is."""
    found = os.statvfs(folder)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def _replace(path: Path, content: str) -> None:
    # A reader must never see half of it; it is in memory, so this costs little.
    new = path.with_name(f".{path.name}")
    new.write_text(content)
    new.replace(path)
