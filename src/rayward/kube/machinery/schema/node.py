"""One level of an OpenAPI v3 schema, looked at only when a value reaches it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

from rayward.kube.machinery.cel import formats

Raw = dict[str, Any]
Resolve = Callable[[str], Raw]

META_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})
_EMPTY: Final[Raw] = {}
_INTEGER_FORMATS: Final = frozenset({"int32", "int64"})
_NUMBER_FORMATS: Final = frozenset({"float", "double"})
# What may stand beside a reference without changing what is allowed.
_DECORATION: Final = frozenset({"$ref", "allOf", "description", "title", "default", "nullable"})


class Tree:
    """The nodes of one schema document; a referenced schema is one node however often it is referenced."""

    __slots__ = ("_named", "_resolve", "root")

    def __init__(self, raw: Raw, resolve: Resolve | None) -> None:
        self._resolve = resolve
        self._named: dict[str, Node] = {}
        self.root = self.node(raw)

    @property
    def open(self) -> bool:
        """Whether an object without declared fields keeps its content: true of built-in kinds, not of a CRD."""
        return self._resolve is not None

    def node(self, raw: Raw) -> Node:
        """The node for a schema, following a reference."""
        name = _reference(raw)
        if name is None or self._resolve is None:
            return Node(raw, self)
        overlay = {key: value for key, value in raw.items() if key in ("default", "nullable")}
        if overlay:
            return Node({**self._named_node(name).raw, **overlay}, self)
        return self._named_node(name)

    def _named_node(self, name: str) -> Node:
        found = self._named.get(name)
        if found is None:
            assert self._resolve is not None
            found = self._named[name] = self.node(self._resolve(name))
        return found


def _reference(raw: Raw) -> str | None:
    reference = raw.get("$ref")
    if reference is None:
        all_of = raw.get("allOf")
        if all_of and len(all_of) == 1 and raw.keys() <= _DECORATION and all_of[0].keys() == {"$ref"}:
            reference = all_of[0]["$ref"]
    return None if reference is None else str(reference).rpartition("/")[2]


class Node:
    """A schema with its keywords under short names; children are made when asked for.

    ``memo`` is where each way of walking a schema keeps what it compiled for this node.
    """

    def __init__(self, raw: Raw, tree: Tree) -> None:
        self.raw = raw
        self.tree = tree
        self.memo: dict[str, Any] = {}
        self._children: dict[str, Node] = {}

    def child(self, name: str) -> Node | None:
        """The schema of a declared property."""
        found = self._children.get(name)
        if found is None and (raw := self.properties.get(name)) is not None:
            found = self._children[name] = self.tree.node(raw)
        return found

    def field(self, name: str) -> Node | None:
        """The schema of a field: a declared property, else what additional properties must be."""
        return self.child(name) or self.additional

    @cached_property
    def properties(self) -> dict[str, Raw]:
        """Schemas of declared fields."""
        return self.raw.get("properties") or _EMPTY

    @cached_property
    def items(self) -> Node | None:
        """The schema of list items."""
        raw = self.raw.get("items")
        return None if raw is None else self.tree.node(raw)

    @cached_property
    def additional(self) -> Node | None:
        """The schema of undeclared fields, if one is given."""
        raw: Any = self.raw.get("additionalProperties")
        return self.tree.node(raw) if raw.__class__ is dict else None

    @cached_property
    def allows_additional(self) -> bool | None:
        """None where the schema does not mention undeclared fields."""
        raw = self.raw.get("additionalProperties")
        return None if raw is None else raw is not False

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The JSON types allowed; none means any."""
        if self.int_or_string:
            return ("integer", "string")
        kind = self.raw.get("type")
        return (kind,) if kind else ()

    @cached_property
    def format(self) -> str:
        """The format, unless this kind of value has no such format."""
        name: str = self.raw.get("format") or ""
        if not name:
            return ""
        types = self.types
        match types[0] if len(types) == 1 else "":
            case "" | "string":
                known = formats.supported(name)
            case "integer":
                known = name in _INTEGER_FORMATS
            case "number":
                known = name in _NUMBER_FORMATS
            case _:
                known = False
        return name if known else ""

    @property
    def int_or_string(self) -> bool:
        """Whether both numbers and texts are allowed."""
        return self.raw.get("x-kubernetes-int-or-string") is True

    @property
    def nullable(self) -> bool:
        """Whether null is a value."""
        return self.raw.get("nullable") is True

    @property
    def embedded(self) -> bool:
        """Whether values are whole objects of their own."""
        return self.raw.get("x-kubernetes-embedded-resource") is True

    @cached_property
    def preserves(self) -> bool:
        """Whether undeclared fields are kept."""
        if self.raw.get("x-kubernetes-preserve-unknown-fields") is True:
            return True
        return self.tree.open and not self.properties and self.allows_additional is None and self.items is None

    @property
    def default(self) -> Any:
        """What stands in for a missing value; None means nothing."""
        return self.raw.get("default")

    @property
    def list_type(self) -> str:
        """``set``, ``map``, ``atomic`` or nothing."""
        return self.raw.get("x-kubernetes-list-type") or ""

    @property
    def map_keys(self) -> list[str]:
        """The fields that tell items of a keyed list apart."""
        return self.raw.get("x-kubernetes-list-map-keys") or []

    @property
    def required(self) -> list[str]:
        """Fields that must be there."""
        return self.raw.get("required") or []

    @property
    def rules(self) -> list[Raw]:
        """CEL rules of this level."""
        return self.raw.get("x-kubernetes-validations") or []

    @cached_property
    def all_of(self) -> list[Node]:
        """Conditions that must all hold."""
        return [self.tree.node(raw) for raw in self.raw.get("allOf") or ()]

    @cached_property
    def any_of(self) -> list[Node]:
        """Conditions of which one must hold."""
        return [self.tree.node(raw) for raw in self.raw.get("anyOf") or ()]

    @cached_property
    def one_of(self) -> list[Node]:
        """Conditions of which exactly one must hold."""
        return [self.tree.node(raw) for raw in self.raw.get("oneOf") or ()]

    @cached_property
    def negated(self) -> Node | None:
        """A condition that must not hold."""
        raw = self.raw.get("not")
        return None if raw is None else self.tree.node(raw)

    @cached_property
    def has_junctors(self) -> bool:
        """Whether there are any such conditions."""
        raw = self.raw
        return bool(raw.get("allOf") or raw.get("anyOf") or raw.get("oneOf")) or raw.get("not") is not None
