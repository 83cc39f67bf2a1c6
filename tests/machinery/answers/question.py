"""What a question and an answer look like."""

from __future__ import annotations

from typing import Any, NamedTuple

Object = dict[str, Any]


class Question(NamedTuple):
    """A function, and the arguments to call it with."""

    about: str
    given: list[Any]
