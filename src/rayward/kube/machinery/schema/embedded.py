"""Objects inside objects (``x-kubernetes-embedded-resource``): their apiVersion, kind and metadata."""

from __future__ import annotations

from typing import Any

from rayward.kube.machinery import fielderror, names, objectmeta
from rayward.kube.machinery.fielderror import FieldError
from rayward.kube.machinery.schema import metadata
from rayward.kube.machinery.schema.node import Node


def is_fine(value: dict[str, Any]) -> bool:
    """Whether an embedded object's own identity breaks no rule."""
    return not _check_resource(value, "")


def check(node: Node, value: Any, path: str = "") -> list[FieldError]:
    """What is wrong with the embedded objects below a value."""
    errors: list[FieldError] = []
    if value.__class__ is dict:
        if node.embedded:
            errors += _check_resource(value, path)
        for name, item in value.items():
            if item.__class__ is not dict and item.__class__ is not list:
                continue
            if (child := node.child(name)) is not None:
                errors += check(child, item, _join(path, name))
            elif node.additional is not None:
                errors += check(node.additional, item, f"{path}[{name}]")
    elif value.__class__ is list and node.items is not None:
        for place, item in enumerate(value):
            errors += check(node.items, item, f"{path}[{place}]")
    return errors


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _check_resource(value: dict[str, Any], path: str) -> list[FieldError]:
    errors = [fielderror.required(_join(path, name)) for name in ("apiVersion", "kind") if name not in value]
    if "apiVersion" in value:
        errors += _check_api_version(value["apiVersion"], _join(path, "apiVersion"))
    if "kind" in value:
        errors += _check_kind(value["kind"], _join(path, "kind"))
    if "metadata" in value:
        errors += _check_metadata(value["metadata"], _join(path, "metadata"))
    return errors


def _check_api_version(value: Any, path: str) -> list[FieldError]:
    if not isinstance(value, str):
        return [fielderror.invalid(path, value, "must be a string")]
    if not value:
        return [fielderror.invalid(path, value, "must not be empty")]
    if value.count("/") > 1:
        return [fielderror.invalid(path, value, f"unexpected GroupVersion string: {value}")]
    return []


def _check_kind(value: Any, path: str) -> list[FieldError]:
    if not isinstance(value, str):
        return [fielderror.invalid(path, value, "must be a string")]
    if not value:
        return [fielderror.invalid(path, value, "must not be empty")]
    if problems := names.check_dns1035_label(value.lower()):
        text = "may have mixed case, but should otherwise match: " + ",".join(problems)
        return [fielderror.invalid(path, value, text)]
    return []


def _check_metadata(value: Any, path: str) -> list[FieldError]:
    try:
        meta, _ = metadata.coerce(value, path)
    except metadata.MetadataError as error:
        return [fielderror.invalid(path, value, str(error))]
    meta = {"name": "fakename"} | meta
    return objectmeta.check_object_meta(
        meta, namespaced=bool(meta.get("namespace")), name_check=names.path_segment_name, path=path
    )
