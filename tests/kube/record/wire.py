"""How Go writes each recorded type as JSON: which fields survive empty, and what errors call them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from tests.kube.record import golang
from tests.kube.record.server import Object

# Not in the OpenAPI documents, but answered all the same.
_META: Final = tuple(
    f"io.k8s.apimachinery.pkg.apis.meta.v1.{name}"
    for name in (
        "PartialObjectMetadata",
        "PartialObjectMetadataList",
        "Table",
        "TableColumnDefinition",
        "TableRow",
        "TableRowCondition",
    )
)


def go_types() -> dict[str, Any]:
    """What the Go program ``wire`` says of every built-in type."""
    return json.loads(golang.run("./wire"))


def record(types: dict[str, Any], names: Iterable[str]) -> dict[str, Object]:
    """The recording for the named types and a few that only answers are made of."""
    return {name: _trimmed(types[name]) for name in sorted({*names, *_META}) if name in types}


def _trimmed(info: Object) -> Object:
    if info.get("custom"):
        return {"go": info["go"], "zero": info["zero"], "custom": True}
    fields: dict[str, Object] = info.get("fields", {})
    return {
        "go": info["go"],
        "zero": info["zero"],
        "fields": {name: field["go"] for name, field in fields.items()},
        "pointers": sorted(name for name, field in fields.items() if field.get("pointer")),
    }
