"""What a head answered while the script was played."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any, Final

import msgspec
import orjson

RECORDED: Final = Path(__file__).parent / "recorded"

_ID: Final = re.compile(r"\b[0-9a-f]{56}\b|\b[0-9a-f]{32}\b")
_REPLICA: Final = re.compile(r"\b[a-z0-9]{8}\b")
_PLACE: Final = re.compile(r"(/[\w.+-]+)+/(?=(site-packages|lib/python[\d.]+|apps)/)")
_PROCESS: Final = re.compile(
    r"(?<=pid=)\d+|(?<=ip=)[\d.]+|\b0x[0-9a-f]+\b|(?<=line )\d+|(?<='port': )\d+|(?<=session_)[\d_-]+"
)
_MASKED: Final = frozenset({"last_deployed_time_s", "start_time_s", "pid", "port", "log_file_path"})


class Sample(msgspec.Struct, frozen=True):
    """What GET answered, ``at`` seconds after the PUT was answered; later samples were equal until the next one."""

    at: float
    answer: dict[str, Any]


class Played(msgspec.Struct, frozen=True):
    """One step."""

    name: str
    status: int
    text: str
    samples: tuple[Sample, ...] = ()
    visits: dict[str, tuple[int, str]] = {}
    """What the Serve proxy answered at the end, by path."""


class Answered(msgspec.Struct, frozen=True):
    """One question."""

    name: str
    status: int
    text: str


class Trace(msgspec.Struct, frozen=True):
    """All of it."""

    ray_version: str
    questions: tuple[Answered, ...]
    steps: tuple[Played, ...]

    def step(self, name: str) -> Played:
        return next(step for step in self.steps if step.name == name)


def load(name: str = "serve") -> Trace:
    return msgspec.json.decode(gzip.decompress((RECORDED / f"{name}.json.gz").read_bytes()), type=Trace)


def save(trace: Trace, name: str = "serve") -> None:
    RECORDED.mkdir(exist_ok=True)
    (RECORDED / f"{name}.json.gz").write_bytes(gzip.compress(msgspec.json.encode(trace), 9, mtime=0))


def normal_text(text: str) -> str:
    """A text without what differs from run to run."""
    return _PROCESS.sub("N", _PLACE.sub(".../", _ID.sub("ID", text)))


def normal(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer of GET without what differs from run to run."""
    masked = _masked(answer)
    if masked.get("controller_health_metrics"):
        masked["controller_health_metrics"] = {}
    return masked


def _masked(value: Any, key: str = "") -> Any:
    if key in _MASKED and value is not None:
        return "" if isinstance(value, str) else 0
    if isinstance(value, dict):
        return {_name(name): _masked(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner) for inner in value]
    if not isinstance(value, str):
        return value
    return _REPLICA.sub("replica", value) if key in ("replica_id", "actor_name") else normal_text(value)


def _name(key: str) -> str:
    return _ID.sub("ID", key)


def as_json(body: bytes) -> dict[str, Any]:
    return orjson.loads(body)
