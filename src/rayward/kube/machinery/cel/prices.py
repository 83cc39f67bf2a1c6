"""What functions cost at most, by the sizes of what they are applied to."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from rayward.kube.machinery.cel.ast import Call, Const, Expr

UNBOUNDED: Final = 2**64 - 1
LIST: Final = 10
"""The price of making a list."""


@dataclass(frozen=True, slots=True)
class Size:
    """Between how few and how many characters or entries."""

    least: int
    most: int

    def __or__(self, other: Size) -> Size:
        return Size(min(self.least, other.least), max(self.most, other.most))

    def __add__(self, other: Size) -> Size:
        return Size(capped(self.least + other.least), capped(self.most + other.most))

    def __mul__(self, other: Size) -> Size:
        return Size(capped(self.least * other.least), capped(self.most * other.most))


UNKNOWN: Final = Size(0, UNBOUNDED)


def capped(amount: int) -> int:
    """At most what 64 bits hold."""
    return min(amount, UNBOUNDED)


def _share(amount: int, numerator: int, denominator: int) -> int:
    """A fraction of an amount, rounded up."""
    return capped(-(-amount * numerator // denominator))


def _tenth(amount: int) -> int:
    return _share(amount, 1, 10)


def fixed(amount: int) -> Size:
    return Size(amount, amount)


class Sizes(Protocol):
    """What is known of the parts of an expression."""

    def size_or_unknown(self, expr: Expr) -> Size:
        """How large a part can be."""
        ...

    def element_size(self, expr: Expr) -> Size:
        """How large one element of a list can be."""
        ...

    def entry(self, expr: Expr) -> Size | None:
        """How large one entry of a list made here can be."""
        ...

    def set_entry(self, expr: Expr, size: Size) -> None: ...

    def type_of(self, expr: Expr) -> str:
        """The checker's type of a part."""
        ...


@dataclass(slots=True)
class Priced:
    """One call as the price list sees it."""

    sizes: Sizes
    expr: Call
    overload: str

    @property
    def receiver(self) -> Size:
        """The size of what stands before the dot."""
        assert self.expr.target is not None
        return self.sizes.size_or_unknown(self.expr.target)

    def arg(self, place: int) -> Size:
        """The size of an argument."""
        return self.sizes.size_or_unknown(self.expr.args[place])


Price = tuple[int, Size | None]
"""The cost and, where it is known, the size of the result."""
Pricing = Callable[[Priced], Price | None]


def _traverse(call: Priced) -> Price:
    kind = call.sizes.type_of(call.expr.target) if call.expr.target is not None else ""
    if not kind.startswith("list("):
        return _tenth(call.receiver.most), None
    each = 1
    if kind in ("list(string)", "list(bytes)"):
        assert call.expr.target is not None
        each += _tenth(call.sizes.element_size(call.expr.target).most)
    return capped(call.receiver.most * each), None


def _copy(call: Priced) -> Price:
    return _tenth(call.receiver.most), call.receiver


def _parse(call: Priced) -> Price:
    return _tenth(call.arg(0).most), None


def _parse_address(call: Priced) -> Price:
    return _parse(call) if call.expr.target is None else (1, None)


def _url(call: Priced) -> Price:
    return _tenth(call.arg(0).most), call.arg(0)


def _canonical(call: Priced) -> Price:
    return _share(call.arg(0).most, 2, 10), None


