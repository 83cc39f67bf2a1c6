"""Waiting for something that happens in another process: never for a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable

_PATIENCE = 120.0


def eventually(holds: Callable[[], bool], patience: float = _PATIENCE) -> None:
    """Return once ``holds`` is true; an error it raises means not yet."""
    deadline = time.monotonic() + patience
    failure: Exception | None = None
    while time.monotonic() < deadline:
        # An error that is kept keeps what it came from, such as a connection, until the next garbage collection.
        failure = None
        try:
            if holds():
                return
        except Exception as error:
            failure = error
        time.sleep(0.02)
    raise AssertionError(f"did not become true in {patience:.0f} s") from failure
