"""What a rule finds in the evidence, and how it is said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from rayward.changes.why.evidence import Evidence
from rayward.kube.machinery.jsonvalue import Object, section

_LONGEST: Final = 600


@dataclass(frozen=True, slots=True)
class Match:
    """What a rule found: words for its sentences, and the lines that show it."""

    lines: tuple[str, ...] = ()
    words: dict[str, str] = field(default_factory=dict[str, str])


def told(condition: Object) -> Match:
    """A condition, as a line of evidence."""
    line = f"{condition.get('type')}={condition.get('status')} {condition.get('reason')}"
    return Match((joined(line, condition.get("message")),))


def joined(line: str, message: Any) -> str:
    """A line, with what was said about it."""
    return short(f"{line}: {message}") if message else line


def short(text: str) -> str:
    """A text that fits on a screen."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def last_exit(container: Object) -> tuple[str, ...]:
    """How the container ended before."""
    ended = section(section(container, "lastState"), "terminated")
    return (f"last exit code {ended.get('exitCode')}",) if ended else ()


def warnings(evidence: Evidence, most: int) -> list[str]:
    """The last warnings about the object, as lines of evidence."""
    return [short(f"{one.get('reason')}: {one.get('message')}") for one in evidence.events[-most:]]


def about(pod: Object) -> dict[str, str]:
    """The pod's name, for the sentences of a rule."""
    return {"pod": name_of(pod)}


def name_of(obj: Object) -> str:
    """The name of an object."""
    return str(section(obj, "metadata").get("name") or "")
