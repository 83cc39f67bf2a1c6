"""Managed fields, read: which manager owns which field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rayward.kube.machinery.jsonvalue import Object, entries, is_object, section


def owners(obj: Object) -> dict[str, frozenset[str]]:
    """The managers of each owned field, by the field's path; an atomic list or map is one field."""
    found: dict[str, set[str]] = {}
    for entry in entries(section(obj, "metadata"), "managedFields"):
        for path in _paths(section(entry, "fieldsV1"), ""):
            found.setdefault(path, set()).add(str(entry.get("manager") or ""))
    return {path: frozenset(managers) for path, managers in found.items()}


def _paths(fields: Object, at: str) -> Iterator[str]:
    for name, below in fields.items():
        if name == ".":
            continue
        here = f"{at}.{name[2:]}".lstrip(".") if name.startswith("f:") else f"{at}[{name[2:]}]"
        inner: Any = below
        if is_object(inner) and inner:
            yield from _paths(inner, here)
        else:
            yield here
