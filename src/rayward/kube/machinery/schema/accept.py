"""The quick check: closures that let a fine value through and doubt everything else.

A closure may doubt a value that is fine after all (``explain`` decides), but never lets a bad one pass. Closures are
made when a value first reaches their schema, so a large CRD costs only what its objects use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rayward.kube.machinery.cel import formats
from rayward.kube.machinery.cel.regex import PatternError, compile_pattern
from rayward.kube.machinery.schema import embedded, listtype
from rayward.kube.machinery.schema.node import Node

Accept = Callable[[Any], bool]
# Usually an Accept; a bare class stands for "any value of exactly this class", so that the caller needs no call.
Check = Any

_ACCEPT: Final = "accept"
_MIN_INT64: Final = -(2**63)
_MAX_INT64: Final = 2**63 - 1
# An object schema with nothing but these asks nothing of what is in it.
_SHAPELESS: Final = frozenset({"type", "description", "title", "default", "x-kubernetes-preserve-unknown-fields"})
_CLASSES: Final[dict[str, type]] = {"string": str, "boolean": bool, "array": list, "object": dict}


def acceptor(node: Node) -> Accept:
    """The quick check of a schema as a function."""
    check = _check_of(node)
    return (lambda value: value.__class__ is check) if isinstance(check, type) else check


def _anything(_: Any) -> bool:
    return True


def _nothing(_: Any) -> bool:
    return False


def _check_of(node: Node) -> Check:
    check: Check | None = node.memo.get(_ACCEPT)
    if check is None:
        check = node.memo[_ACCEPT] = _make(node)
    return check


def _make(node: Node) -> Check:
    check = _make_typed(node)
    if node.has_junctors:
        check = _with_junctors(node, check)
    if node.nullable and check is not _anything:
        check = _or_null(check)
    return check


def _make_typed(node: Node) -> Check:
    if node.raw.get("uniqueItems") is True:
        return _nothing
    types = node.types
    if node.int_or_string:
        return _integer_or_string(node)
    match types[0] if types else "":
        case "string":
            return _with_enum(node, _string(node))
        case "integer":
            return _with_enum(node, _integer(node))
        case "boolean":
            return _with_enum(node, bool)
        case "object":
            return _with_enum(node, _object(node))
        case "array":
            return _with_enum(node, _list(node))
        case "number":
            return _with_enum(node, _number(node))
        case _:
            return _untyped(node)


def _untyped(node: Node) -> Check:
    """A schema without a type checks only what fits the value it meets."""
    if node.format or node.raw.get("enum"):
        return _nothing
    by_class: dict[type, Check] = {
        str: _string(node),
        int: _integer(node) if node.raw.keys() & {"minimum", "maximum", "multipleOf"} else _anything,
        float: _number(node) if node.raw.keys() & {"minimum", "maximum", "multipleOf"} else _anything,
        bool: bool,
        type(None): _anything,
    }
    makers: dict[type, Callable[[Node], Check]] = {dict: _object, list: _list}

    def check(value: Any) -> bool:
        kind = value.__class__
        found = by_class.get(kind)
        if found is None:
            maker = makers.get(kind)
            if maker is None:
                return False
            found = by_class[kind] = maker(node)
        return found is kind or (found.__class__ is not type and found(value))

    return check


def _integer_or_string(node: Node) -> Accept:
    text, integer = _with_enum(node, _string(node)), _with_enum(node, _integer(node))
    tests = _tests(node)
    if len(tests) == 1 and not node.raw.keys() & {"enum", "maxLength", "minLength"}:
        # The usual quantity: one pattern, no other demand on texts.
        text = tests[0]

    def check(value: Any) -> bool:
        kind = value.__class__
        if kind is str:
            return text is str or text(value)
        return kind is int and integer(value)

    return check


def _or_null(inner: Check) -> Accept:
    plain = isinstance(inner, type)

    def check(value: Any) -> bool:
        return value is None or (value.__class__ is inner if plain else inner(value))

    return check


def _with_enum(node: Node, inner: Check) -> Check:
    allowed = node.raw.get("enum")
    if not allowed:
        return inner
    if inner is not str or not all(isinstance(each, str) for each in allowed):
        return _nothing
    values: frozenset[str] = frozenset(allowed)

    def check(value: Any) -> bool:
        return value.__class__ is str and value in values

    return check


def _tests(node: Node) -> list[Callable[[str], bool]]:
    """What a text must pass besides its length."""
    tests: list[Callable[[str], bool]] = []
    if source := node.raw.get("pattern"):
        try:
            tests.append(compile_pattern(source).search)
        except PatternError:
            tests.append(_nothing)
    if node.format:
        tests.append(formats.check(node.format))
    return tests


def _string(node: Node) -> Check:
    raw = node.raw
    longest, shortest = raw.get("maxLength"), raw.get("minLength")
    tests = _tests(node)
    low: int = 0 if shortest is None else shortest
    high: int = _MAX_INT64 if longest is None else longest
    if longest is None and shortest is None and not tests:
        return str

    def sized(value: Any) -> bool:
        return value.__class__ is str and low <= len(value) <= high

    if not tests:
        return sized
    if len(tests) == 1 and longest is None and shortest is None:
        test = tests[0]

        def tested(value: Any) -> bool:
            return value.__class__ is str and test(value)

        return tested

    def check(value: Any) -> bool:
        return sized(value) and all(test(value) for test in tests)

    return check


def _integer(node: Node) -> Accept:
    raw = node.raw
    low, high = _MIN_INT64, _MAX_INT64
    if node.format == "int32":
        low, high = -(2**31), 2**31 - 1
    for keyword in ("minimum", "maximum"):
        bound = raw.get(keyword)
        if bound is None:
            continue
        if bound != int(bound) or not low <= bound <= high:
            return _nothing
        exclusive = raw.get("exclusive" + keyword.title()) is True
        if keyword == "minimum":
            low = int(bound) + exclusive
        else:
            high = int(bound) - exclusive
    multiple = raw.get("multipleOf")
    if multiple is None:

        def check(value: Any) -> bool:
            return value.__class__ is int and low <= value <= high

        return check
    if multiple != int(multiple) or multiple < 1:
        return _nothing
    step = int(multiple)

    def check_multiple(value: Any) -> bool:
        return value.__class__ is int and low <= value <= high and value % step == 0

    return check_multiple


def _number(node: Node) -> Accept:
    raw = node.raw
    if raw.get("multipleOf") is not None or node.format == "float":
        return _nothing
    low, high = raw.get("minimum"), raw.get("maximum")
    # Go compares whole numbers with a truncated bound: leave odd bounds to the slow path.
    if any(bound is not None and bound != int(bound) for bound in (low, high)):
        return _nothing
    if raw.get("exclusiveMinimum") or raw.get("exclusiveMaximum"):
        return _nothing
    least: float = float("-inf") if low is None else low
    most: float = float("inf") if high is None else high

    def check(value: Any) -> bool:
        kind = value.__class__
        return (kind is float and least <= value <= most) or (
            kind is int and _MIN_INT64 <= value <= _MAX_INT64 and least <= value <= most
        )

    return check


class _Fields(dict[str, Check]):
    """Checks of declared fields, made on first use; an undeclared field may hold anything here."""

    __slots__ = ("_node",)

    def __init__(self, node: Node) -> None:
        super().__init__()
        self._node = node

    def __missing__(self, name: str) -> Check:
        child = self._node.child(name)
        if child is None:
            return _anything
        check = self[name] = _check_of(child)
        return check


def _object(node: Node) -> Check:
    raw = node.raw
    if raw.keys() <= _SHAPELESS:
        return dict
    fewest, most = raw.get("minProperties"), raw.get("maxProperties")
    fields = _fields(node) if node.properties or node.additional is None else _values(node.additional)
    if node.embedded:
        fields = _both(fields, embedded.is_fine)
    if fewest is None and most is None:
        return fields
    low: int = 0 if fewest is None else fewest
    high: int = _MAX_INT64 if most is None else most

    def check(value: Any) -> bool:
        return value.__class__ is dict and low <= len(value) <= high and fields(value)

    return check


def _both(one: Accept, other: Accept) -> Accept:
    return lambda value: one(value) and other(value)


def _fields(node: Node) -> Accept:
    if node.allows_additional is False or (node.additional is not None and node.properties):
        return _nothing
    required = tuple(node.required)
    checks = _Fields(node)

    def check(value: Any) -> bool:
        if value.__class__ is not dict:
            return False
        for name in required:
            if name not in value:
                return False
        for name, item in value.items():
            test = checks[name]
            if test is not item.__class__ and (test.__class__ is type or not test(item)):
                return False
        return True

    return check


def _values(additional: Node) -> Accept:
    made: list[Check] = []

    def check(value: Any) -> bool:
        if value.__class__ is not dict:
            return False
        if not made:
            made.append(_check_of(additional))
        test = made[0]
        for item in value.values():
            if test is not item.__class__ and (test.__class__ is type or not test(item)):
                return False
        return True

    return check


def _list(node: Node) -> Check:
    raw = node.raw
    fewest, most = raw.get("minItems"), raw.get("maxItems")
    low = 0 if fewest is None else fewest
    high = _MAX_INT64 if most is None else most
    items = node.items
    made: list[Check] = []
    unique = listtype.uniqueness(node)

    def check(value: Any) -> bool:
        if value.__class__ is not list or not low <= len(value) <= high:
            return False
        if items is not None:
            if not made:
                made.append(_check_of(items))
            test = made[0]
            for item in value:
                if test is not item.__class__ and (test.__class__ is type or not test(item)):
                    return False
        return unique is None or len(value) < 2 or unique(value)

    return check


def _with_junctors(node: Node, check: Check) -> Check:
    if node.negated is not None or node.all_of:
        return _nothing
    if _is_type_union(node.any_of) and not node.one_of:
        kinds = _classes(node.any_of)
        # The usual int-or-string: its alternatives say no more than the schema itself.
        if node.int_or_string and kinds == {int, str}:
            return check
        return _of_classes(kinds, check)
    if _is_type_union(node.one_of) and not node.any_of:
        return _of_classes(_classes(node.one_of), check)
    return _nothing


def _is_type_union(alternatives: list[Node]) -> bool:
    names = [each.raw.get("type") for each in alternatives]
    return (
        bool(names)
        and len(set(names)) == len(names)
        and all(each.raw.keys() == {"type"} for each in alternatives)
        and not {"integer", "number"} <= set(names)
    )


def _classes(alternatives: list[Node]) -> set[type]:
    kinds: set[type] = set()
    for each in alternatives:
        name = each.raw["type"]
        kinds |= {int, float} if name == "number" else {_CLASSES.get(name, int)}
    return kinds


def _of_classes(kinds: set[type], check: Check) -> Check:
    if isinstance(check, type):
        return check if check in kinds else _nothing

    def narrowed(value: Any) -> bool:
        kind = value.__class__
        return kind in kinds and (kind is not int or _MIN_INT64 <= value <= _MAX_INT64) and check(value)

    return narrowed
