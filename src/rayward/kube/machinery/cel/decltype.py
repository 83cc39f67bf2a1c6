"""What CEL knows of a value that a schema describes: its type, its fields, and how large it can get."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from google.protobuf import descriptor_pb2

Raw = dict[str, Any]

MAX_REQUEST: Final = 3 * 1024 * 1024
_RESERVED: Final = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if"),
        *("import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_ESCAPED: Final = re.compile(r"__|[-./]|[^a-zA-Z0-9_./-]")
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_IDENTIFIER: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_PACKAGE: Final = "kubernetes.schema"
_Field = descriptor_pb2.FieldDescriptorProto


def escape(name: str) -> str | None:
    """A property name as an identifier of CEL; None where it cannot be one."""
    if not name or "0" <= name[0] <= "9":
        return None
    if name in _RESERVED:
        return f"__{name}__"
    if any(c not in "_./-" and not (c.isascii() and c.isalnum()) for c in name):
        return None
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)


@dataclass(slots=True)
class DeclType:
    """A type with bounds.

    ``kind`` is one of object, list, map, string, bytes, duration, timestamp, bool, double, int and dyn. Fields are
    under their escaped names; ``names`` gives back the property's own name.
    """

    kind: str
    elem: DeclType | None = None
    fields: Mapping[str, DeclType] = field(default_factory=dict[str, "DeclType"])
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    max_elements: int = 0
    min_size: int = 0
    nullable: bool = False
    is_date: bool = False
    list_type: str = ""
    map_keys: tuple[str, ...] = ()

    @property
    def needs_reading(self) -> bool:
        """Whether the JSON value is not yet the CEL value."""
        return self.kind in ("timestamp", "duration", "bytes", "double")

    def signature(self) -> str:
        """The type for the checker, objects aside."""
        match self.kind:
            case "list":
                assert self.elem is not None
                return f"list<{self.elem.signature()}>"
            case "map":
                assert self.elem is not None
                return f"map<string, {self.elem.signature()}>"
            case "timestamp" | "duration":
                return f"google.protobuf.{self.kind.title()}"
            case _:
                return self.kind


def declare(raw: Raw, *, resource_root: bool = False) -> DeclType | None:
    """The type of values of a schema; None for what expressions cannot see."""
    declared = _declare(raw, resource_root)
    if declared is not None and raw.get("nullable") is True:
        declared.nullable = True
    return declared


def _declare(raw: Raw, resource_root: bool) -> DeclType | None:
    if raw.get("x-kubernetes-int-or-string") is True:
        return DeclType("dyn", min_size=1, max_elements=_string_bound(raw, MAX_REQUEST - 2))
    match raw.get("type"):
        case "array":
            return _declare_list(raw)
        case "object":
            return _declare_object(raw, resource_root)
        case "string":
            return _declare_string(raw)
        case "boolean":
            return DeclType("bool", min_size=4)
        case "number":
            return DeclType("double", min_size=1)
        case "integer":
            return DeclType("int", min_size=1)
        case _:
            return None


def _declare_list(raw: Raw) -> DeclType | None:
    items = raw.get("items")
    elem = None if items is None else declare(items, resource_root=_embedded(items))
    if elem is None:
        return None
    bound = raw.get("maxItems")
    return DeclType(
        "list",
        elem=elem,
        max_elements=(MAX_REQUEST - 2) // (elem.min_size + 1) if bound is None else max(bound, 0),
        min_size=2,
        list_type=raw.get("x-kubernetes-list-type") or "",
        map_keys=tuple(raw.get("x-kubernetes-list-map-keys") or ()),
    )


def _embedded(raw: Raw) -> bool:
    return raw.get("x-kubernetes-embedded-resource") is True


def _declare_object(raw: Raw, resource_root: bool) -> DeclType | None:
    additional: Any = raw.get("additionalProperties")
    if additional.__class__ is dict and not resource_root:
        elem = declare(additional, resource_root=_embedded(additional))
        if elem is None:
            return None
        bound = raw.get("maxProperties")
        most = (MAX_REQUEST - 2) // (elem.min_size + 6) if bound is None else max(bound, 0)
        return DeclType("map", elem=elem, max_elements=most, min_size=2)
    properties: dict[str, Raw] = dict(raw.get("properties") or {})
    if resource_root:
        _add_identity(properties)
    required: list[str] = raw.get("required") or []
    fields: dict[str, DeclType] = {}
    names: dict[str, str] = {}
    size = 2
    for name, prop in properties.items():
        declared = declare(prop, resource_root=_embedded(prop))
        if declared is None:
            continue
        if (escaped := escape(name)) is not None:
            fields[escaped] = declared
            names[escaped] = name
            # Behind a dot a keyword may also stand as it is.
            if name in _RESERVED:
                fields[name] = declared
                names[name] = name
        if name in required and prop.get("default") is None:
            size += len(name.encode()) + declared.min_size + 4
    return DeclType("object", fields=fields, names=names, min_size=size)


def _add_identity(properties: dict[str, Raw]) -> None:
    """A resource's kind, apiVersion and name can always be asked for, whatever its schema says."""
    text: Raw = {"type": "string"}
    meta = properties.get("metadata") or {}
    declared: dict[str, Raw] = meta.get("properties") or {}
    complete = (
        meta.get("type") == "object"
        and all((properties.get(name) or {}).get("type") == "string" for name in ("kind", "apiVersion"))
        and all((declared.get(name) or {}).get("type") == "string" for name in ("name", "generateName"))
    )
    if not complete:
        properties["kind"] = properties["apiVersion"] = text
        properties["metadata"] = {"type": "object", "properties": {"name": text, "generateName": text}}


