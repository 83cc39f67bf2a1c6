"""Text to plain values, with the place of each: YAML as Kubernetes reads it, without recursion and within limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, cast

import yaml

from rayward.kinds.serveconfig.finding import Finding, Path, ServeConfigError
from rayward.kube.machinery.yamlscalar import scalar

MAX_CHARACTERS: Final = 1024 * 1024
MAX_DEPTH: Final = 64
MAX_VALUES: Final = 50_000

_Loader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG: Final = "tag:yaml.org,2002:"
_TEXTS: Final = (f"{_TAG}str", f"{_TAG}binary", f"{_TAG}timestamp", "!")
_KNOWN_TAGS: Final = tuple(f"{_TAG}{name}" for name in ("int", "float", "bool", "null", "map", "seq", "merge"))
_MERGE: Final = "<<"

_python: Final = re.compile(
    r"^(?:import [A-Za-z_][\w.]*(?: as \w+)?\s*$|from [A-Za-z_.][\w.]* import |def \w+\(|class \w+[:(]|@\w+[\w.]*|"
    r"\w+ = \w+[\w.]*\()",
    re.MULTILINE,
).search


@dataclass(slots=True)
class Reading:
    """What a text says."""

    value: Any = None
    places: dict[Path, tuple[int, int]] = field(default_factory=dict[Path, tuple[int, int]])
    repeated: list[tuple[Path, tuple[int, int]]] = field(default_factory=list[tuple[Path, tuple[int, int]]])

    def place(self, path: Path) -> tuple[int, int]:
        """Where something was written, or what it lies in; (0, 0) where no text was given."""
        while path not in self.places:
            if not path:
                return (0, 0)
            path = path[:-1]
        return self.places[path]


def read(text: str, *, may_be_program: bool = True) -> Reading:
    """The first and only document of a text.

    Args:
        text: YAML.
        may_be_program: Whether a text that is no YAML is looked at for Python source, to say so.

    Raises:
        ServeConfigError: It is no YAML, more than one document, or more than fits a configuration.
    """
    if len(text) > MAX_CHARACTERS:
        raise _error(f"{len(text)} characters are more than the {MAX_CHARACTERS} that a configuration may have", 1, 1)
    builder = _Builder()
    try:
        for event in cast("Iterator[Any]", yaml.parse(text, Loader=_Loader)):  # pyright: ignore[reportUnknownMemberType]
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        if may_be_program and (source := python_source(text)):
            raise ServeConfigError([source]) from None
        raise _unreadable(error, text) from None
    except yaml.YAMLError as error:
        position = getattr(error, "position", 0)
        before = text[: position if isinstance(position, int) else 0]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        reason = getattr(error, "reason", None) or "it cannot be read"
        raise _error(f"this is not YAML: {reason}; delete the character", line, column) from None
    return builder.reading


def python_source(text: str) -> Finding | None:
    """The finding for a text that is a program."""
    found = _python(text)
    if found is None:
        return None
    line = text.count("\n", 0, found.start()) + 1
    return Finding(
        "this is Python source, and serveConfigV2 is YAML that names where the source lies: put it into the image or a "
        "working_dir, and write applications: [{name: app, route_prefix: /, import_path: 'module:app'}]",
        line=line,
        column=1,
    )


@dataclass(slots=True)
class _Frame:
    """A collection that is being read."""

    value: Any
    is_list: bool
    path: Path
    anchor: str | None
    before: int
    key: str | None = None
    merged: list[Any] = field(default_factory=list[Any])


class _Builder:
    """Takes events one by one and keeps what they build."""

    def __init__(self) -> None:
        self.reading = Reading()
        self._frames: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._count = 0
        self._documents = 0

    def take(self, event: Any) -> None:
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        if isinstance(event, yaml.ScalarEvent):
            self._take_scalar(event, line, column)
        elif isinstance(event, yaml.AliasEvent):
            anchored = self._anchors.get(str(event.anchor))
            if anchored is None:
                raise _error(f"*{event.anchor} refers to nothing before it", line, column)
            self._spend(anchored[1], line, column)
            self._put(anchored[0], line, column)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open(event, line, column)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise _error("a second document begins here: keep one", line, column)

    def _take_scalar(self, event: yaml.ScalarEvent, line: int, column: int) -> None:
        self._spend(1, line, column)
        text, tag = str(event.value), event.tag
        if tag is not None and tag not in _TEXTS and tag not in _KNOWN_TAGS:
            raise _error(f"the tag {tag} means nothing here: delete it", line, column)
        plain = (tag is None and bool(event.implicit[0])) or tag in _KNOWN_TAGS
        try:
            value = scalar(text) if plain else text
        except ValueError:
            raise _error(f"{text} cannot be written as JSON: write a number", line, column) from None
        if event.anchor is not None:
            self._anchors[str(event.anchor)] = (value, 1)
        frame = self._frames[-1] if self._frames else None
        if frame is not None and not frame.is_list and frame.key is None:
            frame.key = _MERGE if plain and text == _MERGE else _key(value)
            path = (*frame.path, frame.key)
            if frame.key in frame.value:
                self.reading.repeated.append((path, (line, column)))
            self.reading.places.setdefault(path, (line, column))
            return
        self._put(value, line, column)

    def _open(self, event: yaml.CollectionStartEvent, line: int, column: int) -> None:
        self._spend(1, line, column)
        if len(self._frames) >= MAX_DEPTH:
            raise _error(f"this lies more than {MAX_DEPTH} levels deep: a configuration needs no more", line, column)
        is_map = isinstance(event, yaml.MappingStartEvent)
        self._refuse_as_key(line, column)
        path = self._next_path()
        self.reading.places.setdefault(path, (line, column))
        anchor = None if event.anchor is None else str(event.anchor)
        self._frames.append(_Frame({} if is_map else [], not is_map, path, anchor, self._count))

    def _close(self) -> None:
        frame = self._frames.pop()
        for part in reversed(frame.merged):
            for name, value in part.items():
                frame.value.setdefault(name, value)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (frame.value, self._count - frame.before + 1)
        self._attach(frame.value)

    def _put(self, value: Any, line: int, column: int) -> None:
        self._refuse_as_key(line, column)
        self.reading.places.setdefault(self._next_path(), (line, column))
        frame = self._frames[-1] if self._frames else None
        merging = frame is not None and frame.key == _MERGE
        if merging and not all(isinstance(part, dict) for part in _as_list(value)):
            raise _error("<< takes a mapping, or a list of mappings", line, column)
        self._attach(value)

    def _attach(self, value: Any) -> None:
        if not self._frames:
            self.reading.value = value
            return
        frame = self._frames[-1]
        if frame.is_list:
            frame.value.append(value)
        elif frame.key == _MERGE:
            frame.merged += [part for part in reversed(_as_list(value)) if isinstance(part, dict)]
            frame.key = None
        else:
            frame.value[frame.key] = value
            frame.key = None

    def _next_path(self) -> Path:
        if not self._frames:
            return ()
        frame = self._frames[-1]
        step: str | int = len(frame.value) if frame.is_list else str(frame.key)
        return (*frame.path, step)

    def _refuse_as_key(self, line: int, column: int) -> None:
        frame = self._frames[-1] if self._frames else None
        if frame is not None and not frame.is_list and frame.key is None:
            raise _error("a key is a text: write one before the colon", line, column)

    def _spend(self, values: int, line: int, column: int) -> None:
        self._count += values
        if self._count > MAX_VALUES:
            raise _error(f"aliases and all, these are more than the {MAX_VALUES} values one may have", line, column)


def _as_list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _key(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _unreadable(error: yaml.MarkedYAMLError, text: str) -> ServeConfigError:
    mark = error.problem_mark or error.context_mark
    if mark is not None and error.context_mark is not None and mark.line >= len(text.splitlines()):
        # the text ended too soon: what was left open is the place to mend
        mark = error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
    told = ", ".join(_told(error))
    return _error(f"this is not YAML: {told}; correct the indentation, quotes or brackets here", line, column)


def _told(error: yaml.MarkedYAMLError) -> Iterator[str]:
    for part in (error.context, error.problem):
        if part:
            yield str(part)


def _error(message: str, line: int, column: int) -> ServeConfigError:
    return ServeConfigError([Finding(message, line=line, column=column)])
