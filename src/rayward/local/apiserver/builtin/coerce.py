"""The typed round trip: what a server that decodes into Go structs and writes them again keeps of a body.

Compiled once per type from the recorded structure; the body is changed in place. Unknown fields go and are reported,
nulls and empty values go where Go's ``omitempty`` drops them, and what Go always writes is filled in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, cast

import orjson

from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin import scalars
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.scalars import mismatch
from rayward.local.apiserver.recorded import protobuf, schema, wire

At = tuple[Any, str | int] | None
"""Where a value lies: the place of what holds it, and its key or index there."""
Walk = Callable[[Any, At, list[str]], Any]
"""Bring one value into form; DROP when nothing is left of it."""

DROP: Final[Any] = object()

_RANGES: Final = {"int32": 2**31, "int64": 2**63}
_PREFIX: Final = "#/components/schemas/"
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_PROPS: Final = f"{_EXTENSIONS}JSONSchemaProps"


def compile_kind(type_name: str) -> Callable[[Object], list[str]]:
    """The ``coerce`` of a kind, compiled when it is first called."""

    def coerce(obj: Object) -> list[str]:
        unknown: list[str] = []
        _struct(type_name)(obj, None, unknown)
        return unknown

    return coerce


class _MapKey(str):
    """The key of a map's item: part of where it is, though Go does not name it in a mismatch."""


class _Embedded(str):
    """A level that Go has and JSON has not; only type errors show it."""

    __slots__ = ()


# By type: the Go struct whose fields JSON shows one level up. Which fields they are is recorded.
_EMBEDDED: Final = {
    "ConfigMapEnvSource": "LocalObjectReference",
    "ConfigMapKeySelector": "LocalObjectReference",
    "ConfigMapProjection": "LocalObjectReference",
    "ConfigMapVolumeSource": "LocalObjectReference",
    "EphemeralContainer": "EphemeralContainerCommon",
    "IngressRule": "IngressRuleValue",
    "PersistentVolumeSpec": "PersistentVolumeSource",
    "Probe": "ProbeHandler",
    "RuleWithOperations": "Rule",
    "SecretEnvSource": "LocalObjectReference",
    "SecretKeySelector": "LocalObjectReference",
    "SecretProjection": "LocalObjectReference",
    "Volume": "VolumeSource",
}


def path(at: At) -> str:
    """``spec.containers[0]``."""
    parts: list[str] = []
    while at is not None:
        at, key = at
        if not isinstance(key, _Embedded):
            parts.append(f"[{key}]" if isinstance(key, int) else f".{key}")
    return "".join(reversed(parts)).removeprefix(".")


def _fields_path(at: At) -> str:
    names: list[str] = []
    while at is not None:
        at, key = at
        if isinstance(key, str) and not isinstance(key, _MapKey):
            names.append(key)
    return ".".join(reversed(names))


@cache
def _struct(type_name: str) -> Callable[[Any, At, list[str]], Object]:
    facts = wire()[type_name]
    owner = facts["go"].rpartition(".")[2]
    properties: Mapping[str, Any] = schema(type_name).get("properties") or NOTHING
    pointers = frozenset(facts["pointers"])
    texts: dict[str, type] = {}
    walks: dict[str, Walk] = {}
    for name, go in facts["fields"].items():
        shape = properties.get(name) or NOTHING
        if shape.get("type") == "string" and shape.get("format") != "byte":
            texts[name] = str
        elif shape.get("type") == "boolean":
            texts[name] = bool
        else:
            walks[name] = _walk(shape, go, owner, pointer=name in pointers)
    embedded = _embedded_fields(type_name, owner)
    for name in embedded.keys() & walks.keys():
        walks[name] = _one_level_up(walks[name], embedded[name])
    go_types: Mapping[str, str] = facts["fields"]
    always = tuple((name, _maker(value)) for name, value in facts["zero"].items())
    text_of, walk_of = texts.get, walks.get

    def struct(obj: Any, at: At, unknown: list[str]) -> Object:
        dropped: list[str] | None = None
        for key, value in obj.items():
            kind = text_of(key)
            if kind is not None:
                if type(value) is kind:
                    if value or key in pointers:
                        continue
                elif value is not None:
                    holder = (at, embedded[key]) if key in embedded else at
                    raise mismatch(value, _where(owner, (holder, key)), go_types[key])
            else:
                walk = walk_of(key)
                if walk is None:
                    unknown.append(path((at, key)))
                elif value is not None:
                    kept = walk(value, (at, key), unknown)
                    if kept is value:
                        continue
                    if kept is not DROP:
                        obj[key] = kept
                        continue
            if dropped is None:
                dropped = [key]
            else:
                dropped.append(key)
        if dropped is not None:
            for key in dropped:
                del obj[key]
        for key, zero in always:
            if key not in obj:
                obj[key] = zero()
        return obj

    return struct


