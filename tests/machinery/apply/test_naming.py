from __future__ import annotations

from rayward.kube.machinery.apply.fieldset import set_of
from rayward.kube.machinery.apply.naming import named
from rayward.kube.machinery.apply.types import DEDUCED, STRING
from tests.machinery.apply.kinds import WIDGET

_X = 'k:{"name":"x"}'


def test_declared_fields_on_the_way_are_added() -> None:
    fields = set_of(
        ("f:spec", "f:limits", "f:cpu"), ("f:spec", "f:parts", _X, "f:ports", 'k:{"port":1}', "f:name"), ("f:status",)
    )
    assert named(fields, WIDGET) == {
        "f:spec": {
            ".": {},
            "f:limits": {".": {}, "f:cpu": {}},
            "f:parts": {".": {}, _X: {"f:ports": {".": {}, 'k:{"port":1}': {"f:name": {}}}}},
        },
        "f:status": {},
    }


def test_keys_and_items_are_not() -> None:
    fields = set_of(("f:spec", "f:extra", "f:a", "f:b"), ("f:spec", "f:hosts", 'v:"x"', "f:odd"))
    assert named(fields, WIDGET) == {
        "f:spec": {".": {}, "f:extra": {".": {}, "f:a": {"f:b": {}}}, "f:hosts": {".": {}, 'v:"x"': {"f:odd": {}}}}
    }


def test_nothing_is_declared_in_anything() -> None:
    fields = set_of(("f:a", "f:b", "f:c"))
    assert named(fields, DEDUCED) == named(fields, STRING) == named(fields, None) == fields
