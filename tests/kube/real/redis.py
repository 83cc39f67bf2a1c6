"""A real Redis: this machine's, or Debian's packages."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from tests.kube.real.debian import unpacked

_PACKAGES: Final = ("redis-server", "redis-tools", "libjemalloc2", "liblzf1", "libatomic1")


def environment() -> Path:
    """A folder with ``bin/redis-server`` that can stand for an image.

    Raises:
        BuildError: There is none and Debian's packages cannot be had; the text is one line that says why.
    """
    installed = shutil.which("redis-server")
    return Path(installed).parents[1] if installed else unpacked("redis", *_PACKAGES)


def libraries(found: Path) -> str:
    """Where its libraries lie, for LD_LIBRARY_PATH."""
    return ":".join(str(place) for place in found.glob("lib/*-linux-gnu*"))
