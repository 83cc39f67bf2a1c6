"""Every function of the environment by name, with what a call costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from rayward.kube.machinery.cel import authorization, kube, lists, operators, texts, times
from rayward.kube.machinery.cel.overloads import Overload, Overloads, binary, unary
from rayward.kube.machinery.cel.values import Duration, NoSuchOverloadError, Timestamp

_HOUR: Final = 3_600_000_000_000


def _field(read: Callable[[Any], int]) -> list[Overload]:
    return [
        unary(Timestamp, lambda moment: read(times.local(moment, ""))),
        binary(Timestamp, str, lambda moment, zone: read(times.local(moment, zone))),
    ]


def _part(nanoseconds: int) -> Callable[[Duration], int]:
    return lambda span: int(operators.divide(span.nanoseconds, nanoseconds))


_TIMES: Final[Overloads] = {
    "getFullYear": _field(lambda local: local.year),
    "getMonth": _field(lambda local: local.month - 1),
    "getDayOfMonth": _field(lambda local: local.day - 1),
    "getDate": _field(lambda local: local.day),
    "getDayOfWeek": _field(lambda local: local.isoweekday() % 7),
    "getDayOfYear": _field(lambda local: local.timetuple().tm_yday - 1),
    "getHours": [*_field(lambda local: local.hour), unary(Duration, _part(_HOUR))],
    "getMinutes": [*_field(lambda local: local.minute), unary(Duration, _part(_HOUR // 60))],
    "getSeconds": [*_field(lambda local: local.second), unary(Duration, _part(_HOUR // 3600))],
    "getMilliseconds": [
        unary(Timestamp, lambda moment: moment.nanoseconds // 1_000_000 % 1000),
        binary(Timestamp, str, lambda moment, _: moment.nanoseconds // 1_000_000 % 1000),
        unary(Duration, lambda span: span.nanoseconds // 1_000_000 % 1000),
    ],
}
_CONVERSIONS: Final[Overloads] = {
    "int": [unary(object, operators.to_int)],
    "uint": [unary(object, operators.to_uint)],
    "double": [unary(object, operators.to_double)],
    "bool": [unary(object, operators.to_bool)],
    "string": [unary(object, operators.to_string)],
    "bytes": [unary(object, operators.to_bytes)],
    "timestamp": [unary(object, operators.to_timestamp)],
    "duration": [unary(object, operators.to_duration)],
    "dyn": [unary(object, lambda value: value)],
    "type": [unary(object, operators.type_of)],
    "size": [unary(object, operators.size)],
}


def _merged(*tables: Overloads) -> Overloads:
    merged: Overloads = {}
    for table in tables:
        for name, overloads in table.items():
            merged.setdefault(name, []).extend(overloads)
    return merged


_FUNCTIONS: Final = _merged(
    _TIMES, _CONVERSIONS, texts.OVERLOADS, lists.OVERLOADS, kube.OVERLOADS, authorization.OVERLOADS
)


def known(name: str) -> bool:
    """Whether there is such a function."""
    return name in _FUNCTIONS


def dispatcher(name: str, arity: int) -> Callable[..., Any]:
    """The function with that many arguments, the one before the dot included."""
    candidates = [(types, run) for types, run in _FUNCTIONS[name] if len(types) == arity]
    if len(candidates) == 1 and all(kind is object for kind in candidates[0][0]):
        return candidates[0][1]

    def call(*args: Any) -> Any:
        for types, run in candidates:
            for kind, arg in zip(types, args, strict=True):
                if (
                    arg.__class__ is not kind
                    and kind is not object
                    and not (kind.__class__ is tuple and arg.__class__ in kind)
                ):
                    break
            else:
                return run(*args)
        raise NoSuchOverloadError(f"no such overload: {name}")

    return call


def _size(value: Any) -> int:
    kind = value.__class__
    return len(value) if kind is str or kind is list or kind is dict or kind is bytes else 1


def _traversal(value: Any) -> int:
    kind = value.__class__
    if kind is str or kind is bytes:
        return len(value) // 10
    if kind is list:
        return sum(map(_traversal, value))
    if kind is dict:
        return sum(_traversal(name) + _traversal(item) for name, item in value.items())
    return 1


def _tenth(amount: float) -> int:
    return math.ceil(amount / 10)


def _regex_cost(args: tuple[Any, ...]) -> int:
    return _tenth(1 + _size(args[0])) * math.ceil(_size(args[1]) / 4)


def selector_cost(length: int) -> int:
    """What reading a selector costs: each two letters may be a requirement of its own."""
    return 10 + _tenth(length) + 50 * math.ceil(length / 2)


Cost = Callable[[tuple[Any, ...]], int]
CHECK_COST: Final = 350_000

_COSTS: Final[dict[str, Cost]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), lambda args: _traversal(args[0])),
    **dict.fromkeys(
        (
            "url",
            "lowerAscii",
            "upperAscii",
            "substring",
            "trim",
            "cidr",
            "isIP",
            "isCIDR",
            "ip",
            "quantity",
            "isQuantity",
            "semver",
            "isSemver",
            "startsWith",
            "endsWith",
            "strings.quote",
            "format",
        ),
        lambda args: _tenth(_size(args[0])),
    ),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), lambda args: _tenth(2 * _size(args[0]))),
    "join": lambda args: _tenth(2 * (sum(map(_size, args[0])) + _size(args[0]) * _size(args[-1]))),
    **dict.fromkeys(("find", "findAll", "matches"), _regex_cost),
    "contains": lambda args: _tenth(_size(args[0])) * _tenth(_size(args[1])),
    "containsIP": lambda args: 2 + _tenth(_size(args[1])),
    "containsCIDR": lambda args: 4 + _tenth(_size(args[1])),
    "validate": lambda args: _tenth(1 + _size(args[1])) * 32,
    **dict.fromkeys(
        ("sets.contains", "sets.intersects", "sets.equivalent"), lambda args: 1 + 2 * _size(args[0]) * _size(args[1])
    ),
    "distinct": lambda args: 1 + _size(args[0]) ** 2,
    "sort": lambda args: 1 + _size(args[0]) ** 2,
    "@sortByAssociatedKeys": lambda args: 1 + _size(args[0]) ** 2,
    "lists.range": lambda args: 1 + max(int(args[0]), 0),
    **dict.fromkeys(("flatten", "slice"), lambda args: 1 + _size(args[0])),
    # two checks fit into the budget of an expression
    "check": lambda _args: CHECK_COST,
    **dict.fromkeys(("fieldSelector", "labelSelector"), lambda args: selector_cost(_size(args[1]))),
}


def cost_of(name: str) -> Cost | None:
    """What a call costs by its arguments; None for the price of one."""
    return _COSTS.get(name)


def size_of(value: Any) -> int:
    """The size of a value for costs: 1 for what has no length."""
    return _size(value)
