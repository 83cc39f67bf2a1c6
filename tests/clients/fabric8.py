"""`samples/fabric8`, built with Maven where there is Java."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

_PATIENCE: Final = 400
_UNREACHABLE: Final = (
    "Could not transfer artifact",
    "Unknown host",
    "Connection refused",
    "Connect timed out",
    "failure was cached",
)


def command(samples: Path) -> list[str]:
    """How to start it; where it cannot be had on this machine the test says why and is skipped."""
    for tool in ("java", "mvn"):
        if not shutil.which(tool):
            pytest.skip(f"samples/fabric8 needs Java 17 and Maven, and there is no `{tool}` on PATH")
    folder = samples / "fabric8"
    with (folder / "pom.xml").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        build = ["mvn", "--quiet", "--batch-mode", "package"]
        try:
            built = subprocess.run(build, cwd=folder, capture_output=True, text=True, check=False, timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            pytest.skip(f"samples/fabric8 cannot be built: Maven has not had its artifacts in {_PATIENCE} s")
    if built.returncode:
        for line in built.stdout.splitlines():
            if any(sign in line for sign in _UNREACHABLE):
                pytest.skip(f"samples/fabric8 cannot be built: Maven's repository cannot be reached ({line.strip()})")
    assert built.returncode == 0, built.stdout
    classes = f"{folder / 'target' / 'classes'}:{folder / 'target' / 'lib'}/*"
    return ["java", "-cp", classes, "dev.rayward.samples.Playbook", str(samples)]
