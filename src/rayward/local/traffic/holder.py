"""Who listens at a port of this machine, as far as this process may know."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_LISTENING: Final = "0A"


def holder_of(port: int) -> str:
    """The process that has a TCP port, in words."""
    inodes = _inodes(port)
    for entry in Path("/proc").iterdir() if inodes else ():
        if not entry.name.isdigit():
            continue
        try:
            links = [str(link.readlink()) for link in (entry / "fd").iterdir()]
            name = (entry / "comm").read_text().strip()
        except OSError:
            continue
        if any(link in inodes for link in links):
            return f"process {entry.name} ({name})"
    return "another process"


def _inodes(port: int) -> set[str]:
    found: set[str] = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(f"socket:[{fields[9]}]")
    return found
