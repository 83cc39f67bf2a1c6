"""Words of a configuration brought to Ray's own: camelCase to snake_case where Ray knows the result."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Any, Final, cast

from rayward.kinds.serveconfig.finding import Path, written
from rayward.kinds.serveconfig.keys import OPEN, RENAMED, Words

Tell = Callable[[str, Path], None]
"""Takes a message and the path, as it was written, that it is about."""

_hump: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])").sub
_ROUTE: Final = "route_prefix"


class Namer:
    """Renames the keys of one configuration, and remembers how each was written."""

    def __init__(self, unknown: Tell, wrong: Tell) -> None:
        self._unknown = unknown
        self._wrong = wrong
        self._origins: dict[Path, Path] = {}

    def origin(self, path: Path) -> Path:
        """How the user wrote a path, or what it lies in."""
        if not path:
            return ()
        return self._origins[path] if path in self._origins else self.origin(path[:-1])

    def moved(self, path: Path, before: Path) -> None:
        """Remember that what lies at a path now was written as another."""
        for known, was in list(self._origins.items()):
            if known[: len(before)] == before:
                self._origins[(*path, *known[len(before) :])] = was

    def level(self, value: dict[str, Any], words: Words, path: Path = (), origin: Path = ()) -> dict[str, Any]:
        """The same with Ray's names, as deep as Ray has names for."""
        named: dict[str, Any] = {}
        for key, part in value.items():
            name = _known(key, words)
            was: Path = (*origin, key)
            if name is None:
                name = self._stranger(key, words, path, was)
            if name in named:
                self._wrong(f"{written((key,))} is written twice, in two spellings: keep {name}", was)
                continue
            here: Path = (*path, name)
            self._origins[here] = was
            named[name] = self._below(part, words.get(name), here, was)
        return named

    def _below(self, value: Any, words: Words | None, path: Path, origin: Path) -> Any:
        if words is None:
            return value
        if isinstance(value, dict):
            return self.level(cast("dict[str, Any]", value), words, path, origin)
        if not isinstance(value, list):
            return value
        named: list[Any] = []
        for index, part in enumerate(cast("list[Any]", value)):
            here, was = (*path, index), (*origin, index)
            self._origins[here] = was
            named.append(self.level(cast("dict[str, Any]", part), words, here, was) if isinstance(part, dict) else part)
        return named

    def _stranger(self, key: str, words: Words, path: Path, origin: Path) -> str:
        snake = _snake(key)
        if snake == _ROUTE and "num_replicas" in words:
            return snake
        level = next((step for step in reversed(path) if isinstance(step, str)), "")
        if level not in OPEN:
            self._unknown(f"Ray Serve knows no {key!r} here{_hint(snake, words)}", origin)
        return key


def _known(key: str, words: Words) -> str | None:
    if key in words:
        return key
    snake = _snake(key)
    return snake if snake in words else None


def _snake(key: str) -> str:
    return _hump("_", key).lower()


def _hint(snake: str, words: Words) -> str:
    if renamed := RENAMED.get(snake):
        return f": it is called {renamed} now"
    close = difflib.get_close_matches(snake[:64], words, 1)
    return f": did you mean {close[0]}?" if close else ": delete it"
