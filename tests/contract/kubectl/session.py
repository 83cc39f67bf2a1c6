"""What a session is: files, and kubectl commands that run one after the other in a namespace of its own."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import yaml


@dataclass(frozen=True)
class Command:
    """One run of kubectl."""

    line: str  # its arguments, quoted as in a shell
    stdin: str = ""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    keep: str = ""  # the variable that holds what it printed
    shown: str = "all"  # of what it printed: all, stdout, fields (of explain), ours (kinds), nothing
    lines: int = 0  # of a watch: how many lines to wait for before it is ended
    during: Sequence[str] = ()  # of a watch: what runs once it prints
    patience: int = 0  # run again for so many seconds until it exits with 0

    def with_stdin(self, *objects: Any) -> Command:
        """The command, fed with these objects as YAML, or a text as it is."""
        return replace(self, stdin="\n---\n".join(_text(each) for each in objects))

    def keeping(self, name: str) -> Command:
        """The command, whose output becomes {name} in those after it."""
        return replace(self, keep=name)

    def with_env(self, **env: str) -> Command:
        """The command with environment variables."""
        return replace(self, env=env)

    def showing(self, what: str) -> Command:
        """The command with less of its output compared."""
        return replace(self, shown=what)

    def eventually(self, seconds: int = 20) -> Command:
        """The command, repeated until it succeeds: controllers take their time."""
        return replace(self, patience=seconds)


@dataclass(frozen=True)
class Session:
    """Commands that belong together."""

    name: str
    commands: tuple[Command, ...]
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    differs: str = ""  # why ours is not asked for the same output
    ours: Mapping[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])

    @property
    def digest(self) -> str:
        """Changes when the session changes."""
        content = {"commands": [asdict(command) for command in self.commands], "files": dict(self.files)}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def session(
    name: str,
    *commands: str | Command,
    files: Mapping[str, Any] | None = None,
    differs: str = "",
    ours: Mapping[int, Mapping[str, Any]] | None = None,
) -> Session:
    """A session of plain command lines and commands."""
    steps = tuple(command if isinstance(command, Command) else Command(command) for command in commands)
    return Session(name, steps, {path: _text(content) for path, content in (files or {}).items()}, differs, ours or {})


def run(line: str) -> Command:
    """A command."""
    return Command(line)


def watched(line: str, lines: int, *during: str | Command) -> Command:
    """A command that goes on until it printed so many lines; the others run after its first."""
    return Command(line, lines=lines, during=[each if isinstance(each, str) else each.line for each in during])


def status(target: str, **fields: Any) -> Command:
    """A patch of an object's status."""
    return patch(target, {"status": fields}, "--subresource=status --type=merge")


def patch(target: str, change: Any, flags: str = "--type=merge") -> Command:
    """A patch, by default a JSON merge patch."""
    return Command(f"patch {target} {flags} -p {shlex.quote(json.dumps(change))}")


def manifests(*objects: Any) -> str:
    """Objects as one YAML file."""
    return "\n---\n".join(_text(each) for each in objects)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False)
