"""Dropping fields that a schema does not know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rayward.kube.machinery import gotext
from rayward.kube.machinery.schema import metadata
from rayward.kube.machinery.schema.node import META_FIELDS, Node

Known = Callable[[Any], bool]

_KNOWN: Final = "known"
_KNOWN_AT_ROOT: Final = "known at root"


def prune(root: Node, obj: dict[str, Any]) -> list[str]:
    """Drops unknown fields from an object, in place; gives their paths.

    Raises:
        metadata.MetadataError: Metadata at the root or of an embedded object cannot be read.
    """
    unknown: list[str] = []
    if "metadata" in obj:
        obj["metadata"], unknown = metadata.coerce(obj["metadata"])
    if not _known_test(root, at_root=True)(obj):
        found: list[str] = []
        _prune(root, obj, "", found, meta=True)
        found.sort()
        embedded: list[str] = []
        _coerce_embedded(root, obj, "", embedded, at_root=True)
        embedded.sort()
        unknown += found + embedded
    return unknown


def prune_default(node: Node, value: Any) -> None:
    """Drops unknown fields from a default value, in place."""
    _prune(node, value, "", [], meta=node.embedded)


def _known_test(node: Node, *, at_root: bool = False) -> Known:
    """A quick test that nothing below an object or list is unknown or embedded."""
    key = _KNOWN_AT_ROOT if at_root else _KNOWN
    test: Known | None = node.memo.get(key)
    if test is None:
        test = node.memo[key] = _make(node, at_root)
    return test


class _Tests(dict[str, Known]):
    """Tests of the containers in declared fields, made on first use."""

    __slots__ = ("_node",)

    def __init__(self, node: Node) -> None:
        super().__init__()
        self._node = node

    def __missing__(self, name: str) -> Known:
        child = self._node.child(name)
        test = self[name] = _nothing if child is None else _known_test(child)
        return test


def _nothing(_: Any) -> bool:
    return False


def _anything(_: Any) -> bool:
    return True


def _make(node: Node, at_root: bool) -> Known:
    if node.embedded and not at_root:
        return _nothing
    if node.preserves and not at_root:
        walks = node.properties or node.additional or node.items
        return _nothing if walks else _anything
    return _fields_test(node, at_root) if node.additional is None else _values_test(node, node.additional)


def _items_test(node: Node) -> Known:
    made: list[Known] = []

    def test(value: list[Any]) -> bool:
        for item in value:
            kind = item.__class__
            if kind is dict or kind is list:
                if not made:
                    made.append(_nothing if node.items is None else _known_test(node.items))
                if not made[0](item):
                    return False
        return True

    return test


def _fields_test(node: Node, at_root: bool) -> Known:
    if node.allows_additional is not None or (at_root and node.preserves):
        return _nothing
    skipped = META_FIELDS if at_root else frozenset[str]()
    covers = (frozenset(node.properties) | skipped).issuperset
    tests = _Tests(node)
    for name in skipped:
        tests[name] = _anything
    items_known = _items_test(node)

    def test(value: Any) -> bool:
        if value.__class__ is list:
            return items_known(value)
        if not covers(value):
            return False
        for name, item in value.items():
            kind = item.__class__
            if kind is str:
                continue
            if (kind is dict or kind is list) and not tests[name](item):
                return False
        return True

    return test


def _values_test(node: Node, additional: Node) -> Known:
    if node.properties:
        return _nothing
    items_known = _items_test(node)
    made: list[Known] = []

    def test(value: Any) -> bool:
        if value.__class__ is list:
            return items_known(value)
        for item in value.values():
            kind = item.__class__
            if kind is str:
                continue
            if kind is dict or kind is list:
                if not made:
                    made.append(_known_test(additional))
                if not made[0](item):
                    return False
        return True

    return test


def _prune(node: Node | None, value: Any, path: str, unknown: list[str], *, meta: bool) -> None:
    """``meta`` says that apiVersion, kind and metadata of this object are left alone."""
    if value.__class__ is list:
        _prune_items(node, value, path, unknown)
    elif value.__class__ is dict:
        _prune_fields(node, value, path, unknown, meta)


def _prune_items(node: Node | None, items: list[Any], path: str, unknown: list[str]) -> None:
    inner = None if node is None else node.items
    for place, item in enumerate(items):
        if item.__class__ is dict or item.__class__ is list:
            where = f"{path}[{place}]"
            if node is None or not node.preserves:
                _prune(inner, item, where, unknown, meta=inner is not None and inner.embedded)
            elif inner is not None:
                _prune_preserved(inner, item, where, unknown)


def _prune_preserved(node: Node, value: Any, path: str, unknown: list[str]) -> None:
    """Below a preserving list nothing is dropped but what declared fields do not know."""
    if value.__class__ is list:
        if node.items is not None:
            for place, item in enumerate(value):
                _prune_preserved(node.items, item, f"{path}[{place}]", unknown)
    elif value.__class__ is dict:
        _prune_known_fields(node, value, path, unknown, node.embedded)


def _prune_known_fields(node: Node, fields: dict[str, Any], path: str, unknown: list[str], meta: bool) -> None:
    for name, item in fields.items():
        if meta and name in META_FIELDS:
            continue
        inner = node.field(name)
        if inner is not None or (name not in node.properties and node.allows_additional is not None):
            _prune(inner, item, _join(path, name), unknown, meta=inner is not None and inner.embedded)


def _prune_fields(node: Node | None, fields: dict[str, Any], path: str, unknown: list[str], meta: bool) -> None:
    if node is None:
        unknown += [_join(path, name) for name in fields]
        fields.clear()
        return
    if node.preserves:
        _prune_known_fields(node, fields, path, unknown, meta)
        return
    for name in list(fields):
        if meta and name in META_FIELDS:
            continue
        inner = node.field(name)
        if inner is not None or node.allows_additional is not None:
            _prune(inner, fields[name], _join(path, name), unknown, meta=inner is not None and inner.embedded)
        else:
            unknown.append(_join(path, name))
            del fields[name]


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _coerce_embedded(node: Node | None, value: Any, path: str, unknown: list[str], *, at_root: bool = False) -> None:
    if node is None:
        return
    if value.__class__ is list:
        for place, item in enumerate(value):
            _coerce_embedded(node.items, item, f"{path}[{place}]", unknown)
    elif value.__class__ is dict:
        if node.embedded and not at_root:
            _coerce_identity(value, path, unknown)
        for name, item in value.items():
            if item.__class__ is dict or item.__class__ is list:
                declared = name in node.properties
                _coerce_embedded(node.field(name), item, _join(path, name) if declared else f"{path}[{name}]", unknown)


def _coerce_identity(value: dict[str, Any], path: str, unknown: list[str]) -> None:
    for name in ("apiVersion", "kind"):
        if name in value and not isinstance(value[name], str):
            raise metadata.MetadataError(
                f"{_join(path, name)}: Invalid value: {gotext.json_text(value[name])}: must be a string"
            )
    if "metadata" in value:
        where = _join(path, "metadata")
        try:
            value["metadata"], found = metadata.coerce(value["metadata"], where)
        except metadata.MetadataError as error:
            raise metadata.MetadataError(
                f"{where}: Invalid value: {gotext.json_text(value['metadata'])}: {error}"
            ) from None
        unknown += found
