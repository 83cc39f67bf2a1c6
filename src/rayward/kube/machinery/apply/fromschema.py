"""Types from schemas: OpenAPI v3 of built-in kinds, structural schemas of custom ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rayward.kube.machinery.apply.types import (
    ATOMIC,
    BOOLEAN,
    DEDUCED,
    NUMERIC,
    STRING,
    UNTYPED,
    Either,
    Field,
    List,
    Map,
    Scalar,
    Type,
)
from rayward.kube.machinery.apply.values import ARRAY, OBJECT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_DEPTH: Final = 200

_Schema = dict[str, Any]

_SPECIAL: Final[dict[str, Type]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": Scalar("untyped"),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": ATOMIC,
}
_SCALARS: Final = {"integer": NUMERIC, "number": NUMERIC, "boolean": BOOLEAN}
_STRING: Final = {"type": "string"}
_KEY: Final = {"type": "string", "default": ""}
_INTEGER: Final = {"type": "integer"}
_BOOLEAN: Final = {"type": "boolean"}
_STRINGS: Final = {"type": "object", "additionalProperties": _STRING}
_TIME: Final = {"type": "string", "format": "date-time"}
_OBJECT_META: Final[_Schema] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("generateName", "name", "namespace", "resourceVersion", "selfLink", "uid"), _STRING),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), _INTEGER),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TIME),
        **dict.fromkeys(("annotations", "labels"), _STRINGS),
        "finalizers": {"type": "array", "items": _STRING, "x-kubernetes-list-type": "set"},
        "managedFields": {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "atomic"},
        "ownerReferences": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"],
            "items": {
                "type": "object",
                "x-kubernetes-map-type": "atomic",
                "properties": {
                    **dict.fromkeys(("apiVersion", "kind", "name", "uid"), _KEY),
                    **dict.fromkeys(("blockOwnerDeletion", "controller"), _BOOLEAN),
                },
            },
        },
    },
}


class SchemaError(ValueError):
    """A schema that no type can be made of."""


def type_of(
    schema: Mapping[str, Any],
    resolve: Callable[[str], Mapping[str, Any] | None] | None = None,
    memo: dict[str, Type] | None = None,
) -> Map:
    """The type of a built-in kind.

    ``resolve`` finds the schema of a name that a ``$ref`` ends in. Types of names are made once per ``memo``; pass the
    same one for kinds that share definitions.

    Raises:
        SchemaError: the schema does not describe an object, or is nested too deeply.
    """
    return _root(_Builder(resolve, {} if memo is None else memo, custom=False).build(dict(schema), keep=False))


def custom_type_of(schema: Mapping[str, Any] | None, *, preserve_unknown: bool = False) -> Map:
    """The type of a custom kind, from the schema of one of its versions; metadata is an ObjectMeta, whatever it says.

    Raises:
        SchemaError: the schema does not describe an object, or is nested too deeply.
    """
    if schema is None:
        return DEDUCED.map
    whole = {**schema, "x-kubernetes-embedded-resource": True}
    return _root(_Builder(None, {}, custom=True).build(whole, keep=preserve_unknown))


def _root(found: Type) -> Map:
    if isinstance(found, Either):
        return found.map
    if not isinstance(found, Map):
        raise SchemaError("the schema of a kind must be an object")
    return found


class _Builder:
    """Makes types, each named one once."""

    def __init__(
        self, resolve: Callable[[str], Mapping[str, Any] | None] | None, memo: dict[str, Type], *, custom: bool
    ) -> None:
        self._resolve = resolve
        self._memo = memo
        self._custom = custom
        self._depth = 0
        self._overrides: list[tuple[Map, Map]] = []

    def build(self, schema: _Schema, *, keep: bool, name: str | None = None) -> Type:
        """The type of a schema; ``keep`` says that unknown fields are kept below it."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise SchemaError("the schema is nested too deeply")
        keep = keep or schema.get("x-kubernetes-preserve-unknown-fields") is True
        kind = schema.get("type") or ""
        found: Type
        if kind == "object":
            found = Map()
        elif kind == "array":
            found = _list(schema)
        elif kind == "":
            found = Either(UNTYPED, _list(schema), Map())
        elif kind == "string":
            found = STRING if schema.get("format", "") in ("", "byte") else UNTYPED
        else:
            found = _SCALARS.get(kind, UNTYPED)
        if name is not None:
            self._memo[name] = found
        if isinstance(found, Either):
            self._fill_list(found.list, schema, keep)
            self._fill_map(found.map, schema, keep)
        elif isinstance(found, List):
            self._fill_list(found, schema, keep)
        elif isinstance(found, Map):
            self._fill_map(found, schema, keep)
        self._depth -= 1
        if not self._depth:
            self._finish_overrides()
        return found

    def _part(self, schema: _Schema, keep: bool) -> tuple[Type, bool]:
        """The type of a field, key or item, and whether it is declared in place."""
        name = _reference(schema)
        if name is None:
            return self.build(schema, keep=keep), True
        found = self._named(name)
        relation = schema.get("x-kubernetes-map-type")
        inner = found.map if isinstance(found, Either) else found
        if relation is None or not isinstance(inner, Map):
            return found, False
        copy = Map(atomic=relation == "atomic")
        self._overrides.append((copy, inner))
        return (Either(found.scalar, found.list, copy) if isinstance(found, Either) else copy), False

    def _named(self, name: str) -> Type:
        special = _SPECIAL.get(name)
        if special is not None:
            return special
        found = self._memo.get(name)
        if found is None:
            schema = self._resolve(name) if self._resolve else None
            if schema is None:
                return DEDUCED
            found = self.build(dict(schema), keep=False, name=name)
        return found

    def _fill_map(self, into: Map, schema: _Schema, keep: bool) -> None:
        into.atomic = schema.get("x-kubernetes-map-type") == "atomic"
        properties: dict[str, _Schema] = schema.get("properties") or {}
        for name, member in properties.items():
            into.fields[name] = Field("f:" + name, self._part(member, keep)[0], member.get("default"))
        if self._custom and schema.get("x-kubernetes-embedded-resource") is True:
            into.fields["apiVersion"] = Field("f:apiVersion", STRING)
            into.fields["kind"] = Field("f:kind", STRING)
            into.fields["metadata"] = Field("f:metadata", OBJECT_META)
        other: Any = schema.get("additionalProperties")
        if type(other) is OBJECT:
            into.element, inline = self._part(other, keep)
            into.open = inline and not into.fields and (into.element is UNTYPED or isinstance(into.element, Either))
        elif other is True or (other is None and (keep or not into.fields)):
            into.element = DEDUCED
            into.open = not into.fields
        if not self._custom:
            into.zero = _zero(into, properties, schema.get("required") or ())

    def _fill_list(self, into: List, schema: _Schema, keep: bool) -> None:
        items: Any = schema.get("items")
        into.element = self._part(items, keep)[0] if type(items) is OBJECT else ATOMIC

    def _finish_overrides(self) -> None:
        for copy, source in self._overrides:
            copy.fields, copy.element, copy.open = source.fields, source.element, source.open
            copy.zero.update(source.zero)
        self._overrides.clear()


