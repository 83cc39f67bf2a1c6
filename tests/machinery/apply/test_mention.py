from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.apply.mention import mentioned, present
from rayward.kube.machinery.apply.naming import named
from tests.machinery.apply.kinds import WIDGET

_X = 'k:{"name":"x"}'


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"image": "a"}, {"f:image": {}}, id="a field"),
        pytest.param({"image": None}, {"f:image": {}}, id="a null"),
        pytest.param({"limits": {"a": 1}}, {"f:limits": {"f:a": {}}}, id="what leads to a key is not mentioned"),
        pytest.param({"limits": {}}, {"f:limits": {}}, id="an empty object is"),
        pytest.param({"limits": None}, {"f:limits": {}}, id="a null object is"),
        pytest.param({"selector": {"a": "1"}}, {"f:selector": {}}, id="an atomic object is"),
        pytest.param({"args": []}, {"f:args": {}}, id="an atomic list is, even if empty"),
        pytest.param({"hosts": []}, {}, id="an empty set is not"),
        pytest.param({"hosts": None}, {"f:hosts": {}}, id="a null set is"),
        pytest.param({"hosts": ["a", "b"]}, {"f:hosts": {'v:"a"': {}, 'v:"b"': {}}}, id="items of a set"),
        pytest.param(
            {"parts": [{"name": "x"}]}, {"f:parts": {_X: {".": {}, "f:name": {}}}}, id="an item and its fields"
        ),
        pytest.param(
            {"parts": [{"name": "x", "ports": []}]},
            {"f:parts": {_X: {".": {}, "f:name": {}}}},
            id="an empty list in an item",
        ),
        pytest.param(
            {"parts": [{"name": "x", "size": 1}, {"name": "x"}]}, {"f:parts": {_X: {}}}, id="items that share a key"
        ),
        pytest.param(
            {"parts": [None, {"name": "x"}]},
            {"f:parts": {"": {}, _X: {".": {}, "f:name": {}}}},
            id="an item without a key",
        ),
        pytest.param(
            {"ports": [{"port": 1}]},
            {"f:ports": {'k:{"port":1,"protocol":"TCP"}': {".": {}, "f:port": {}}}},
            id="a key that is the default",
        ),
        pytest.param(
            {"extra": {"a": {"b": {}, "c": [1]}}},
            {"f:extra": {"f:a": {".": {}, "f:b": {}, "f:c": {}}}},
            id="keys that are not declared",
        ),
    ],
)
def test_what_a_configuration_mentions(spec: Any, expected: Any) -> None:
    assert mentioned({"spec": spec}, WIDGET) == ({"f:spec": expected} if expected else {})
    assert present({"spec": spec}, WIDGET) == named(mentioned({"spec": spec}, WIDGET), WIDGET)


def test_nothing_is_mentioned_by_nothing() -> None:
    assert mentioned(None, WIDGET) == mentioned({}, WIDGET) == {}
    assert mentioned({"spec": {}}, WIDGET) == {"f:spec": {}}
