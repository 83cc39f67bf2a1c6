"""Formats in a CRD's schemas that no server checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rayward.kube.machinery.jsonvalue import entries, is_list, is_object, section
from rayward.local.apiserver.behaviour import Object

_FORMATS = frozenset(
    {
        *("bsonobjectid", "byte", "cidr", "creditcard", "date", "date-time", "datetime", "duration", "email"),
        *("hexcolor", "hostname", "ipv4", "ipv6", "isbn", "isbn10", "isbn13", "k8s-long-name", "k8s-short-name"),
        *("mac", "password", "rgbcolor", "ssn", "uri", "uuid", "uuid3", "uuid4", "uuid5"),
    }
)


def warnings(new: Object, old: Object | None) -> list[str]:
    """Formats that nobody checks; those that were there before are known by now."""
    known = set(_unknown_formats(old)) if old is not None else set[str]()
    return [f'unrecognized format "{name}"' for name in _unknown_formats(new) if name not in known]


def _unknown_formats(crd: Object) -> Iterator[str]:
    for version in entries(section(crd, "spec"), "versions"):
        yield from _formats_in(section(section(version, "schema"), "openAPIV3Schema"))


def _formats_in(schema: Any) -> Iterator[str]:
    if is_list(schema):
        for item in schema:
            yield from _formats_in(item)
    elif is_object(schema):
        name = schema.get("format")
        if isinstance(name, str) and name and schema.get("type") == "string" and name not in _FORMATS:
            yield name
        for key, child in schema.items():
            if key not in {"default", "example", "enum"}:
                yield from _formats_in(child)
