"""Programs from Debian's packages, unpacked into the cache folder, which needs no root."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.kube.real.build import BuildError, folder


def unpacked(name: str, *packages: str) -> Path:
    """A folder like ``/usr`` with what these packages hold, made once per machine.

    Raises:
        BuildError: Debian's packages cannot be had; the text is one line that says why.
    """
    target = folder().parent / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _unpack(target, packages)
    return target


def _unpack(target: Path, packages: tuple[str, ...]) -> None:
    if not shutil.which("apt-get"):
        raise BuildError(f"tests need {target.name}, which is not installed, and there is no `apt-get` to get it with")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as scratch:
        place = Path(scratch)
        for name in ("lists/partial", "archives/partial", "unpacked"):
            (place / name).mkdir(parents=True)
        # Lists of our own: those of the system may be missing or old, and only root may renew them.
        own = ["-o", f"Dir::State::lists={place / 'lists'}", "-o", f"Dir::Cache={place}", "-o", "APT::Sandbox::User="]
        _run(target.name, ["apt-get", "-qq", *own, "update"], place)
        _run(target.name, ["apt-get", "-qq", *own, "download", *packages], place)
        for package in place.glob("*.deb"):
            _run(target.name, ["dpkg-deb", "-x", str(package), str(place / "unpacked")], place)
        (place / "unpacked" / "usr").replace(target)


def _run(what: str, command: list[str], place: Path) -> None:
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise BuildError(f"{what} cannot be had from Debian's packages: {said[-1] if said else command}")
