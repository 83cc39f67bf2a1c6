"""Running ``rayward`` in tests: in this process where that shows the same, as a program where it does not."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rayward.cli.main import invoke


@dataclass(frozen=True)
class Done:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Rayward:
    """The command line on one stack and namespace."""

    folder: Path
    namespace: str

    def __call__(self, verb: str, *arguments: str, stdin: str = "") -> Done:
        """Run to the end."""
        return run(*self.words(verb, *arguments), stdin=stdin)

    def program(self, verb: str, *arguments: str) -> Done:
        """Run to the end as a program of its own."""
        command = [sys.executable, "-m", "rayward.cli", *self.words(verb, *arguments)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return Done(done.returncode, done.stdout, done.stderr)

    def words(self, verb: str, *arguments: str) -> list[str]:
        """The whole command line; what comes after ``--`` is a program's."""
        return [verb, "-n", self.namespace, "--data-dir", str(self.folder), *arguments]

    @contextlib.contextmanager
    def process(self, verb: str, *arguments: str) -> Generator[subprocess.Popen[str]]:
        """Run as a program, killed at the end."""
        command = [sys.executable, "-m", "rayward.cli", *self.words(verb, *arguments)]
        pipe = subprocess.PIPE
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment) as running:
            try:
                yield running
            finally:
                running.kill()


def run(*arguments: str, stdin: str = "") -> Done:
    """Run a command in this process."""
    given = io.TextIOWrapper(io.BytesIO(stdin.encode()))
    out, err = io.TextIOWrapper(io.BytesIO(), write_through=True), io.TextIOWrapper(io.BytesIO(), write_through=True)
    before = sys.stdin
    sys.stdin = given
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = invoke(arguments)
    finally:
        sys.stdin = before
    return Done(code, _said(out), _said(err))


def _said(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
