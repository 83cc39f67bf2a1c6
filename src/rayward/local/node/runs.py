"""The runs of containers, read back from what was recorded of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import orjson

from rayward.local.node.folders import PodFolder
from rayward.local.node.pod.facts import Backoff, Container, Run

LOST = "The container could not be located when the pod was terminated"


class _Spec(msgspec.Struct):
    backoff: Backoff = Backoff()
    sandbox: int = 0
    graphics: tuple[int, ...] = ()
    image: str = ""


_SPECS = msgspec.json.Decoder(_Spec)


def recorded(folder: PodFolder, name: str, sandbox: int, *, running: frozenset[int], now: float) -> Container:
    """What the folder knows of a container; runs that neither live nor left an exit record were lost."""
    place = folder.container(name)
    attempts = _attempts(place)
    if attempts and attempts[-1] not in running and not _began(place, attempts[-1]):
        # The node died between writing this down and asking for it: it is as if it had never been decided.
        attempts.pop()
    if not attempts:
        return Container()
    latest = attempts[-1]
    spec = _SPECS.decode((place / f"{latest}.json").read_bytes())
    run = _run(place, latest, alive=latest in running, now=now, stale=spec.sandbox != sandbox)
    previous = _run(place, latest - 1, alive=False, now=now, stale=True) if latest - 1 in attempts else None
    return Container(run=msgspec.structs.replace(run, image=spec.image), previous=previous, backoff=spec.backoff)


def forget(folder: PodFolder, name: str, oldest: int) -> None:
    """Remove what is left of a container's runs before ``oldest``, and their logs."""
    for place in (folder.container(name), folder.log(name, oldest).parent):
        for path in list(place.iterdir()) if place.is_dir() else ():
            attempt = path.name.partition(".")[0]
            if not attempt.isdecimal() or int(attempt) >= oldest:
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def graphics(folder: PodFolder) -> dict[str, tuple[int, ...]]:
    """The GPUs of those containers of a living pod that left no exit record."""
    held: dict[str, tuple[int, ...]] = {}
    for place in folder.containers():
        attempts = _attempts(place)
        if attempts and not (place / f"{attempts[-1]}.exit").exists():
            held[place.name] = _SPECS.decode((place / f"{attempts[-1]}.json").read_bytes()).graphics
    return held


def _attempts(place: Path) -> list[int]:
    return sorted(int(path.stem) for path in place.glob("*.json")) if place.is_dir() else []


def _began(place: Path, attempt: int) -> bool:
    return any((place / f"{attempt}.{kind}").exists() for kind in ("started", "exit"))


def _run(place: Path, attempt: int, *, alive: bool, now: float, stale: bool) -> Run:
    started = _number(place / f"{attempt}.started")
    exit_record = place / f"{attempt}.exit"
    if exit_record.exists():
        return from_record(orjson.loads(exit_record.read_bytes()), stale=stale, message=termination(place, attempt))
    if alive:
        return Run(attempt, started=started, stale=stale)
    return Run(
        attempt, started=started, ended=now, code=137, reason="ContainerStatusUnknown", message=LOST, stale=stale
    )


def from_record(record: dict[str, Any], *, stale: bool = False, message: str = "") -> Run:
    """A run that ended, as the pod's init told."""
    return Run(
        record["attempt"],
        started=record.get("started") or None,
        ended=record["at"],
        code=record["code"],
        failed=record.get("failed", ""),
        reason=record.get("reason", ""),
        message=message,
        stale=stale,
    )


def termination(place: Path, attempt: int) -> str:
    """The message that a container left."""
    try:
        with (place / f"{attempt}.message").open("rb") as file:
            return file.read(4096).decode(errors="replace")
    except FileNotFoundError:
        return ""


def _number(path: Path) -> float | None:
    try:
        return float(path.read_text())
    except (FileNotFoundError, ValueError):
        return None
