"""The structure of the built-in kinds, from ``/openapi/v3``, without descriptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.kube.record import kinds
from tests.kube.record.resources import discover
from tests.kube.record.server import Object, Server

_PREFIX = "#/components/schemas/"
_DISCOVERY = ("api", "apis", "apis/apps")
_KINDS = "x-kubernetes-group-version-kind"


def record(server: Server) -> dict[str, Object]:
    """Schema by type name, of all types that the recorded kinds lead to."""
    entries = discover(server)
    wanted = {*kinds.OTHER_KINDS, *((entry["group"], entry["kind"]) for entry in entries)}
    wanted |= {(entry["group"], f"{entry['kind']}List") for entry in entries if "list" in entry["verbs"]}
    known: dict[str, Object] = {}
    reached: set[str] = set(kinds.OTHER_TYPES)
    for document in (*(kinds.root_path(group) for group in sorted({group for group, _ in wanted})), *_DISCOVERY):
        published: dict[str, Object] = server.get(f"openapi/v3/{document}")["components"]["schemas"]
        trimmed = {name: _trimmed(schema) for name, schema in published.items()}
        for name, schema in trimmed.items():
            if _anonymous(known.setdefault(name, schema)) != _anonymous(schema):
                raise RuntimeError(f"{name} in {document} differs from the same type elsewhere")
        # Some kinds are published where they are used: Scale with apps, Eviction and TokenRequest with core.
        reached |= {name for name, schema in trimmed.items() if wanted & set(_kinds(schema))}
    missing = wanted - {kind for name in reached for kind in _kinds(known[name])}
    if missing:
        raise RuntimeError(f"not published: {missing}")
    return {name: known[name] for name in sorted(_closure(reached, known))}


def references(schema: Any) -> Iterator[str]:
    """Names of the types that a schema mentions."""
    if isinstance(schema, dict):
        node: Object = schema
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):  # JSONSchemaProps has a field of that name
                yield value.removeprefix(_PREFIX)
            else:
                yield from references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from references(item)


def _closure(names: set[str], known: Mapping[str, Object]) -> set[str]:
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(references(known[name]))
    return found


def _kinds(schema: Object) -> Iterator[tuple[str, str]]:
    for entry in schema.get(_KINDS, ()):
        if entry["version"] == "v1":
            yield entry["group"], entry["kind"]


def _anonymous(schema: Object) -> Object:
    """The schema without its kinds: each group adds itself to those of DeleteOptions and WatchEvent."""
    return {key: value for key, value in schema.items() if key != _KINDS}


def _trimmed(schema: Object) -> Object:
    """The schema without descriptions. Below ``properties`` a ``description`` is a field's name."""
    result: Object = {}
    for key, value in schema.items():
        if key == "properties":
            result[key] = {name: _trimmed(field) for name, field in value.items()}
        elif key in {"items", "additionalProperties"} and isinstance(value, dict):
            result[key] = _trimmed(value)
        elif key in {"allOf", "anyOf", "oneOf"}:
            result[key] = [_trimmed(part) for part in value]
        elif key != "description":
            result[key] = value
    return result
