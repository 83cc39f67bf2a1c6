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
_DEFAULTS: Final[Flags] = {"--nodes": ("1",), "--gpus": ("0",), _OPERATOR: ("rayward",)}


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


def remembered(path: Path, asked: Flags) -> Flags:
    """The flags of the last time that are not written now: a plain ``up`` after ``down`` is the same again."""
    before = read(path)
    if before is None or before.node is None:
        return {}
    kept: dict[str, tuple[str, ...]] = {}
    for flag, values in before.flags.items():
        # A folder that was deleted since is not asked for again.
        there = tuple(value for value in values if _is_there(flag, value))
        if flag not in asked and there and _DEFAULTS.get(flag) != there:
            kept[flag] = there
    return kept


def remembered_node(path: Path, gpus: int) -> list[str]:
    """Flags of a node that is as the last time, with at least so many GPUs, whoever makes Ray's kinds true."""
    kept = {"--nodes": ("1",), "--gpus": ("0",), **remembered(path, {_OPERATOR: ()})}
    (known,) = kept["--gpus"]
    return words({**kept, "--gpus": (str(max(gpus, int(known))),)})


def _is_there(flag: str, value: str) -> bool:
    if flag == "--image":
        return (Path(value.partition("=")[2]) / "bin").is_dir()
    return flag != "--project" or Path(value).is_dir()


def words(flags: Flags) -> list[str]:
    """Flags as words of a command."""
    return [word for flag in flags.items() for word in spelled(*flag)]


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
