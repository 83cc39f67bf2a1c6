from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.apply import custom_type_of
from rayward.kube.machinery.apply.fieldset import set_of
from rayward.kube.machinery.apply.reconcile import fitted
from rayward.kube.machinery.apply.types import DEDUCED, Map
from tests.machinery.apply.kinds import STRING, WIDGET


def _kind(**spec: Any) -> Map:
    return custom_type_of({"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}})


_NOW_ATOMIC = _kind(
    list={"type": "array", "items": STRING},
    map={"type": "object", "additionalProperties": STRING, "x-kubernetes-map-type": "atomic"},
    any={"type": "object", "x-kubernetes-map-type": "atomic", "x-kubernetes-preserve-unknown-fields": True},
    other=STRING,
)


def test_what_became_atomic_is_owned_as_a_whole() -> None:
    fields = set_of(
        ("f:spec", "f:list", 'v:"a"'), ("f:spec", "f:map", "f:a"), ("f:spec", "f:map"), ("f:spec", "f:other")
    )
    assert fitted(fields, _NOW_ATOMIC) == set_of(("f:spec", "f:list"), ("f:spec", "f:map"), ("f:spec", "f:other"))


def test_what_can_not_have_become_atomic_stays() -> None:
    fields = set_of(("f:spec", "f:any", "f:a"))
    assert fitted(fields, _NOW_ATOMIC) is fields


@pytest.mark.parametrize(
    "fields",
    [
        set_of(("f:spec", "f:parts", 'k:{"name":"x"}', "f:name"), ("f:spec", "f:hosts", 'v:"a"')),
        set_of(("f:spec", "f:selector"), ("f:spec", "f:args"), ("f:spec", "f:extra", "f:a", "f:b")),
        set_of(("f:spec", "f:nowhere", "f:a"), ("f:nowhere", "f:a"), ("i:1", "f:b")),
        set_of(("f:spec", "f:args")),
        {},
    ],
)
def test_what_fits_is_the_same_set(fields: Any) -> None:
    assert fitted(fields, WIDGET) is fields


def test_items_are_looked_into() -> None:
    inner = {"type": "object", "properties": {"name": STRING, "args": {"type": "array", "items": STRING}}}
    keyed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": inner}
    item = 'k:{"name":"x"}'
    fields = set_of(("f:spec", "f:parts", item, "f:args", 'v:"a"'), ("f:spec", "f:parts", item))
    assert fitted(fields, _kind(parts=keyed)) == set_of(
        ("f:spec", "f:parts", item), ("f:spec", "f:parts", item, "f:args")
    )


def test_anything_fits_a_kind_without_a_schema() -> None:
    fields = set_of(("f:a", "f:b"))
    assert fitted(fields, DEDUCED) is fields
    assert fitted(fields, DEDUCED.map) is fields
