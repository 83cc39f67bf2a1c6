"""What a stack was started with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

Flags = Mapping[str, tuple[str, ...]]
"""Flags of ``rayward up`` and their values; one that has none has an empty tuple."""

_API_ONLY: Final = "--api-only"
_OPERATOR: Final = "--operator"


class Settings(msgspec.Struct, frozen=True):
    """How the parts of a stack were chosen."""

    node: tuple[str, ...] | None = None
    """Flags of the node, each with a value; None where nothing runs pods."""
    operator: bool = False

    @property
    def flags(self) -> Flags:
        """The same as flags of ``rayward up``."""
        return {
            **({_API_ONLY: ()} if self.node is None else paired(self.node)),
            _OPERATOR: ("rayward" if self.operator else "none",),
        }


def write(path: Path, settings: Settings) -> None:
    """Remember them for the next start, whole or not at all."""
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(msgspec.json.encode(settings))
    temporary.replace(path)


def read(path: Path) -> Settings | None:
    """Those of the last start; None where there was none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Settings)
    except (OSError, msgspec.DecodeError):
        return None


def paired(words: Iterable[str]) -> Flags:
    """Flags that each have a value, of which some may be repeated."""
    found: dict[str, tuple[str, ...]] = {}
    words = iter(words)
    for name, value in zip(words, words, strict=True):
        found[name] = (*found.get(name, ()), value)
    return found


def spelled(name: str, values: tuple[str, ...]) -> list[str]:
    """A flag as words of a command."""
    return [word for value in values for word in (name, value)] or [name]


def differing(asked: Flags, known: Flags) -> dict[str, str]:
    """The flags that are asked for and not in force, each with what is; ``known`` are those of a running stack."""
    told: dict[str, str] = {}
    for name, values in asked.items():
        if name in known and sorted(known[name]) == sorted(values):
            continue
        if name in known:
            instead = " ".join(spelled(name, known[name]))
        elif name == _API_ONLY:
            instead = "what runs pods"
        else:
            instead = _API_ONLY if _API_ONLY in known else "the default"
        told[" ".join(spelled(name, values))] = instead
    return told
