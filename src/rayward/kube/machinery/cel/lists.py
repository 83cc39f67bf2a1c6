"""CEL's list, set and optional functions."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any, Final

from rayward.kube.machinery.cel.operators import add, compare, equal
from rayward.kube.machinery.cel.overloads import Overloads, binary, nullary, unary
from rayward.kube.machinery.cel.values import NONE, EvaluationError, Optional

_MAX_RANGE: Final = 1_000_000


def is_sorted(items: list[Any]) -> bool:
    """Whether no item is smaller than the one before it."""
    return all(compare(items[place - 1], items[place]) <= 0 for place in range(1, len(items)))


def total(items: list[Any]) -> Any:
    """The sum; 0 for an empty list."""
    result: Any = None
    for item in items:
        result = item if result is None else add(result, item)
    return 0 if result is None else result


def least(items: list[Any]) -> Any:
    if not items:
        raise EvaluationError("min called on empty list")
    return min(items, key=cmp_to_key(compare))


def greatest(items: list[Any]) -> Any:
    if not items:
        raise EvaluationError("max called on empty list")
    return max(items, key=cmp_to_key(compare))


def index_of(items: list[Any], wanted: Any) -> int:
    """The first place of an item, or -1."""
    return next((place for place, item in enumerate(items) if equal(item, wanted)), -1)


def last_index_of(items: list[Any], wanted: Any) -> int:
    """The last place of an item, or -1."""
    return next((place for place in range(len(items) - 1, -1, -1) if equal(items[place], wanted)), -1)


def slice_of(items: list[Any], start: int, end: int) -> list[Any]:
    """The items from one place up to another."""
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(items) < end:
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def flatten(items: list[Any], depth: int = 1) -> list[Any]:
    """The items of inner lists in place of the lists."""
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Any] = []
    for item in items:
        if depth and item.__class__ is list:
            flat += flatten(item, depth - 1) if depth > 1 else item
        else:
            flat.append(item)
    return flat


def distinct(items: list[Any]) -> list[Any]:
    """The items without repetitions."""
    kept: list[Any] = []
    for item in items:
        if not any(equal(item, earlier) for earlier in kept):
            kept.append(item)
    return kept


def sort(items: list[Any]) -> list[Any]:
    """The items in order."""
    return sorted(items, key=cmp_to_key(compare))


def sort_by(items: list[Any], keys: list[Any]) -> list[Any]:
    """The items in the order of their keys."""
    order = cmp_to_key(compare)
    return [item for _, item in sorted(zip(map(order, keys), items, strict=True), key=lambda pair: pair[0])]


def numbers(count: int) -> list[int]:
    """0, 1, ... up to a count."""
    if count > _MAX_RANGE:
        raise EvaluationError(f"lists.range: {count} is larger than {_MAX_RANGE}")
    return list(range(count))


def contains_all(items: list[Any], wanted: list[Any]) -> bool:
    """Whether every wanted item is there."""
    return all(any(equal(item, each) for item in items) for each in wanted)


def intersects(one: list[Any], other: list[Any]) -> bool:
    """Whether two lists share an item."""
    return any(equal(a, b) for a in one for b in other)


def equivalent(one: list[Any], other: list[Any]) -> bool:
    """Whether two lists hold the same items, in any order and number."""
    return contains_all(one, other) and contains_all(other, one)


def value_of(optional: Optional) -> Any:
    """What an optional holds."""
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def non_zero(value: Any) -> Optional:
    """The value as an optional, absent where it is empty or zero."""
    return Optional(value) if value else NONE


def first(items: list[Any]) -> Optional:
    """The first item, if any."""
    return Optional(items[0]) if items else NONE


def last(items: list[Any]) -> Optional:
    """The last item, if any."""
    return Optional(items[-1]) if items else NONE


OVERLOADS: Final[Overloads] = {
    "isSorted": [unary(list, is_sorted)],
    "sum": [unary(list, total)],
    "min": [unary(list, least)],
    "max": [unary(list, greatest)],
    "indexOf": [binary(list, object, index_of)],
    "lastIndexOf": [binary(list, object, last_index_of)],
    "slice": [((list, int, int), slice_of)],
    "flatten": [unary(list, flatten), binary(list, int, flatten)],
    "distinct": [unary(list, distinct)],
    "reverse": [unary(list, lambda items: items[::-1])],
    "sort": [unary(list, sort)],
    "@sortByAssociatedKeys": [binary(list, list, sort_by)],
    "first": [unary(list, first)],
    "last": [unary(list, last)],
    "lists.range": [unary(int, numbers)],
    "sets.contains": [binary(list, list, contains_all)],
    "sets.intersects": [binary(list, list, intersects)],
    "sets.equivalent": [binary(list, list, equivalent)],
    "optional.of": [unary(object, Optional)],
    "optional.ofNonZeroValue": [unary(object, non_zero)],
    "optional.none": [nullary(lambda: NONE)],
    "hasValue": [unary(Optional, lambda optional: optional.present)],
    "value": [unary(Optional, value_of)],
}
