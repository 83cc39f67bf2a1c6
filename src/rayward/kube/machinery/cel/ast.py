"""A checked expression as a tree, read from the CEL library's serialized form (cel.expr.CheckedExpr)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from rayward.kube.machinery.cel.values import Uint

Fields = dict[int, list[Any]]


@dataclass(frozen=True, slots=True)
class Expr:
    """Any expression; ``id`` is where the checker filed what it found out."""

    id: int


@dataclass(frozen=True, slots=True)
class Const(Expr):
    value: Any


@dataclass(frozen=True, slots=True)
class Ident(Expr):
    name: str


@dataclass(frozen=True, slots=True)
class Select(Expr):
    """``operand.field``, or ``has(operand.field)`` when ``test_only``."""

    operand: Expr
    field: str
    test_only: bool


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A function or operator; ``target`` is what stands before the dot."""

    target: Expr | None
    function: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ListExpr(Expr):
    """``[a, ?b]``."""

    elements: tuple[Expr, ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True)
class MapExpr(Expr):
    """``{k: v}``; the third part of an entry says that its value is optional."""

    entries: tuple[tuple[Expr, Expr, bool], ...]


@dataclass(frozen=True, slots=True)
class Fold(Expr):
    """What every macro over lists and maps becomes: an accumulator driven through a range."""

    variable: str
    second: str
    over: Expr
    accumulator: str
    initial: Expr
    condition: Expr
    step: Expr
    result: Expr


@dataclass(frozen=True, slots=True)
class Ast:
    """A checked expression with the types the checker found and where in the source each part stands."""

    root: Expr
    types: dict[int, str]
    overloads: dict[int, tuple[str, ...]]
    positions: dict[int, int]

    def type_of(self, expr: Expr) -> str:
        """The checker's type; ``dyn`` where it has none on file."""
        return self.types.get(expr.id, "dyn")


def decode(serialized: bytes) -> Ast:
    """Reads a serialized CheckedExpr inside its Any."""
    checked = _message(_message(serialized)[2][0])
    types = {_int(e, 1): _type(e[2][0]) for e in map(_message, checked.get(3, []))}
    overloads: dict[int, tuple[str, ...]] = {}
    for entry in map(_message, checked.get(2, [])):
        reference = _message(entry.get(2, [b""])[0])
        overloads[_int(entry, 1)] = tuple(_text(o) for o in reference.get(3, []))
    info = _message(checked.get(5, [b""])[0])
    positions = {_int(e, 1): _int(e, 2) for e in map(_message, info.get(4, []))}
    return Ast(_expr(checked[4][0]), types, overloads, positions)


def walk(expr: Expr) -> Iterator[Expr]:
    """Every expression of a tree, parents first."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The parts an expression is made of, in order of evaluation."""
    match expr:
        case Select():
            return (expr.operand,)
        case Call():
            return expr.args if expr.target is None else (expr.target, *expr.args)
        case ListExpr():
            return expr.elements
        case MapExpr():
            return tuple(part for key, value, _ in expr.entries for part in (key, value))
        case Fold():
            return (expr.over, expr.initial, expr.condition, expr.step, expr.result)
        case _:
            return ()


def _message(data: bytes) -> Fields:
    """The fields of a protobuf message by number."""
    fields: Fields = {}
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 2:
            size, at = _varint(data, at)
            value: Any = data[at : at + size]
            at += size
        elif wire == 0:
            value, at = _varint(data, at)
        elif wire == 1:
            value = data[at : at + 8]
            at += 8
        else:
            value = data[at : at + 4]
            at += 4
        fields.setdefault(number, []).append(value)
    return fields


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _int(fields: Fields, number: int) -> int:
    value = fields.get(number, [0])[0]
    return value - 2**64 if value >= 2**63 else value


def _text(data: bytes) -> str:
    return data.decode()


def _string(fields: Fields, number: int) -> str:
    return _text(fields.get(number, [b""])[0])


def _expr(data: bytes) -> Expr:
    fields = _message(data)
    number = next(n for n in range(3, 11) if n in fields) if fields.keys() - {2} else 3
    return _READERS[number](_int(fields, 2), _message(fields.get(number, [b""])[0]))


def _const(ident: int, fields: Fields) -> Expr:
    number = next(iter(fields), 1)
    value: Any = fields[number][0] if fields else None
    match number:
        case 2:
            return Const(ident, bool(value))
        case 3:
            return Const(ident, value - 2**64 if value >= 2**63 else value)
        case 4:
            return Const(ident, Uint(value))
        case 5:
            return Const(ident, struct.unpack("<d", value)[0])
        case 6:
            return Const(ident, _text(value))
        case 7:
            return Const(ident, value)
        case _:
            return Const(ident, None)


def _ident(ident: int, fields: Fields) -> Expr:
    return Ident(ident, _string(fields, 1))


def _select(ident: int, fields: Fields) -> Expr:
    return Select(ident, _expr(fields[1][0]), _string(fields, 2), bool(fields.get(3)))


def _call(ident: int, fields: Fields) -> Expr:
    target = _expr(fields[1][0]) if 1 in fields else None
    return Call(ident, target, _string(fields, 2), tuple(map(_expr, fields.get(3, []))))


def _list(ident: int, fields: Fields) -> Expr:
    optional: set[int] = set()
    for packed in fields.get(2, []):
        at = 0
        while not isinstance(packed, int) and at < len(packed):
            index, at = _varint(packed, at)
            optional.add(index)
    return ListExpr(ident, tuple(map(_expr, fields.get(1, []))), frozenset(optional))


def _struct(ident: int, fields: Fields) -> Expr:
    entries = [_message(entry) for entry in fields.get(2, [])]
    return MapExpr(ident, tuple((_expr(e[3][0]), _expr(e[4][0]), bool(e.get(5))) for e in entries if 3 in e))


def _fold(ident: int, fields: Fields) -> Expr:
    parts = [_expr(fields[number][0]) for number in (2, 4, 5, 6, 7)]
    return Fold(
        ident,
        _string(fields, 1),
        _string(fields, 8),
        parts[0],
        _string(fields, 3),
        parts[1],
        parts[2],
        parts[3],
        parts[4],
    )


_READERS: Final = {3: _const, 4: _ident, 5: _select, 6: _call, 7: _list, 8: _struct, 9: _fold}
_PRIMITIVES: Final = {1: "bool", 2: "int", 3: "uint", 4: "double", 5: "string", 6: "bytes"}


def _type(data: bytes) -> str:
    """A type as cel-go prints it in messages."""
    fields = _message(data)
    for number, values in fields.items():
        value = values[0]
        match number:
            case 2:
                return "null_type"
            case 3:
                return _PRIMITIVES.get(value, "dyn")
            case 4:
                return f"wrapper({_PRIMITIVES.get(value, 'dyn')})"
            case 5:
                return {2: "timestamp", 3: "duration"}.get(value, "any")
            case 6:
                return f"list({_inner(value, 1)})"
            case 7:
                return f"map({_inner(value, 1)}, {_inner(value, 2)})"
            case 9 | 10:
                return _text(value)
            case 11:
                return "type"
            case 14:
                abstract = _message(value)
                inner = ", ".join(map(_type, abstract.get(2, [])))
                return f"{_string(abstract, 1)}({inner})" if inner else _string(abstract, 1)
            case _:
                continue
    return "dyn"


def _inner(data: bytes, number: int) -> str:
    return _type(_message(data).get(number, [b""])[0])
