"""JSON values as a schema means them: times as moments, sets and keyed lists without order."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from rayward.kube.machinery.cel import times
from rayward.kube.machinery.cel.decltype import DeclType
from rayward.kube.machinery.cel.operators import equal
from rayward.kube.machinery.cel.values import Duration, EvaluationError, Timestamp

Run = Callable[[list[Any]], Any]
Equality = Callable[[Any, Any], bool]


def read(value: Any, declared: DeclType) -> Any:
    """A scalar as its type wants it; other values as they are."""
    if value is None:
        if declared.nullable:
            return None
        raise EvaluationError("invalid data, got null for schema with nullable=false")
    match declared.kind:
        case "double" if value.__class__ is int:
            return float(value)
        case "int" if value.__class__ is float:
            raise EvaluationError("invalid data, expected int, got float64")
        case "timestamp" if value.__class__ is str:
            return _timestamp(value, declared)
        case "duration" if value.__class__ is str:
            return _duration(value)
        case "bytes" if value.__class__ is str:
            return _bytes(value)
        case _:
            return value


def _timestamp(text: str, declared: DeclType) -> Timestamp:
    try:
        return times.parse_date(text) if declared.is_date else times.parse_timestamp(text)
    except EvaluationError as error:
        kind = "date" if declared.is_date else "date-time"
        raise EvaluationError(f"Invalid {kind} formatted string {text}: {error}") from None


def _duration(text: str) -> Duration:
    try:
        return times.parse_duration_leniently(text)
    except EvaluationError as error:
        raise EvaluationError(f"Invalid duration {text}: {error}") from None


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise EvaluationError(f"Invalid byte formatted string {text}: {error}") from None


def taker(declared: DeclType | None) -> Callable[[Any], Any] | None:
    """A function that reads a value and all it holds; None where there is nothing to read."""
    if declared is None:
        return None
    elem = declared.elem
    if elem is not None and _deep(elem):
        return lambda value: _read_all(value, elem)
    if declared.needs_reading or declared.kind == "int":
        return lambda value: read(value, declared)
    return None


def reader(run: Run, declared: DeclType | None) -> Run:
    """A closure that gives what a schema describes, made to read it where that takes anything."""
    if declared is None:
        return run
    if declared.needs_reading or declared.kind == "int":
        return lambda frame: read(run(frame), declared)

    def checked(frame: list[Any]) -> Any:
        value = run(frame)
        return read(value, declared) if value is None else value

    return checked


def materializer(run: Run, declared: DeclType | None) -> Run:
    """A closure whose lists and maps hold values already read."""
    elem = None if declared is None else declared.elem
    if elem is None or not _deep(elem):
        if declared is not None and declared.needs_reading:
            return lambda frame: read(run(frame), declared)
        return run
    inner = elem

    def whole(frame: list[Any]) -> Any:
        return _read_all(run(frame), inner)

    return whole


def _deep(declared: DeclType) -> bool:
    return declared.needs_reading or (declared.elem is not None and _deep(declared.elem))


def _read_all(value: Any, elem: DeclType) -> Any:
    def one(item: Any) -> Any:
        return read(item, elem) if elem.elem is None else _read_all(item, elem.elem)

    if value.__class__ is list:
        return [one(item) for item in value]
    if value.__class__ is dict:
        return {name: one(item) for name, item in value.items()}
    return value


def equality(declared: DeclType | None) -> Equality | None:
    """How a value of this type compares with another, where the schema has a say in it; None where it has not."""
    if declared is None or not _particular(declared):
        return None
    return lambda a, b: _equal(a, b, declared)


def _particular(declared: DeclType) -> bool:
    """Whether a schema makes equality differ from that of the JSON values."""
    if declared.list_type in ("set", "map") or declared.needs_reading:
        return True
    if declared.elem is not None:
        return _particular(declared.elem)
    return any(_particular(field) for field in declared.fields.values())


def _equal(one: Any, other: Any, declared: DeclType) -> bool:
    kind = one.__class__
    if kind is not other.__class__ or kind not in (list, dict):
        if one is None or other is None:
            return one is other
        return equal(read(one, declared), read(other, declared))
    if len(one) != len(other):
        return False
    if kind is dict:
        return _equal_fields(one, other, declared)
    elem = declared.elem
    if elem is None:
        return equal(one, other)
    if declared.list_type == "set":
        return all(any(equal(item, each) for each in one) for item in other)
    if declared.list_type == "map":
        by_key = {_key(item, declared): item for item in one}
        return all((key := _key(item, declared)) in by_key and _equal(by_key[key], item, elem) for item in other)
    return all(_equal(a, b, elem) for a, b in zip(one, other, strict=True))


def _equal_fields(one: dict[str, Any], other: dict[str, Any], declared: DeclType) -> bool:
    escaped = {name: field for field, name in declared.names.items()}
    for name, value in one.items():
        if name not in other:
            return False
        field = declared.elem or declared.fields.get(escaped.get(name, ""))
        if not (equal(value, other[name]) if field is None else _equal(value, other[name], field)):
            return False
    return True


def _key(item: Any, declared: DeclType) -> tuple[Any, ...]:
    if item.__class__ is not dict:
        raise EvaluationError("unexpected data format for element of array with x-kubernetes-list-type=map")
    return tuple((value.__class__, value) for value in map(item.get, declared.map_keys))


def adder(declared: DeclType | None) -> Callable[[Any, Any], Any] | None:
    """How ``+`` joins lists of this type, where the schema has a say in it."""
    if declared is None or declared.list_type not in ("set", "map"):
        return None
    return _union if declared.list_type == "set" else lambda one, other: _merge(one, other, declared)


def _union(one: list[Any], other: list[Any]) -> list[Any]:
    joined = list(one)
    for item in other:
        if not any(equal(item, each) for each in joined):
            joined.append(item)
    return joined


def _merge(one: list[Any], other: list[Any], declared: DeclType) -> list[Any]:
    places = {_key(item, declared): place for place, item in enumerate(one)}
    merged = list(one)
    for item in other:
        place = places.get(_key(item, declared))
        if place is None:
            merged.append(item)
        else:
            merged[place] = item
    return merged