def _reference(schema: _Schema) -> str | None:
    ref = schema.get("$ref")
    if ref is None:
        parts: Any = schema.get("allOf")
        ref = parts[0].get("$ref") if type(parts) is ARRAY and len(parts) == 1 else None
    return ref.rpartition("/")[2] if ref else None


def _list(schema: _Schema) -> List:
    relation = schema.get("x-kubernetes-list-type")
    if relation is None and schema.get("x-kubernetes-patch-strategy") in ("merge", "merge,retainKeys"):
        key = schema.get("x-kubernetes-patch-merge-key")
        return List(UNTYPED, () if key is None else (key,))
    if relation == "set":
        return List(UNTYPED)
    if relation == "map":
        return List(UNTYPED, tuple(schema.get("x-kubernetes-list-map-keys") or ()))
    return List(UNTYPED, atomic=True)


def _zero(of: Map, properties: dict[str, _Schema], required: Any) -> dict[str, Any]:
    """What an object shows before anything is set.

    Kubernetes compares a new object with an empty one of Go's structures, which show their inner structures, and
    null or zero for fields that are not left out when empty. A field that may be left out does no harm here where it
    is owned as a whole: only its being null is then no change.
    """
    zero: dict[str, Any] = {}
    for name, member in properties.items():
        inner = of.fields[name].type
        default = member.get("default")
        if default == {} and isinstance(inner, Map):
            zero[name] = inner.zero
        elif isinstance(inner, Scalar) and default is not None and not default:
            zero[name] = default
        elif isinstance(inner, List) and not inner.atomic and not inner.keys:
            # the one set that is required, a binding's validationActions, is left out when empty all the same
            continue
        elif name in required or (not of.atomic and (inner is UNTYPED or (isinstance(inner, List) and inner.atomic))):
            zero[name] = None
    return zero


OBJECT_META: Final = _root(_Builder(None, {}, custom=True).build(_OBJECT_META, keep=False))
"""The type of every object's metadata."""
