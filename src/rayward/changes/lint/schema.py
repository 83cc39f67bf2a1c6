"""What the definitions of the kinds have against a manifest: unknown fields, wrong types, missing values."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from rayward.changes.lint.finding import Finding, Severity
from rayward.changes.lint.source import Document, path_of
from rayward.kinds import crds
from rayward.kube.machinery import schema as schemas
from rayward.kube.machinery.jsonvalue import Object, is_object
from rayward.kube.machinery.schema.explain import explain
from rayward.kube.machinery.schema.findings import as_errors
from rayward.kube.machinery.schema.node import Tree

_NO_FIELD: Final = "<nil>"


@lru_cache(maxsize=8)
def _definition(kind: str) -> Object | None:
    for plural in crds.PLURALS:
        if plural.rstrip("s") == kind.lower():
            versions = crds.manifest(plural)["spec"]["versions"]
            return next(version for version in versions if version["name"] == "v1")["schema"]["openAPIV3Schema"]
    return None


def with_defaults(kind: str, value: Object) -> Object:
    """A manifest with the defaults that the API server would fill in; as it is, of a kind that the package lacks."""
    raw = _definition(kind)
    filled: Object = copy.deepcopy(value)
    if raw is not None:
        schemas.compile(raw).default(filled)
    return filled


def schema_findings(document: Document, kind: str) -> Iterator[Finding]:
    """Findings of a document; none for a kind whose definition the package does not carry."""
    raw = _definition(kind)
    if raw is None:
        return
    schema = schemas.compile(raw)
    value: Object = copy.deepcopy(document.value)
    try:
        unknown = schema.prune(value)
    except schemas.MetadataError as error:
        line, column = document.place(("metadata",))
        yield Finding("RW201", Severity.ERROR, str(error), "metadata", document.file, line, column)
        return
    for path in unknown:
        if not path.startswith("status"):
            yield _unknown(document, raw, path)
    schema.default(value)
    for error in as_errors(explain(Tree(raw, None).root, value, "", None).found, ""):
        if error.field.startswith("status"):
            continue
        where = "" if error.field == _NO_FIELD else error.field
        line, column = document.place(path_of(where))
        message = str(error).removeprefix(f"{error.field}: ")
        yield Finding("RW201", Severity.ERROR, message, where, document.file, line, column)


def _unknown(document: Document, raw: Object, path: str) -> Finding:
    steps = path_of(path)
    known = _names_beside(raw, steps)
    near = difflib.get_close_matches(str(steps[-1]), known, 1)
    line, column = document.place(steps)
    message = f"there is no field {steps[-1]!r} here"
    edit = None
    if near:
        message += f": did you mean {near[0]}?"
        beside = _beside(document.value, steps)
        edit = document.rename(steps, near[0]) if near[0] not in beside else None
    return Finding("RW105", Severity.ERROR, message, path, document.file, line, column, edit)


def _names_beside(raw: Object, steps: tuple[str | int, ...]) -> list[str]:
    node: Any = raw
    for step in steps[:-1]:
        node = node.get("items", {}) if isinstance(step, int) else node.get("properties", {}).get(step, {})
    return list(node.get("properties", {}))


def _beside(value: Any, steps: tuple[str | int, ...]) -> Object:
    for step in steps[:-1]:
        value = value[step]
    return value if is_object(value) else {}
