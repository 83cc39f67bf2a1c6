"""Plain dotted paths."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery import dottedpath


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (".spec.replicas", 3),
        ("spec.replicas", 3),
        (".spec", {"replicas": 3}),
        (".spec.nope", None),
        (".nope.replicas", None),
        (".spec.replicas.deeper", None),
    ],
)
def test_getting(path: str, value: Any):
    assert dottedpath.parse(path).get({"spec": {"replicas": 3}}) == value


def test_setting_makes_what_is_missing_and_shares_the_rest():
    doc: dict[str, Any] = {"spec": {"replicas": 3, "other": {}}, "status": {}}
    changed = dottedpath.parse(".spec.replicas").set(doc, 5)
    assert changed == {"spec": {"replicas": 5, "other": {}}, "status": {}}
    assert doc["spec"]["replicas"] == 3
    assert changed["status"] is doc["status"]
    assert dottedpath.parse(".a.b.c").set({}, 1) == {"a": {"b": {"c": 1}}}


@pytest.mark.parametrize(
    ("path", "problems"),
    [
        (".spec.replicas", []),
        (".", []),
        ("", ["must not be empty"]),
        ("spec.replicas", ["must be a simple json path starting with ."]),
    ],
)
def test_checking(path: str, problems: list[str]):
    assert dottedpath.check(path) == problems
