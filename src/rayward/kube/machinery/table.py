"""``meta.k8s.io/v1`` Tables: what the server computes so that ``kubectl get`` only has to print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from rayward.kube.machinery import duration, jsonpath
from rayward.kube.machinery.jsonvalue import Object

Include = Literal["", "None", "Metadata", "Object"]
"""How much of each object a row carries; empty means its metadata."""

Cells = Callable[[Object, datetime], list[Any]]
"""The cells of one object at a moment."""

_NAME: Final[Object] = {
    "name": "Name",
    "type": "string",
    "format": "name",
    "description": "Name of the object, unique among its kind within a namespace.",
    "priority": 0,
}
_AGE: Final[Object] = {
    "name": "Age",
    "type": "date",
    "description": "Time since the object was created.",
    "jsonPath": ".metadata.creationTimestamp",
}
_DESIRED: Final[Object] = {
    "name": "Desired",
    "type": "integer",
    "description": "Number of desired replicas",
    "jsonPath": ".spec.replicas",
}
_AVAILABLE: Final[Object] = {
    "name": "Available",
    "type": "integer",
    "description": "Number of actual replicas",
    "jsonPath": ".status.replicas",
}
SCALE_COLUMNS: Final[Sequence[Object]] = (_DESIRED, _AVAILABLE, _AGE)
"""Columns of the Scale objects of custom kinds."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a kind and how its cells come about."""

    definitions: tuple[Object, ...]
    cells: Cells


def custom_layout(columns: Sequence[Object] | None) -> Layout:
    """The layout of a custom kind's version: Name, then its ``additionalPrinterColumns``, or Age if it has none.

    Raises:
        JSONPathError: The path of a column is malformed.
    """
    columns = columns or (_AGE,)
    paths = [(column.get("type", ""), jsonpath.parse_column(column.get("jsonPath", ""))) for column in columns]

    def cells(obj: Object, now: datetime) -> list[Any]:
        metadata: Object = obj.get("metadata") or {}
        return [metadata.get("name") or "", *(_cell(kind, path.first(obj), now) for kind, path in paths)]

    return Layout((_NAME, *map(_definition, columns)), cells)


def _definition(column: Object) -> Object:
    path = column.get("jsonPath", "")
    return {
        "name": column.get("name", ""),
        "type": column.get("type", ""),
        "format": column.get("format") or "",
        "description": column.get("description") or f"Custom resource definition column (in JSONPath format): {path}",
        "priority": column.get("priority") or 0,
    }


def _cell(kind: str, value: Any, now: datetime) -> Any:
    if value is jsonpath.ABSENT:
        return None
    match kind:
        case "string":
            return "<no value>" if value is None else jsonpath.printed(value)
        case "integer" if isinstance(value, int | float) and not isinstance(value, bool):
            return _int64(value)
        case "number" if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        case "boolean" if isinstance(value, bool):
            return value
        case "date" if isinstance(value, str):
            return duration.since(value, now)
        case _:
            return None


def _int64(value: float) -> int:
    number = int(value)
    # What no 64 bits hold becomes the smallest number, as Go's conversion makes it.
    return number if -(2**63) <= number < 2**63 else -(2**63)


def build(
    layout: Layout,
    objects: Iterable[Object],
    *,
    now: datetime,
    metadata: Object,
    include: Include = "",
    headers: bool = True,
    version: str = "v1",
) -> Object:
    """The Table of some objects.

    Args:
        layout: The columns of their kind.
        objects: One row each.
        now: The moment that ages are counted to.
        metadata: The list's metadata, or of a single object just its resource version.
        include: How much of each object a row carries.
        headers: False in all but the first event of a watch.
        version: ``v1`` or ``v1beta1``, as asked for.
    """
    api_version = f"meta.k8s.io/{version}"
    return {
        "kind": "Table",
        "apiVersion": api_version,
        "metadata": metadata,
        "columnDefinitions": list(layout.definitions) if headers else None,
        "rows": [row(layout, obj, now=now, include=include, version=version) for obj in objects],
    }


def row(layout: Layout, obj: Object, *, now: datetime, include: Include = "", version: str = "v1") -> Object:
    """One row of a Table."""
    return {"cells": layout.cells(obj, now), "object": _carried(obj, include, f"meta.k8s.io/{version}")}


def _carried(obj: Object, include: Include, api_version: str) -> Object | None:
    if include == "Object":
        return obj
    return None if include == "None" else partial_metadata(obj, api_version)


def partial_metadata(obj: Object, api_version: str = "meta.k8s.io/v1") -> Object:
    """A ``PartialObjectMetadata`` that shares the object's metadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": obj.get("metadata") or {}}


def check_include(include: str) -> str | None:
    """What is wrong with an ``includeObject`` parameter."""
    if include in ("", "None", "Metadata", "Object"):
        return None
    return (
        "Unable to convert to Table as requested: includeObject: "
        f"Invalid value: \"{include}\": must be 'Metadata', 'Object', 'None', or empty"
    )
