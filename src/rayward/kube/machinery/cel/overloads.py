"""Tables of functions by the classes they take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Overload = tuple[tuple[Any, ...], Callable[..., Any]]
"""Classes of the arguments (``object`` for any, a tuple for one of several) and the function itself."""
Overloads = dict[str, list[Overload]]


def nullary(run: Callable[[], Any]) -> Overload:
    """A function without arguments."""
    return (), run


def unary(kind: Any, run: Callable[[Any], Any]) -> Overload:
    """A function of one argument."""
    return (kind,), run


def binary(one: Any, other: Any, run: Callable[[Any, Any], Any]) -> Overload:
    """A function of two arguments."""
    return (one, other), run
