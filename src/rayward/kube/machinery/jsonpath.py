"""JSONPath as printer columns and ``kubectl`` use it, evaluated over plain JSON values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from rayward.kube.machinery import gotext
from rayward.kube.machinery import jsonpathsyntax as syntax
from rayward.kube.machinery.jsonpathsyntax import JSONPathError
from rayward.kube.machinery.jsonvalue import Object, is_list, is_object

__all__ = ["ABSENT", "JSONPathError", "Path", "parse", "parse_column", "printed"]

ABSENT: Final[Any] = object()
"""Nothing is there; None would be an explicit null."""

_MAX_VALUES: Final = 100_000

_Values = list[Any]
_Step = Callable[[_Values], _Values]


class _MismatchError(JSONPathError):
    """A step does not fit; ``kept`` says whether client-go hands its input on beside the error."""

    def __init__(self, message: str, kept: bool) -> None:
        super().__init__(message)
        self.kept = kept


@dataclass(frozen=True, slots=True)
class Path:
    """A compiled template: text and actions in braces."""

    text: str
    _parts: tuple[tuple[_Step, ...], ...]
    _fields: tuple[str, ...] | None

    def find(self, doc: Object) -> list[_Values]:
        """The values each part of the template finds.

        Raises:
            JSONPathError: A part does not fit the document.
        """
        try:
            return [_walk(steps, [doc]) for steps in self._parts]
        except RecursionError:
            raise JSONPathError("exceeded max depth") from None

    def first(self, doc: Object) -> Any:
        """The first value the template finds, ``ABSENT`` when it finds none or does not fit."""
        if self._fields is not None:
            value: Any = doc
            for name in self._fields:
                if not is_object(value) or name not in value:
                    return ABSENT
                value = value[name]
            return value
        try:
            found = self.find(doc)
        except JSONPathError:
            return ABSENT
        return found[0][0] if found and found[0] else ABSENT

    def render(self, doc: Object) -> str:
        """The text that kubectl prints for the template.

        Raises:
            JSONPathError: A part does not fit the document.
        """
        return "".join(" ".join(map(printed, values)) for values in self.find(doc))


@lru_cache(maxsize=512)
def parse(text: str, *, relaxed: bool = False) -> Path:
    """Compile a template such as ``{.metadata.name}``; a relaxed one takes missing members for no result.

    Raises:
        JSONPathError: The text is malformed.
    """
    parts = syntax.read(text)
    compiled = tuple(tuple(_compiled(step, relaxed) for step in steps) for steps in parts)
    return Path(text, compiled, _plain_fields(parts) if relaxed else None)


def parse_column(text: str) -> Path:
    """Compile the ``jsonPath`` of a printer column, which stands without braces.

    Raises:
        JSONPathError: The text is malformed.
    """
    try:
        return parse(f"{{{text}}}", relaxed=True)
    except JSONPathError:
        raise JSONPathError(f'unrecognized column definition "{text}"') from None


def printed(value: Any) -> str:
    """A value as kubectl prints it: JSON for objects and lists, plain text for the rest."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    return gotext.json_text(value) if is_object(value) or is_list(value) else gotext.plain(value)


def _plain_fields(parts: Sequence[syntax.Steps]) -> tuple[str, ...] | None:
    if len(parts) != 1:
        return None
    names = [step.name for step in parts[0] if isinstance(step, syntax.Field)]
    return tuple(names) if names and len(names) == len(parts[0]) else None


def _walk(steps: Sequence[_Step], values: _Values) -> _Values:
    for step in steps:
        values = step(values)
    return values


def _compiled(step: syntax.Step, relaxed: bool) -> _Step:
    match step:
        case syntax.Text(text):
            return lambda _values: [text]
        case syntax.Literal(value):
            return lambda values: [value] * len(values)
        case syntax.Field(name):
            return _field(name, relaxed)
        case syntax.Wildcard():
            return lambda values: _limited(child for value in values for child in _children(value))
        case syntax.Descent():
            return lambda values: _limited(found for value in values for found in _descend(value))
        case syntax.Slice():
            return _slice(step)
        case syntax.Union(choices):
            branches = [[_compiled(each, relaxed) for each in choice] for choice in choices]
            return lambda values: _union(branches, values)
        case syntax.Filter(left, operator, right):
            left_steps = [_compiled(each, relaxed) for each in left]
            right_steps = [_compiled(each, relaxed) for each in right]
            return _exists(left_steps) if operator == "exists" else _comparing(left_steps, operator, right_steps)
        case syntax.Identifier(name):
            return _unknown(name)


