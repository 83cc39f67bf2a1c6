"""Defaults must themselves be valid, and hold nothing that pruning would drop."""

from __future__ import annotations

from typing import Any, Final

from rayward.kube.machinery import fielderror
from rayward.kube.machinery.fielderror import FieldError
from rayward.kube.machinery.schema import embedded, findings, metadata, rules
from rayward.kube.machinery.schema.correlation import same
from rayward.kube.machinery.schema.explain import explain
from rayward.kube.machinery.schema.fill import copy
from rayward.kube.machinery.schema.node import META_FIELDS, Node, Raw, Tree
from rayward.kube.machinery.schema.prune import prune_default

_IDENTITY: Final = {"kind": "Validation", "apiVersion": "validation/v1"}


def check(schema: Raw, path: str) -> list[FieldError]:
    """What is wrong with the defaults in a schema."""
    errors: list[FieldError] = []
    root = Tree({**schema, "x-kubernetes-embedded-resource": True}, None).root
    _check(root, path, (), errors)
    return errors


def _check(node: Node, path: str, inside_meta: tuple[str, ...], errors: list[FieldError]) -> None:
    """``inside_meta`` is the way from the resource's root where this is part of its identity."""
    if node.embedded:
        inside_meta = ()
    if node.default is not None:
        where = f"{path}.default"
        if inside_meta:
            errors += _check_identity(node, inside_meta, where)
        else:
            errors += _check_value(node, where)
    if node.items is not None:
        _check(node.items, f"{path}.items", (*inside_meta, "[]") if inside_meta else (), errors)
    for name in node.properties:
        child = node.child(name)
        assert child is not None
        inner = inside_meta
        if inside_meta or (node.embedded and name in META_FIELDS):
            inner = (*inside_meta, name)
        _check(child, f"{path}.properties[{name}]", inner, errors)


def _check_value(node: Node, where: str) -> list[FieldError]:
    default = node.default
    errors: list[FieldError] = []
    pruned = copy(default)
    prune_default(node, pruned)
    if not same(pruned, default):
        errors.append(fielderror.invalid(where, findings.shown(default), "must not have unknown fields"))
    return errors + (embedded.check(node, default, where) or _check_schema(node, where))


def _check_schema(node: Node, where: str) -> list[FieldError]:
    default = node.default
    if found := explain(node, default, "").found:
        return findings.as_errors(found, where)
    plan = rules.plan(node, resource_root=node.embedded)
    if plan is None:
        return []
    return rules.check(plan, default, default, None, where) or rules.check(plan, default, None, None, where)


def _check_identity(node: Node, way: tuple[str, ...], where: str) -> list[FieldError]:
    """A default of part of a resource's identity is tried inside an object made for it."""
    value: Any = copy(node.default)
    for name in reversed(way):
        value = [value] if name == "[]" else {name: value}
    resource: dict[str, Any] = {**_IDENTITY, **value}
    problem = ""
    try:
        resource["metadata"], _ = metadata.coerce(resource.get("metadata"))
    except metadata.MetadataError as error:
        problem = str(fielderror.invalid("metadata", findings.shown(resource["metadata"]), str(error)))
    if not problem:
        holder = Tree({"type": "object", "x-kubernetes-embedded-resource": True}, None).root
        found = embedded.check(holder, resource)
        problem = str(found[0]) if len(found) == 1 else f"[{', '.join(map(str, found))}]" if found else ""
    if problem:
        return [fielderror.invalid(where, findings.shown(node.default), f"must result in valid metadata: {problem}")]
    return _check_schema(node, where)
