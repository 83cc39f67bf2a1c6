"""Answers in the form the caller asked for: the object, its row in a table, or only its metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import orjson
import yaml

from rayward.kube.machinery.fielderror import invalid
from rayward.local.apiserver import media, options, status
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.media import Accept, Form
from rayward.local.apiserver.request import Request, Response
from rayward.local.apiserver.resource import Resource

if TYPE_CHECKING:
    from rayward.local.apiserver.core import Core

_INCLUDE = {"", "Metadata", "None", "Object"}


def accepted(request: Request) -> Accept:
    """The form this request wants its answer in."""
    return media.accept(request.header(b"accept"))


def shown(core: Core, request: Request, code: int, value: bytes) -> Response:
    """One object, given as its JSON."""
    wanted = accepted(request)
    if wanted.form is Form.TABLE:
        table = make_table(request.resource, wanted, includes(request), [value], {}, core.clock())
        rows_version = orjson.loads(value)["metadata"].get("resourceVersion")
        table["metadata"] = {"resourceVersion": rows_version} if rows_version else {}
        value = orjson.dumps(table)
    elif wanted.form is Form.METADATA:
        value = orjson.dumps(partial(value, wanted.version))
    return _encoded(code, value, wanted, request.warnings)


def shown_object(request: Request, code: int, obj: Object) -> Response:
    """An object that is no stored one: a Status, a review, a scale."""
    return _encoded(code, orjson.dumps(obj), accepted(request), request.warnings)


def _encoded(code: int, value: bytes, wanted: Accept, warnings: Sequence[str]) -> Response:
    headers = warning_headers(warnings)
    if not wanted.yaml:
        return Response(code, value, headers=headers)
    return Response(code, to_yaml(value), b"application/yaml", headers)


def to_yaml(value: bytes) -> bytes:
    """JSON bytes as YAML bytes."""
    return yaml.dump(orjson.loads(value), Dumper=yaml.CSafeDumper, allow_unicode=True).encode()


def warning_headers(warnings: Sequence[str]) -> tuple[tuple[bytes, bytes], ...]:
    """The Warning headers that kubectl prints."""
    return tuple((b"warning", f"299 - {_quoted(text)}".encode()) for text in dict.fromkeys(warnings))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else " " for c in escaped) + '"'


def includes(request: Request) -> str:
    """How much of each object a table row carries."""
    include = options.text(request.query, "includeObject")
    if include not in _INCLUDE:
        error = invalid("includeObject", include, "must be 'Metadata', 'Object', 'None', or empty")
        raise status.invalid("meta.k8s.io", "TableOptions", "", [error])
    return include or "Metadata"


def list_body(
    resource: Resource, wanted: Accept, include: str, values: Iterable[bytes], meta: Object, now: float
) -> bytes:
    """A list of objects in the form the caller asked for."""
    if wanted.form is Form.TABLE:
        return orjson.dumps(make_table(resource, wanted, include, values, meta, now))
    if wanted.form is Form.METADATA:
        items = [partial(value, wanted.version) for value in values]
        for item in items:
            del item["kind"], item["apiVersion"]
        kind, api = "PartialObjectMetadataList", f"meta.k8s.io/{wanted.version}"
        return orjson.dumps({"kind": kind, "apiVersion": api, "metadata": meta, "items": items})
    opening = orjson.dumps({"kind": resource.list_kind, "apiVersion": resource.api_version, "metadata": meta})[:-1]
    if resource.builtin:
        # a typed list says the kind once, not in every item
        cut = len(resource.head)
        joined = b",{".join(value[cut:] for value in values)
        return b"".join((opening, b',"items":[', b"{" if joined else b"", joined, b"]}"))
    return b"".join((opening, b',"items":[', b",".join(values), b"]}"))


def partial(value: bytes, version: str) -> Object:
    """Only the metadata of an object."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": orjson.loads(value)["metadata"],
    }


def make_table(
    resource: Resource,
    wanted: Accept,
    include: str,
    values: Iterable[bytes],
    meta: Object,
    now: float,
    *,
    columns: bool = True,
) -> Object:
    """A table of objects, with the kind's own columns."""
    behaviour = resource.behaviour
    rows: list[Object] = []
    for value in values:
        obj = orjson.loads(value)
        row: Object = {"cells": behaviour.cells(obj, now)}
        if include == "Metadata":
            row["object"] = partial(value, wanted.version)
        elif include == "Object":
            row["object"] = obj
        else:
            row["object"] = None
        rows.append(row)
    table: Object = {"kind": "Table", "apiVersion": f"meta.k8s.io/{wanted.version}", "metadata": meta}
    table["columnDefinitions"] = [_definition(column) for column in behaviour.columns] if columns else None
    table["rows"] = rows
    return table


def _definition(column: Any) -> Object:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def event_renderer(
    resource: Resource, wanted: Accept, include: str, now: Callable[[], float]
) -> Callable[[bytes], bytes]:
    """How a watcher sees each object."""
    if wanted.form is Form.METADATA:
        return lambda value: orjson.dumps(partial(value, wanted.version))
    if wanted.form is Form.OBJECT:
        return lambda value: value
    first = True

    def render(value: bytes) -> bytes:
        nonlocal first
        version = orjson.loads(value)["metadata"].get("resourceVersion")
        meta = {"resourceVersion": version} if version else {}
        table = make_table(resource, wanted, include, [value], meta, now(), columns=first)
        first = False
        return orjson.dumps(table)

    return render