def _embedded_fields(type_name: str, owner: str) -> Mapping[str, _Embedded]:
    name = _Embedded(_EMBEDDED.get(owner, ""))
    if not name:
        return {}
    fields = protobuf().get(type_name, {}).values()
    return {inner[0]: name for _, kind, of in fields if kind == "inline" for inner in of.values()}


def _one_level_up(walk: Walk, name: _Embedded) -> Walk:
    def embedded(value: Any, at: At, unknown: list[str]) -> Any:
        assert at is not None
        return walk(value, ((at[0], name), at[1]), unknown)

    return embedded


def _maker(zero: Any) -> Callable[[], Any]:
    if isinstance(zero, dict):
        if not zero:
            return dict
        encoded = orjson.dumps(zero)
        return lambda: orjson.loads(encoded)
    return lambda: zero


def _walk(shape: Mapping[str, Any], go: str, owner: str, *, pointer: bool) -> Walk:
    reference = _reference(shape)
    if reference:
        facts = wire()[reference]
        if facts.get("custom"):
            return _custom(reference, owner)
        return _nested(reference, go, owner)
    kind = shape.get("type")
    if kind == "array":
        return _list(shape.get("items") or NOTHING, go, owner)
    if kind == "object":
        return _map(shape.get("additionalProperties") or NOTHING, go, owner)
    if kind == "integer":
        return _integer(go, owner, pointer=pointer)
    if kind == "number":
        return _number(go, owner)
    if kind == "string":
        return _bytes(go, owner)
    return _anything


def _reference(shape: Mapping[str, Any]) -> str:
    if "$ref" in shape:
        return shape["$ref"].removeprefix(_PREFIX)
    for part in shape.get("allOf") or NO_ITEMS:
        if "$ref" in part:
            return part["$ref"].removeprefix(_PREFIX)
    return ""


def _anything(value: Any, _at: At, _unknown: list[str]) -> Any:
    return value


def _where(owner: str, at: At) -> str:
    return f"struct field {owner}.{_fields_path(at)}"


def _nested(type_name: str, go: str, owner: str) -> Walk:
    inner: Callable[[Any, At, list[str]], Object] | None = None

    def nested(value: Any, at: At, unknown: list[str]) -> Any:
        nonlocal inner
        if inner is None:
            inner = _struct(type_name)
        if type(value) is not dict:
            raise mismatch(value, _where(owner, at), go)
        return inner(value, at, unknown)

    return nested


def _integer(go: str, owner: str, *, pointer: bool) -> Walk:
    limit = _RANGES[go]

    def integer(value: Any, at: At, _unknown: list[str]) -> Any:
        if type(value) is not int or not -limit <= value < limit:
            raise mismatch(value, _where(owner, at), go)
        return value if value or pointer else DROP

    return integer


def _number(go: str, owner: str) -> Walk:
    def number(value: Any, at: At, _unknown: list[str]) -> Any:
        if type(value) is float:
            return int(value) if value.is_integer() and abs(value) < 1e21 else value
        if type(value) is not int:
            raise mismatch(value, _where(owner, at), go)
        return value

    return number


def _bytes(go: str, owner: str) -> Walk:
    def octets(value: Any, at: At, _unknown: list[str]) -> Any:
        if type(value) is not str:
            raise mismatch(value, _where(owner, at), go)
        return scalars.base64(value) if value else DROP

    return octets


