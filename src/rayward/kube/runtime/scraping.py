"""Where a process serves its metrics, as a file that Prometheus' file-based service discovery reads.

A process that takes any free port has another one after a restart; Prometheus follows the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec


class Target(msgspec.Struct, frozen=True):
    """Addresses to scrape, and what is known of them."""

    targets: list[str]
    labels: dict[str, str] = {}


def write_targets(path: Path, targets: Sequence[Target]) -> None:
    """Tell what there is to scrape, whole or not at all."""
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(msgspec.json.encode(targets))
    temporary.replace(path)


def write_target(path: Path, address: tuple[str, int], part: str) -> None:
    """Tell where ``part`` serves ``/metrics``."""
    host, port = address
    write_targets(path, [Target([f"{host}:{port}"], {"part": part})])


def read_target(path: Path) -> str:
    """The address of the page; empty where nobody serves one."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=list[Target])
        return f"http://{found[0].targets[0]}/metrics"
    except (OSError, msgspec.DecodeError, IndexError):
        return ""
