"""An object's ``metadata`` read as Go reads ObjectMeta: known fields, their types, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from rayward.kube.machinery import gotext
from rayward.kube.machinery.cel import times
from rayward.kube.machinery.cel.values import EvaluationError

_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"


class MetadataError(ValueError):
    """A known field has the wrong type; the text is the Go decoder's."""


Reader = Callable[[Any, "_Place"], Any]


class _Place:
    """Where the reader is: the struct and field path for messages, the path for unknown fields."""

    __slots__ = ("field", "path", "struct", "unknown")

    def __init__(self, struct: str, field: str, path: str, unknown: list[str]) -> None:
        self.struct = struct
        self.field = field
        self.path = path
        self.unknown = unknown

    def refuse(self, value: Any, wanted: str) -> MetadataError:
        given = _json_kind(value)
        where = f"struct field {self.struct}.{self.field}" if self.field else "value"
        return MetadataError(f"json: cannot unmarshal {given} into Go {where} of type {wanted}")


def coerce(value: Any, path: str = "metadata") -> tuple[dict[str, Any], list[str]]:
    """Reads metadata.

    Args:
        value: What the object holds.
        path: Where it stands in the object.

    Returns:
        The known fields without empty ones, and the paths of unknown fields.

    Raises:
        MetadataError: A known field has the wrong type.
    """
    unknown: list[str] = []
    if value is None:
        return {}, unknown
    place = _Place("ObjectMeta", "", path, unknown)
    if value.__class__ is not dict:
        raise place.refuse(value, "v1.ObjectMeta")
    clean = _read_struct(value, place, _META)
    unknown.sort()
    return clean, unknown


def _json_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if value.__class__ is list else "object"


def _read_struct(value: dict[str, Any], place: _Place, readers: Mapping[str, Reader]) -> dict[str, Any]:
    clean: dict[str, Any] = {}
    for name, item in value.items():
        reader = readers.get(name)
        if reader is None:
            place.unknown.append(f"{place.path}.{name}")
            continue
        if item.__class__ is str and reader is _string:
            if item:
                clean[name] = item
            continue
        field = f"{place.field}.{name}" if place.field else name
        read = reader(item, _Place(place.struct, field, f"{place.path}.{name}", place.unknown))
        if read is not None:
            clean[name] = read
    return clean


def _string(value: Any, place: _Place) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise place.refuse(value, "string")
    return value or None


def _kept_string(value: Any, place: _Place) -> str:
    return _string(value, place) or ""


def _boolean(value: Any, place: _Place) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise place.refuse(value, "bool")
    return value


def _integer(value: Any, place: _Place) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise place.refuse(value, "int64")
    if isinstance(value, float) or not -(2**63) <= value < 2**63:
        where = f"struct field {place.struct}.{place.field}"
        raise MetadataError(f"json: cannot unmarshal number {gotext.json_text(value)} into Go {where} of type int64")
    return value


def _counted(value: Any, place: _Place) -> int | None:
    return _integer(value, place) or None


def _time(value: Any, place: _Place) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise place.refuse(value, "string")
    try:
        times.parse_timestamp(value)
    except EvaluationError:
        shown = gotext.quoted(value)
        raise MetadataError(f"parsing time {shown} as {gotext.quoted(_LAYOUT)}: {_parse_problem(value)}") from None
    return value


def _parse_problem(value: str) -> str:
    """Which part of a time Go's parser stumbles over."""
    rest = value
    for layout, size in (
        ("2006", 4),
        ("-", 1),
        ("01", 2),
        ("-", 1),
        ("02", 2),
        ("T", 1),
        ("15", 2),
        (":", 1),
        ("04", 2),
    ):
        part = rest[:size]
        if not (part == layout if not layout[0].isdigit() else len(part) == size and part.isdigit()):
            return f"cannot parse {gotext.quoted(rest)} as {gotext.quoted(layout)}"
        rest = rest[size:]
    for layout, size in ((":", 1), ("05", 2)):
        part = rest[:size]
        if not (part == layout if not layout[0].isdigit() else len(part) == size and part.isdigit()):
            return f"cannot parse {gotext.quoted(rest)} as {gotext.quoted(layout)}"
        rest = rest[size:]
    return f'cannot parse {gotext.quoted(rest)} as "Z07:00"'


def _string_map(value: Any, place: _Place) -> dict[str, str] | None:
    if value is None:
        return None
    if value.__class__ is not dict:
        raise place.refuse(value, "map[string]string")
    for item in value.values():
        if item.__class__ is not str:
            break
    else:
        return value or None
    clean: dict[str, str] = {}
    for name, item in value.items():
        clean[name] = _kept_string(item, place)
    return clean


def _strings(value: Any, place: _Place) -> list[str] | None:
    if value is None:
        return None
    if value.__class__ is not list:
        raise place.refuse(value, "[]string")
    return [_kept_string(item, place) for item in value] or None


def _structs(struct: str, readers: Mapping[str, Reader], required: tuple[str, ...] = ()) -> Reader:
    def read(value: Any, place: _Place) -> list[dict[str, Any]] | None:
        if value is None:
            return None
        if value.__class__ is not list:
            raise place.refuse(value, f"[]v1.{struct}")
        items: list[dict[str, Any]] = []
        for index, item in enumerate(value):
            here = _Place(struct, place.field, f"{place.path}[{index}]", place.unknown)
            if item is None:
                items.append(dict.fromkeys(required, ""))
                continue
            if item.__class__ is not dict:
                raise place.refuse(item, f"v1.{struct}")
            clean = _read_struct(item, here, readers)
            for name in required:
                clean.setdefault(name, "")
            items.append(clean)
        return items or None

    return read


def _raw(value: Any, _: _Place) -> Any:
    return value


_OWNER: Final[dict[str, Reader]] = {
    "apiVersion": _kept_string,
    "kind": _kept_string,
    "name": _kept_string,
    "uid": _kept_string,
    "controller": _boolean,
    "blockOwnerDeletion": _boolean,
}
_MANAGED: Final[dict[str, Reader]] = {
    "manager": _string,
    "operation": _string,
    "apiVersion": _string,
    "time": _time,
    "fieldsType": _string,
    "fieldsV1": _raw,
    "subresource": _string,
}
_META: Final[dict[str, Reader]] = {
    "name": _string,
    "generateName": _string,
    "namespace": _string,
    "selfLink": _string,
    "uid": _string,
    "resourceVersion": _string,
    "generation": _counted,
    "creationTimestamp": _time,
    "deletionTimestamp": _time,
    "deletionGracePeriodSeconds": _integer,
    "labels": _string_map,
    "annotations": _string_map,
    "ownerReferences": _structs("OwnerReference", _OWNER, ("apiVersion", "kind", "name", "uid")),
    "finalizers": _strings,
    "managedFields": _structs("ManagedFieldsEntry", _MANAGED),
}
