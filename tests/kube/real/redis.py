"""A real Redis: this machine's, or Debian's packages unpacked into the cache folder, which needs no root."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.kube.real.build import BuildError, folder

_PACKAGES: Final = ("redis-server", "redis-tools", "libjemalloc2", "liblzf1", "libatomic1")


def environment() -> Path:
    """A folder with ``bin/redis-server`` that can stand for an image.

    Raises:
        BuildError: There is none and Debian's packages cannot be had; the text is one line that says why.
    """
    installed = shutil.which("redis-server")
    if installed:
        return Path(installed).parents[1]
    target = folder().parent / "redis"
    if not (target / "bin" / "redis-server").exists():
        _unpack(target)
    return target


def libraries(found: Path) -> str:
    """Where its libraries lie, for LD_LIBRARY_PATH."""
    return ":".join(str(place) for place in found.glob("lib/*-linux-gnu*"))


def _unpack(target: Path) -> None:
    if not shutil.which("apt-get"):
        raise BuildError("the tests of fault tolerance need Redis, and there is neither `redis-server` nor `apt-get`")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".redis-") as scratch:
        place = Path(scratch)
        for name in ("lists/partial", "archives/partial", "unpacked"):
            (place / name).mkdir(parents=True)
        # Lists of our own: those of the system may be missing or old, and only root may renew them.
        own = ["-o", f"Dir::State::lists={place / 'lists'}", "-o", f"Dir::Cache={place}", "-o", "APT::Sandbox::User="]
        _run(["apt-get", "-qq", *own, "update"], place)
        _run(["apt-get", "-qq", *own, "download", *_PACKAGES], place)
        for package in place.glob("*.deb"):
            _run(["dpkg-deb", "-x", str(package), str(place / "unpacked")], place)
        (place / "unpacked" / "usr").replace(target)


def _run(command: list[str], place: Path) -> None:
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise BuildError(f"Redis cannot be had from Debian's packages: {said[-1] if said else command}")