def _field(name: str, relaxed: bool) -> _Step:
    def step(values: _Values) -> _Values:
        found = [value[name] for value in values if is_object(value) and name in value]
        if not found and not relaxed and values:
            raise _MismatchError(f"{name} is not found", kept=False)
        return found

    return step


def _children(value: Any) -> Sequence[Any]:
    if is_object(value):
        return list(value.values())
    if is_list(value):
        return value
    # Go sees the bytes of a string as its children.
    return list(value.encode()) if isinstance(value, str) else ()


def _descend(value: Any) -> Iterator[Any]:
    children = _children(value)
    if children:
        yield value
        for child in children:
            yield from _descend(child)


def _limited(found: Iterable[Any]) -> _Values:
    # A few descents in a row would otherwise multiply a document's size by itself.
    values = list(islice(found, _MAX_VALUES + 1))
    if len(values) > _MAX_VALUES:
        raise _MismatchError(f"more than {_MAX_VALUES} values", kept=True)
    return values


def _slice(step: syntax.Slice) -> _Step:
    def select(values: _Values) -> _Values:
        found: _Values = []
        for value in values:
            if value is None:
                continue
            if not is_list(value):
                raise _MismatchError(f"{gotext.type_name(value)} is not array or slice", kept=bool(values))
            start, stop = _bounds(step, len(value))
            if start == stop:
                return found
            _check_bounds(start, stop, len(value), kept=bool(values))
            if step.step is not None and step.step <= 0:
                raise _MismatchError("step must be > 0", kept=bool(values))
            found += value[start : stop : step.step or 1]
        return found

    return select


def _bounds(step: syntax.Slice, length: int) -> tuple[int, int]:
    start = step.start or 0
    stop = length if step.stop is None else step.stop
    if start < 0:
        start += length
    if stop < 0 or (stop == 0 and step.single):
        stop += length
    return start, stop


def _check_bounds(start: int, stop: int, length: int, kept: bool) -> None:
    if not 0 <= start < length:
        raise _MismatchError(f"array index out of bounds: index {start}, length {length}", kept)
    if not 0 <= stop <= length:
        raise _MismatchError(f"array index out of bounds: index {stop - 1}, length {length}", kept)
    if start > stop:
        raise _MismatchError(f"starting index {start} is greater than ending index {stop}", kept)


def _union(branches: Sequence[Sequence[_Step]], values: _Values) -> _Values:
    try:
        return [found for steps in branches for found in _walk(steps, values)]
    except _MismatchError as mismatch:
        raise _MismatchError(str(mismatch), kept=bool(values)) from None


def _items(value: Any, values: _Values) -> list[Any]:
    if not is_list(value):
        text = f"{gotext.plain(value)} is not array or slice and cannot be filtered"
        raise _MismatchError(text, kept=bool(values))
    return value


def _exists(left: Sequence[_Step]) -> _Step:
    def has(item: Any) -> bool:
        try:
            return bool(_walk(left, [item]))
        except _MismatchError as mismatch:
            return mismatch.kept

    return lambda values: [item for value in values for item in _items(value, values) if has(item)]


def _comparing(left: Sequence[_Step], operator: str, right: Sequence[_Step]) -> _Step:
    def holds(item: Any) -> bool:
        lefts = _walk(left, [item])
        if not lefts:
            return False
        rights = _walk(right, [item]) if len(lefts) == 1 else lefts
        if len(rights) > 1:
            raise _MismatchError("can only compare one element at a time", kept=True)
        return bool(rights) and _compare(lefts[0], operator, rights[0])

    return lambda values: [item for value in values for item in _items(value, values) if holds(item)]


def _compare(left: Any, operator: str, right: Any) -> bool:
    if operator not in ("<", ">", "==", "!=", "<=", ">="):
        raise _MismatchError(f"unrecognized filter operator {operator}", kept=True)
    ordered = operator not in ("==", "!=")
    if not isinstance(left, bool | int | float | str) or not isinstance(right, bool | int | float | str):
        raise _MismatchError("invalid type for comparison", kept=True)
    if type(left) is not type(right):
        raise _MismatchError("incompatible types for comparison", kept=True)
    if ordered and isinstance(left, bool):
        raise _MismatchError("invalid type for comparison", kept=True)
    one: Any = left
    other: Any = right
    match operator:
        case "==":
            return one == other
        case "!=":
            return one != other
        case "<":
            return one < other
        case "<=":
            return one <= other
        case ">":
            return one > other
        case _:
            return one >= other


def _unknown(name: str) -> _Step:
    def step(values: _Values) -> _Values:
        raise _MismatchError(f"unrecognized identifier {name}", kept=bool(values))

    return step