def _element(shape: Mapping[str, Any], go: str, owner: str) -> tuple[Walk, Callable[[], Any]]:
    """How to read an element of a list or map, and what a null there means."""
    reference = _reference(shape)
    if reference:
        zero = _maker(wire()[reference]["zero"])
        return _walk(shape, go, owner, pointer=True), zero
    kind = shape.get("type")
    if kind == "string" and shape.get("format") != "byte":
        return _text(go, owner), str
    if kind == "integer":
        return _walk(shape, go, owner, pointer=True), int
    if kind == "string":
        return _bytes_element(go, owner), str
    if kind in ("array", "object"):
        return _walk(shape, go, owner, pointer=True), lambda: None
    return _anything, lambda: None


def _text(go: str, owner: str) -> Walk:
    def text(value: Any, at: At, _unknown: list[str]) -> Any:
        if type(value) is not str:
            raise mismatch(value, _where(owner, at), go)
        return value

    return text


def _bytes_element(go: str, owner: str) -> Walk:
    def octets(value: Any, at: At, _unknown: list[str]) -> Any:
        if type(value) is not str:
            raise mismatch(value, _where(owner, at), go)
        return scalars.base64(value)

    return octets


def _list(items: Mapping[str, Any], go: str, owner: str) -> Walk:
    plain = items.get("type") == "string" and items.get("format") != "byte"
    walk, zero = _element(items, go.removeprefix("[]"), owner)

    def items_of(value: Any, at: At, unknown: list[str]) -> Any:
        if type(value) is not list:
            raise mismatch(value, _where(owner, at), go)
        several = cast("list[Any]", value)
        for index, item in enumerate(several):
            if plain and type(item) is str:
                continue
            if item is None:
                several[index] = zero()
                continue
            kept = walk(item, (at, index), unknown)
            if kept is not item:
                several[index] = zero() if kept is DROP else kept
        return several or DROP

    return items_of


def _map(values: Mapping[str, Any], go: str, owner: str) -> Walk:
    plain = values.get("type") == "string" and values.get("format") != "byte"
    inner = _map_value_type(go, values)
    walk, zero = _element(values, inner, owner)

    def mapping(value: Any, at: At, unknown: list[str]) -> Any:
        if type(value) is not dict:
            raise mismatch(value, _where(owner, at), go)
        held = cast("dict[str, Any]", value)
        for key, item in held.items():
            if plain and type(item) is str:
                continue
            if item is None:
                held[key] = zero()
                continue
            kept = walk(item, (at, _MapKey(key)), unknown)
            if kept is not item:
                held[key] = zero() if kept is DROP else kept
        return held or DROP

    return mapping


def _map_value_type(go: str, values: Mapping[str, Any]) -> str:
    if go.startswith("map["):
        return go.partition("]")[2]
    # A named map such as v1.ResourceList.
    reference = _reference(values)
    return wire()[reference]["go"] if reference else "string"


def _custom(reference: str, owner: str) -> Walk:
    name = reference.rpartition(".")[2]
    reader = _READERS.get(name)
    if reader is not None:
        read = reader

        def scalar(value: Any, at: At, _unknown: list[str]) -> Any:
            return read(value, lambda: _where(owner, at))

        return scalar
    if name in ("JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray"):
        return _schema_or_other
    return _anything


_READERS: Final[Mapping[str, scalars.Read]] = {
    "Quantity": scalars.quantity,
    "Time": scalars.time,
    "MicroTime": scalars.micro_time,
    "IntOrString": scalars.int_or_string,
}


def _schema_or_other(value: Any, at: At, unknown: list[str]) -> Any:
    if type(value) is dict:
        return _struct(_PROPS)(value, at, unknown)
    if type(value) is list:
        _walk_schemas(cast("list[Any]", value), at, unknown)
    return cast("Any", value)


def _walk_schemas(items: list[Any], at: At, unknown: list[str]) -> None:
    for index, item in enumerate(items):
        if type(item) is dict:
            _struct(_PROPS)(item, (at, index), unknown)
