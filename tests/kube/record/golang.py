"""Runs our small Go programs and asks for module folders, in the Go module that pins the real components."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.kube.real import build


def run(program: str, *arguments: str, text: str = "") -> str:
    """What a Go program of ours prints when it is given ``text``."""
    return _go("run", "-buildvcs=false", program, *arguments, text=text)


def modules(names: Iterable[str]) -> dict[str, Path]:
    """Where the pinned versions of modules lie."""
    listed = _go("list", "-m", "-f", "{{.Path}} {{.Dir}}", *names)
    pairs = (line.split(" ", 1) for line in listed.splitlines())
    return {name: Path(folder) for name, folder in pairs}


def _go(*arguments: str, text: str = "") -> str:
    done = subprocess.run(
        ["go", *arguments],
        cwd=build.HERE,
        env={**os.environ, "CGO_ENABLED": "0"},
        input=text,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout
