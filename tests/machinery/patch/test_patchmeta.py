"""How fields merge is read from a type's structure."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.patch.patchmeta import TypeMeta

INNER: dict[str, Any] = {"properties": {"x": {"type": "string"}}}


def meta(field: dict[str, Any]) -> TypeMeta:
    return TypeMeta({"properties": {"f": field}}, {"some.v1.Inner": INNER}.__getitem__, "Outer")


@pytest.mark.parametrize(
    ("declared", "strategy"),
    [(None, ""), ("merge", "merge"), ("replace", "replace"), ("retainKeys", ""), ("merge,retainKeys", "merge")],
)
def test_the_strategy_of_a_field(declared: str | None, strategy: str):
    field = {} if declared is None else {"x-kubernetes-patch-strategy": declared}
    assert meta(field).field("f").strategy == strategy


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/components/schemas/some.v1.Inner"},
        {"allOf": [{"$ref": "#/components/schemas/some.v1.Inner"}], "default": {}},
        {"$ref": "some.v1.Inner"},
    ],
    ids=["reference", "wrapped reference", "bare name"],
)
def test_references_are_followed(schema: dict[str, Any]):
    value = meta(schema).field("f").of_value()
    items = meta({"type": "array", "items": schema}).field("f").of_items()
    assert (value.schema, value.name) == (items.schema, items.name) == (INNER, "Inner")


def test_the_merge_key_of_a_list():
    assert meta({"x-kubernetes-patch-merge-key": "name"}).field("f").merge_key == "name"
    assert meta({}).field("f").merge_key == ""
