"""How simulated applications behave, and how long Ray takes."""

from __future__ import annotations

from typing import Any

import msgspec


class Behaviour(msgspec.Struct, frozen=True):
    """What happens when Serve imports a path and runs what it finds."""

    word: str = "hello"
    deployment: str = "Greeter"
    num_replicas: int = 1
    cpus: float = 1.0
    grouped: bool = False
    """Whether it asks for its CPUs by a placement group, and not by its actor options."""
    build_error: str = ""
    """The last line of the traceback."""
    constructor_error: str = ""
    hangs: bool = False
    sick_after: float | None = None
    """Seconds after which health checks fail."""
    environment: dict[str, Any] = {}
    """The runtime environment it was deployed with: another one is other code."""
    build_seconds: float = 1.0
    start_seconds: float = 0.8
    stop_seconds: float = 2.1


class Timings(msgspec.Struct, frozen=True):
    """Ray's own times, as they were on the machine of the recording."""

    tick: float = 0.1
    serve_start: float = 2.0
    """How long the first configuration takes to be answered."""
    put: float = 0.02
    get: float = 0.01
    shutdown: float = 1.0
    slow_startup: float = 30.0
    graceful_shutdown: float = 20.0
    """How long a replica may take to stop that was never up."""


TIMINGS = Timings()
