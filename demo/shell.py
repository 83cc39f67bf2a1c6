"""Commands as a user types them, shown with what they print."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent.resolve()
FOLDER = ROOT / ".cache" / "demo"
_BIN = Path(sys.executable).parent


def show(text: str) -> None:
    """Print at once."""
    print(text, flush=True)


def rayward(*words: str, given: str = "", quiet: bool = False, code: int = 0) -> str:
    """Run ``rayward``, which is to end with ``code``; returns its answer."""
    return run([sys.executable, "-m", "rayward.cli"], "rayward", *words, given=given, quiet=quiet, code=code)


def ray(*words: str, token: str) -> str:
    """Run Ray's own command line, from this shell, with a cluster's token."""
    secret = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
    return run([str(_BIN / "ray")], "ray", *words, more=secret)


def run(
    program: list[str],
    name: str,
    *words: str,
    given: str = "",
    quiet: bool = False,
    more: dict[str, str] | None = None,
    code: int = 0,
) -> str:
    """Run a program; the demo ends where it does not end with ``code``."""
    if not quiet:
        show(f"\n$ {name} {' '.join(_quoted(word) for word in words)}")
    environment = {**os.environ, **(more or {})}
    done = subprocess.run(
        [*program, *words], input=given, stdout=subprocess.PIPE, text=True, check=False, env=environment
    )
    if not quiet:
        show(done.stdout.rstrip())
    if done.returncode != code:
        raise SystemExit(f"error: `{name} {' '.join(words)}` ended with {done.returncode}\n  next: rayward status")
    return done.stdout


def until(holds: Callable[[], bool], what: str, following: str, *, patience: float = 300.0) -> None:
    """Wait; the demo ends where it takes too long, and says what to look at."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > patience:
            raise SystemExit(f"error: {what}: not after {patience:.0f} s\n  next: {following}")
        time.sleep(0.2)


def _quoted(word: str) -> str:
    return f"'{word}'" if " " in word else word