def _string_bound(raw: Raw, otherwise: int) -> int:
    bound = raw.get("maxLength")
    # A character takes up to four bytes.
    return otherwise if bound is None else max(bound, 0) * 4


def _declare_string(raw: Raw) -> DeclType:
    match raw.get("format"):
        case "byte":
            bound = raw.get("maxLength")
            return DeclType("bytes", max_elements=MAX_REQUEST - 2 if bound is None else max(bound, 0), min_size=2)
        case "duration":
            return DeclType("duration", max_elements=32, min_size=3)
        case "date":
            return DeclType("timestamp", max_elements=12, min_size=12, is_date=True)
        case "date-time":
            return DeclType("timestamp", max_elements=32, min_size=21)
        case _:
            longest = max((len(v.encode()) for v in raw.get("enum") or () if isinstance(v, str)), default=0)
            otherwise = longest if raw.get("enum") else MAX_REQUEST - 2
            return DeclType("string", max_elements=_string_bound(raw, otherwise), min_size=2)


@dataclass(slots=True)
class Messages:
    """Objects as message types for the checker, with only the fields that the expressions name."""

    words: frozenset[str]
    _file: descriptor_pb2.FileDescriptorProto = field(
        default_factory=lambda: descriptor_pb2.FileDescriptorProto(
            name="kubernetes/schema.proto",
            package=_PACKAGE,
            syntax="proto2",
            dependency=[f"google/protobuf/{name}.proto" for name in ("struct", "timestamp", "duration")],
        )
    )
    _count: int = 0

    @classmethod
    def for_expressions(cls, *expressions: str) -> Messages:
        """Messages with the fields whose names occur in any of the expressions."""
        return cls(frozenset(word for text in expressions for word in _IDENTIFIER.findall(text)))

    def signature(self, declared: DeclType) -> str:
        """The type of a variable, declaring the messages it needs."""
        match declared.kind:
            case "object":
                return f"{_PACKAGE}.{self._message(declared)}" if self._expressible(declared) else "dyn"
            case "list":
                assert declared.elem is not None
                return f"list<{self.signature(declared.elem)}>"
            case "map":
                assert declared.elem is not None
                return f"map<string, {self.signature(declared.elem)}>"
            case _:
                return declared.signature()

    def serialized(self) -> bytes:
        """The file that declares them all."""
        return self._file.SerializeToString()

    def _expressible(self, declared: DeclType) -> bool:
        """Protobuf forbids fields whose names differ only in underscores and case."""
        names = [declared.names[name].replace("_", "").lower() for name in declared.fields if name in self.words]
        return len(names) == len(set(names))

    def _message(self, declared: DeclType) -> str:
        self._count += 1
        name = f"Type{self._count}"
        message = descriptor_pb2.DescriptorProto(name=name)
        for escaped, inner in declared.fields.items():
            if escaped in self.words:
                self._add_field(message, name, escaped, inner)
        self._file.message_type.append(message)
        return name

    def _add_field(self, message: descriptor_pb2.DescriptorProto, owner: str, name: str, declared: DeclType) -> None:
        number = len(message.field) + 1
        # JSON names play no part here, but must differ where two fields differ only in case or underscores.
        added = message.field.add(name=name, number=number, json_name=f"f{number}", label=_Field.LABEL_OPTIONAL)
        if declared.kind == "list":
            assert declared.elem is not None
            if declared.elem.kind in ("list", "map"):
                added.type, added.type_name = _Field.TYPE_MESSAGE, ".google.protobuf.ListValue"
                return
            added.label = _Field.LABEL_REPEATED
            declared = declared.elem
        elif declared.kind == "map":
            assert declared.elem is not None
            if declared.elem.kind in ("list", "map"):
                added.type, added.type_name = _Field.TYPE_MESSAGE, ".google.protobuf.Struct"
                return
            added.label = _Field.LABEL_REPEATED
            added.type, added.type_name = (
                _Field.TYPE_MESSAGE,
                f".{_PACKAGE}.{owner}.{self._entry(message, name, declared.elem)}",
            )
            return
        self._set_type(added, declared)

    def _entry(self, message: descriptor_pb2.DescriptorProto, name: str, value: DeclType) -> str:
        # The name that protobuf demands of a map's entry type.
        entry_name = "".join(part[:1].upper() + part[1:] for part in name.split("_")) + "Entry"
        entry = message.nested_type.add(name=entry_name)
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=_Field.TYPE_STRING, label=_Field.LABEL_OPTIONAL)
        self._set_type(entry.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL), value)
        return entry_name

    def _set_type(self, added: descriptor_pb2.FieldDescriptorProto, declared: DeclType) -> None:
        match declared.kind:
            case "object" if self._expressible(declared):
                added.type, added.type_name = _Field.TYPE_MESSAGE, f".{_PACKAGE}.{self._message(declared)}"
            case "timestamp" | "duration":
                added.type, added.type_name = _Field.TYPE_MESSAGE, f".google.protobuf.{declared.kind.title()}"
            case "dyn" | "object":
                added.type, added.type_name = _Field.TYPE_MESSAGE, ".google.protobuf.Value"
            case kind:
                added.type = {
                    "string": _Field.TYPE_STRING,
                    "bytes": _Field.TYPE_BYTES,
                    "bool": _Field.TYPE_BOOL,
                    "double": _Field.TYPE_DOUBLE,
                    "int": _Field.TYPE_INT64,
                }[kind]
