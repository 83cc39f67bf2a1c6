"""How the fields of a built-in type merge, read from its recorded OpenAPI structure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.machinery.patch.error import PatchError

Resolve = Callable[[str], Object]
"""Gives the structure of a type by its name, such as ``io.k8s.api.core.v1.PodSpec``."""

_REFERENCE: Final = "#/components/schemas/"
_RETAIN_KEYS: Final = "retainKeys"


@dataclass(frozen=True, slots=True)
class TypeMeta:
    """The type of one object inside a document."""

    schema: Object
    resolve: Resolve
    name: str = ""

    def field(self, key: str) -> FieldMeta:
        """How a member merges.

        Raises:
            PatchError: The type has no such member.
        """
        schema = self.schema.get("properties", {}).get(key)
        if schema is not None:
            return FieldMeta(schema, self.resolve)
        if "additionalProperties" in self.schema:
            raise PatchError.misfit("merging an object in json but data type is not struct, instead is: map")
        raise PatchError.misfit(f'unable to find api field in struct {self.name} for the json field "{key}"')


@dataclass(frozen=True, slots=True)
class FieldMeta:
    """How one member of an object merges."""

    schema: Object
    resolve: Resolve

    @property
    def strategy(self) -> str:
        """``merge``, ``replace`` or nothing."""
        strategies = self.schema.get("x-kubernetes-patch-strategy", "").split(",")
        return next((strategy for strategy in strategies if strategy != _RETAIN_KEYS), "")

    @property
    def merge_key(self) -> str:
        """The member that tells the items of a list apart."""
        return self.schema.get("x-kubernetes-patch-merge-key", "")

    def of_value(self) -> TypeMeta:
        """The type of the member itself."""
        return _resolved(self.schema, self.resolve)

    def of_items(self) -> TypeMeta:
        """The type of the items, for a list."""
        return _resolved(self.schema.get("items", self.schema), self.resolve)


def _resolved(schema: Object, resolve: Resolve) -> TypeMeta:
    parts = schema.get("allOf")
    reference: str | None = (parts[0] if parts else schema).get("$ref")
    if reference is None:
        return TypeMeta(schema, resolve)
    name = reference.removeprefix(_REFERENCE)
    return TypeMeta(resolve(name), resolve, name.rpartition(".")[2])
