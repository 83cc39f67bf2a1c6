"""The protobuf wire format, read by plan."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, Final

from rayward.kube.machinery.jsonvalue import Object

VARINT, FIXED64, BYTES, GROUP, END_GROUP, FIXED32 = range(6)
"""Wire types, the low three bits of a tag."""

TEXT, MESSAGE, INTEGER, RAW, INLINE, DOUBLE, TEXTS, MESSAGES, INTEGERS, PACKED, MAP = range(11)
"""What a field holds."""

_MAX_DEPTH: Final = 200
_EOF: Final = "unexpected EOF"
_NEGATIVE: Final = "proto: negative length found during unmarshaling"
_LARGEST: Final = (1 << 63) - 1
# Go embeds it, so its errors call it by its type.
_GO_NAMES: Final = {"metadata": "ObjectMeta"}
_double: Final = Struct("<d")


class FaultError(Exception):
    """The bytes are not of the message they are taken for."""


class Plan:
    """How one message becomes JSON."""

    __slots__ = ("_numbers", "fields", "finish", "name", "zero")

    def __init__(self, name: str) -> None:
        self.name: Final = name
        self.fields: Final[dict[int, tuple[int, str, bool, Any]]] = {}
        """By tag: what it holds, its JSON name, whether JSON keeps it when empty, and what reads its value."""
        self.zero: Mapping[str, Any] = {}
        """What JSON shows of fields that are not there."""
        self.finish: Callable[[Object], Any] | None = None
        """Makes the value of a message that is no object in JSON."""
        self._numbers: Final[dict[int, str]] = {}

    def add(self, number: int, wire: int, name: str, what: int, *, keep: bool = False, reader: Any = None) -> None:
        """Takes a field into the plan."""
        self.fields[number << 3 | wire] = (what, name, keep, reader)
        self._numbers[number] = _GO_NAMES.get(name) or name[:1].upper() + name[1:]

    def called(self, number: int) -> str | None:
        """What an error calls the field of a number; None if there is none."""
        return self._numbers.get(number)


def read(data: bytes, position: int, end: int, plan: Plan) -> Any:
    """The JSON value of the message between two positions.

    Raises:
        FaultError: The bytes are malformed; says where in Kubernetes' words.
    """
    try:
        return _message(data, position, end, plan, 0)
    except IndexError:
        raise FaultError(_EOF) from None


def _message(data: bytes, position: int, end: int, plan: Plan, depth: int) -> Any:
    result: Object = {}
    _fields(data, position, end, plan, depth, result)
    if plan.finish is not None:
        return plan.finish(result)
    for name, value in plan.zero.items():
        if name not in result:
            # an empty map or list too: who fills it must not fill that of the next object
            result[name] = copy.deepcopy(value)
    return result


def _fields(data: bytes, position: int, end: int, plan: Plan, depth: int, result: Object) -> None:
    """Reads the fields of one message into a result. Past the end of all data it raises IndexError."""
    if depth > _MAX_DEPTH:
        raise FaultError(f"proto: {plan.name}: nested too deeply")
    fields = plan.fields
    while position < end:
        tag = data[position]
        position += 1
        if tag > 127:
            tag, position = _varint(data, position - 1)
        field = fields.get(tag)
        if field is None:
            position = _unknown(data, position, end, tag, plan)
            continue
        what, name, keep, reader = field
        if what == DOUBLE:
            result[name] = _number(data, position, end)
            position += 8
            continue
        value = data[position]
        position += 1
        if value > 127:
            value, position = _varint(data, position - 1)
        if what == INTEGER:
            _put(result, name, reader(value), keep)
            continue
        if what == INTEGERS:
            result.setdefault(name, []).append(reader(value))
            continue
        following = position + value
        if following > end:
            raise FaultError(_EOF if following <= _LARGEST else _NEGATIVE)
        if what == TEXT and value:
            result[name] = data[position:following].decode(errors="replace")
        elif what == TEXT:
            _put(result, name, "", keep)
        elif what == MESSAGE:
            _put(result, name, _message(data, position, following, reader, depth + 1), keep)
        elif what == MESSAGES:
            result.setdefault(name, []).append(_message(data, position, following, reader, depth + 1))
        elif what == MAP:
            entry = _message(data, position, following, reader, depth + 1)
            result.setdefault(name, {})[entry["key"]] = entry["value"]
        elif what == TEXTS:
            result.setdefault(name, []).append(data[position:following].decode(errors="replace"))
        elif what == INLINE:
            _fields(data, position, following, reader, depth + 1, result)
        elif what == RAW:
            _put(result, name, reader(data[position:following]), keep)
        else:
            result.setdefault(name, []).extend(map(reader, _packed(data, position, following)))
        position = following
    if position > end:
        raise FaultError(_EOF)


def _put(result: Object, name: str, value: Any, keep: bool) -> None:
    if value or keep:
        result[name] = value
    else:
        result.pop(name, None)


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFFFFFFFFFFFFFF, position
    raise FaultError("proto: integer overflow")


def _packed(data: bytes, position: int, end: int) -> list[int]:
    values: list[int] = []
    while position < end:
        value, position = _varint(data, position)
        values.append(value)
    if position > end:
        raise FaultError(_EOF)
    return values


def _number(data: bytes, position: int, end: int) -> int | float:
    if position + 8 > end:
        raise FaultError(_EOF)
    value: float = _double.unpack_from(data, position)[0]
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def _unknown(data: bytes, position: int, end: int, tag: int, plan: Plan) -> int:
    """Past a field that the plan does not have, such as one of a later version; or says what is wrong with it."""
    number, wire = tag >> 3, tag & 7
    if wire == END_GROUP:
        raise FaultError(f"proto: {plan.name}: wiretype end group for non-group")
    if number == 0:
        raise FaultError(f"proto: {plan.name}: illegal tag 0 (wire type {wire})")
    if called := plan.called(number):
        raise FaultError(f"proto: wrong wireType = {wire} for field {called}")
    groups = 0
    while True:
        position = _skipped(data, position, wire)
        groups += (wire == GROUP) - (wire == END_GROUP)
        if position > end or (groups and position == end):
            raise FaultError(_EOF)
        if not groups:
            return position
        tag, position = _varint(data, position)
        wire = tag & 7


def _skipped(data: bytes, position: int, wire: int) -> int:
    """The position after a value of a wire type."""
    if wire == VARINT:
        return _varint(data, position)[1]
    if wire == BYTES:
        length, position = _varint(data, position)
        return position + length
    if wire in {FIXED64, FIXED32}:
        return position + (8 if wire == FIXED64 else 4)
    if wire in {GROUP, END_GROUP}:
        return position
    raise FaultError(f"proto: illegal wireType {wire}")
