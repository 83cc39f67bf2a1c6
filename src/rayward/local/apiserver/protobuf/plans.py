"""Plans of the built-in types, made from the recordings when first needed."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from rayward.local.apiserver import recorded
from rayward.local.apiserver.protobuf import reader
from rayward.local.apiserver.protobuf.reader import Plan
from rayward.local.apiserver.protobuf.values import SPECIAL, wrapped_list

_PLANS: Final[dict[str, Plan]] = {}


def plan_of(type_name: str) -> Plan:
    """How messages of a type become JSON."""
    plan = _PLANS.get(type_name)
    if plan is None:
        # Known before it is complete: some types hold themselves.
        plan = _PLANS[type_name] = Plan(type_name.rpartition(".")[2])
        _fill(plan, type_name)
    return plan


def _fill(plan: Plan, type_name: str) -> None:
    table = recorded.protobuf()[type_name]
    wire = recorded.wire().get(type_name)
    if wire is None or wire.get("custom"):
        plan.finish = SPECIAL.get(type_name, wrapped_list)
        names = frozenset(str(name) for name, _, _ in table.values())
        _add_fields(plan, table, keep=names, raw=bytes)
    else:
        plan.zero = wire["zero"]
        _add_fields(plan, table, keep=frozenset(wire["pointers"]), raw=_base64)


def _add_fields(
    plan: Plan, table: Mapping[str, Sequence[Any]], keep: frozenset[str], raw: Callable[[bytes], Any]
) -> None:
    for digits, (name, kind, of) in table.items():
        number = int(digits)
        shape, _, element = kind.rpartition(" ")
        if kind == "inline":
            inner = Plan(plan.name)
            _add_fields(inner, of, keep, raw)
            plan.add(number, reader.BYTES, name, reader.INLINE, reader=inner)
        elif shape == "map":
            plan.add(number, reader.BYTES, name, reader.MAP, reader=_entry(element, of))
        elif shape == "list":
            _add_list(plan, number, name, element, of)
        else:
            _add_single(plan, number, name, element, of, name in keep, raw)


def _add_single(
    plan: Plan, number: int, name: str, kind: str, of: str, keep: bool, raw: Callable[[bytes], Any]
) -> None:
    if kind == "message":
        plan.add(number, reader.BYTES, name, reader.MESSAGE, keep=keep, reader=plan_of(of))
    elif kind == "string":
        plan.add(number, reader.BYTES, name, reader.TEXT, keep=keep)
    elif kind == "bytes":
        plan.add(number, reader.BYTES, name, reader.RAW, keep=keep, reader=raw)
    elif kind == "double":
        plan.add(number, reader.FIXED64, name, reader.DOUBLE, keep=keep)
    else:
        plan.add(number, reader.VARINT, name, reader.INTEGER, keep=keep, reader=_INTEGERS[kind])


def _add_list(plan: Plan, number: int, name: str, kind: str, of: str) -> None:
    if kind == "message":
        plan.add(number, reader.BYTES, name, reader.MESSAGES, reader=plan_of(of))
    elif kind == "string":
        plan.add(number, reader.BYTES, name, reader.TEXTS)
    else:
        plan.add(number, reader.VARINT, name, reader.INTEGERS, reader=_INTEGERS[kind])
        plan.add(number, reader.BYTES, name, reader.PACKED, reader=_INTEGERS[kind])


def _entry(kind: str, of: str) -> Plan:
    """The plan of one key and its value."""
    plan = Plan("MapEntry")
    plan.add(1, reader.BYTES, "key", reader.TEXT)
    _add_single(plan, 2, "value", kind, of, keep=True, raw=_base64)
    plan.zero = {"key": "", "value": recorded.wire().get(of, {"zero": None})["zero"] if kind == "message" else ""}
    return plan


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


def _int32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def _int64(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


_INTEGERS: Final[Mapping[str, Callable[[int], Any]]] = {"bool": bool, "int32": _int32, "int64": _int64}
