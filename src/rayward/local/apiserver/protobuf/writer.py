"""The protobuf wire format, written by the recorded tables, for clients that read nothing else.

Empty values that a Go server would write out are left away: a reader takes them for the same.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from struct import Struct
from typing import Any, Final

import orjson

from rayward.kube.machinery.jsonvalue import Object
from rayward.local.apiserver import recorded
from rayward.local.apiserver.protobuf.reader import BYTES, FIXED64, VARINT

_double: Final = Struct("<d")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."

_Field = tuple[int, str, str, str, Any]
"""Number, JSON name, ``list``, ``map`` or nothing, protobuf type, and the type of a message."""


def message(value: Any, type_name: str) -> bytes:
    """A JSON value as the message of a type."""
    shape = recorded.wire().get(type_name)
    if shape is None or shape.get("custom"):
        value = _CUSTOM.get(type_name, _list)(value)
    return _fields(value, fields_of(type_name))


def partial(value: Object) -> bytes:
    """The metadata of an object or of a list, of which no table tells."""
    if "items" not in value:
        return _fields(value, [(1, "metadata", "", "message", f"{_META}ObjectMeta")])
    head = _fields(value, [(1, "metadata", "", "message", f"{_META}ListMeta")])
    return head + b"".join(delimited(2, partial(item)) for item in value["items"] or ())


@cache
def fields_of(type_name: str) -> Sequence[_Field]:
    """The fields of a type in the order of their numbers."""
    return _listed(recorded.protobuf()[type_name])


def delimited(number: int, content: bytes) -> bytes:
    """A field of bytes, text or a message."""
    return varint(number << 3 | BYTES) + varint(len(content)) + content


def varint(value: int) -> bytes:
    """A number in as few bytes as it takes; a negative one in ten."""
    value &= 0xFFFFFFFFFFFFFFFF
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    written.append(value)
    return bytes(written)


def _listed(table: Mapping[str, Sequence[Any]]) -> Sequence[_Field]:
    found: list[_Field] = []
    for digits, (name, kind, of) in table.items():
        shape, _, element = kind.rpartition(" ")
        found.append((int(digits), name, shape, element, _listed(of) if element == "inline" else of))
    return sorted(found, key=lambda field: field[0])


def _fields(obj: Object, fields: Sequence[_Field]) -> bytes:
    parts: list[bytes] = []
    for number, name, shape, kind, of in fields:
        if kind == "inline":
            inner = _fields(obj, of)
            if inner:
                parts.append(delimited(number, inner))
        elif (value := obj.get(name)) is None:
            if name in obj and not shape and of in _CUSTOM:
                # null is what JSON shows of an empty one
                parts.append(delimited(number, b""))
        elif shape == "map":
            for key in sorted(value):
                entry = delimited(1, key.encode()) + _single(2, kind, of, value[key])
                parts.append(delimited(number, entry))
        elif shape == "list":
            parts.extend(_single(number, kind, of, each) for each in value)
        else:
            parts.append(_single(number, kind, of, value))
    return b"".join(parts)


def _single(number: int, kind: str, of: str, value: Any) -> bytes:
    if kind == "message":
        return delimited(number, message(value, of))
    if kind == "string":
        return delimited(number, value.encode())
    if kind == "bytes":
        return delimited(number, value if isinstance(value, bytes) else b64decode(value))
    if kind == "double":
        return varint(number << 3 | FIXED64) + _double.pack(value)
    return varint(number << 3 | VARINT) + varint(int(value))


def _list(value: Any) -> Object:
    return {"items": value}


def _moment(value: str) -> Object:
    since = datetime.fromisoformat(value) - _EPOCH
    seconds = since // timedelta(seconds=1)
    return {"seconds": seconds, "nanos": (since - timedelta(seconds=seconds)).microseconds * 1000}


def _integer_or_text(value: int | str) -> Object:
    return {"type": 1, "strVal": value} if isinstance(value, str) else {"type": 0, "intVal": value}


def _raw(name: str) -> Callable[[Any], Object]:
    return lambda value: {name: orjson.dumps(value)}


def _schema_or(otherwise: str) -> Callable[[Any], Object]:
    return lambda value: {otherwise: value} if isinstance(value, list) else {"schema": value}


_MACHINERY: Final = "io.k8s.apimachinery.pkg."
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

_CUSTOM: Final[Mapping[str, Callable[[Any], Object]]] = {
    f"{_MACHINERY}api.resource.Quantity": lambda value: {"string": str(value)},
    f"{_MACHINERY}apis.meta.v1.FieldsV1": _raw("Raw"),
    f"{_MACHINERY}apis.meta.v1.MicroTime": _moment,
    f"{_MACHINERY}apis.meta.v1.Time": _moment,
    f"{_MACHINERY}runtime.RawExtension": _raw("raw"),
    f"{_MACHINERY}util.intstr.IntOrString": _integer_or_text,
    f"{_EXTENSIONS}JSON": _raw("raw"),
    f"{_EXTENSIONS}JSONSchemaPropsOrArray": _schema_or("jSONSchemas"),
    f"{_EXTENSIONS}JSONSchemaPropsOrBool": lambda value: (
        {"allows": value} if isinstance(value, bool) else {"allows": True, "schema": value}
    ),
    f"{_EXTENSIONS}JSONSchemaPropsOrStringArray": _schema_or("property"),
}
"""What the message of a type holds, from what JSON shows."""