def _replace(call: Priced) -> Price:
    text, old, new = call.receiver, call.arg(0), call.arg(1)
    count = kept = least_count = least_kept = 0
    if old.least == 0:
        count, kept = capped(text.most + 1), text.most
    elif new.most <= old.least:
        kept = text.most
    else:
        count = -(-text.most // old.least)
    if old.most == 0:
        least_count, least_kept = text.least + 1, text.least
    elif old.most <= new.least:
        least_kept = text.least
    else:
        least_count = -(-text.least // old.most)
    size = Size(least_count, count) * new + Size(least_kept, kept)
    return _share(text.most, 2, 10), size


def _split(call: Priced) -> Price:
    most = call.receiver.most
    if len(call.expr.args) > 1 and isinstance(call.expr.args[1], Const):
        most = max(int(call.expr.args[1].value), 0)
    return _share(call.receiver.most, 2, 10), Size(0, most)


def _join(call: Priced) -> Price:
    assert call.expr.target is not None
    count = call.receiver
    size = count * call.sizes.element_size(call.expr.target)
    if call.expr.args:
        between = Size(max(count.least - 1, 0), max(count.most - 1, 0))
        size += call.arg(0) * between
    return _tenth(size.most), size


def _search(call: Priced) -> Price:
    text, pattern = call.receiver, call.arg(0)
    return capped(_tenth(capped(text.most + 1)) * _share(pattern.most, 1, 4)), Size(0, text.most)


def _matches(call: Priced) -> Price:
    text = call.receiver if call.expr.target is not None else call.arg(0)
    pattern = call.arg(0) if call.expr.target is not None else call.arg(1)
    return capped(_tenth(capped(text.most + 1)) * _share(pattern.most, 1, 4)), None


def _contains(call: Priced) -> Price:
    return capped(_tenth(call.receiver.most) * _tenth(call.arg(0).most)), None


def _holds_address(call: Priced) -> Price:
    return 4 + (_tenth(call.arg(0).most) if "string" in call.overload else 0), None


def _holds_network(call: Priced) -> Price:
    return 7 + (_tenth(call.arg(0).most) if "string" in call.overload else 0), None


def _validate(call: Priced) -> Price:
    return capped(_tenth(call.arg(0).most) * 32), None


def _equal(call: Priced) -> Price:
    kinds = {call.sizes.type_of(arg) for arg in call.expr.args}
    if kinds <= {"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver", "kubernetes.URL"}:
        return 1, None
    if kinds == {"kubernetes.NamedFormat"}:
        return 7, None
    return _tenth(min(call.arg(0).most, call.arg(1).most)), None


def _compare(call: Priced) -> Price | None:
    if not call.overload.endswith(("_string", "_bytes")):
        return None
    return _tenth(min(call.arg(0).most, call.arg(1).most)), None


def _add(call: Priced) -> Price | None:
    if call.overload not in ("add_string", "add_bytes", "add_list"):
        return None
    size = call.arg(0) + call.arg(1)
    if call.overload == "add_list":
        entries = [call.sizes.entry(arg) for arg in call.expr.args]
        if entries[0] is not None and entries[1] is not None:
            call.sizes.set_entry(call.expr, entries[0] | entries[1])
        return 1, size
    return _tenth(size.most), size


def _in(call: Priced) -> Price | None:
    return (call.arg(1).most, None) if call.overload == "in_list" else None


def _affix(call: Priced) -> Price:
    return _tenth(call.arg(0).most), None


def _convert(call: Priced) -> Price | None:
    size = call.arg(0)
    match call.overload:
        case "string_to_bytes":
            return _tenth(size.most), Size(size.least, capped(size.most * 4))
        case "bytes_to_string":
            return _tenth(size.most), Size(size.least // 4, size.most)
        case _:
            return None


def _quote(call: Priced) -> Price:
    size = call.arg(0)
    return _tenth(size.most), Size(size.least + 2, capped(size.most * 2 + 2))


def _allocating(factor: float, size: Size) -> Price:
    return capped(math.ceil(min(size.most * factor, float(UNBOUNDED))) + 1 + LIST), size


def _slice(call: Priced) -> Price:
    bounds = [arg.value if isinstance(arg, Const) else None for arg in call.expr.args]
    start = bounds[0] or 0
    end = call.receiver.most if bounds[1] is None else bounds[1]
    return _allocating(1, fixed(max(end - start, 0)))


def _range(call: Priced) -> Price:
    bound = call.expr.args[0]
    return _allocating(1, fixed(max(int(bound.value), 0)) if isinstance(bound, Const) else fixed(UNBOUNDED))


def _reversed(call: Priced) -> Price | None:
    kind = call.sizes.type_of(call.expr.target) if call.expr.target is not None else ""
    return _allocating(1, call.receiver) if kind.startswith("list(") else None


def _flatten(call: Priced) -> Price:
    depth = call.expr.args[0].value if call.expr.args and isinstance(call.expr.args[0], Const) else 1
    return _allocating(max(depth, 0), call.receiver)


def _distinct(call: Priced) -> Price:
    return _allocating(2, call.receiver * call.receiver)


def _sort(call: Priced) -> Price:
    factor = 2.1 if "string" in call.overload or "bytes" in call.overload else 2
    size = call.arg(0) if call.expr.args else call.receiver
    return _allocating(factor, size * size)


def _sets(factor: int) -> Pricing:
    return lambda call: (capped((call.arg(0) * call.arg(1)).most * factor + 1), None)


PRICES: Final[dict[str, Pricing]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traverse),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _copy),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _parse),
    "ip": _parse_address,
    "url": _url,
    "ip.isCanonical": _canonical,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "find": _search,
    "findAll": _search,
    "matches": _matches,
    "contains": _contains,
    "startsWith": _affix,
    "endsWith": _affix,
    "containsIP": _holds_address,
    "containsCIDR": _holds_network,
    "validate": _validate,
    "_==_": _equal,
    "_!=_": _equal,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _compare),
    "_+_": _add,
    "@in": _in,
    "string": _convert,
    "bytes": _convert,
    "strings.quote": _quote,
    "format": lambda call: (_tenth(call.receiver.most), None),
    "slice": _slice,
    "lists.range": _range,
    "reverse": _reversed,
    "flatten": _flatten,
    "distinct": _distinct,
    "sort": _sort,
    "@sortByAssociatedKeys": _sort,
    "sets.contains": _sets(1),
    "sets.intersects": _sets(1),
    "sets.equivalent": _sets(2),
}
