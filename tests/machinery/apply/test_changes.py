from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.apply.changes import compare, everything
from rayward.kube.machinery.apply.types import ItemError
from tests.machinery.apply.kinds import WIDGET

_SPEC = WIDGET.fields["spec"].type
_X, _Y = 'k:{"name":"x"}', 'k:{"name":"y"}'


@pytest.mark.parametrize(
    ("old", "new", "changed", "removed"),
    [
        pytest.param({}, {}, {}, {}, id="nothing"),
        pytest.param({"image": "a"}, {"image": "a"}, {}, {}, id="the same"),
        pytest.param({"image": "a"}, {"image": "b"}, {"f:image": {}}, {}, id="another value"),
        pytest.param({}, {"image": "a"}, {"f:image": {}}, {}, id="a new field"),
        pytest.param({"image": "a"}, {}, {}, {"f:image": {}}, id="a field that went"),
        pytest.param({"image": "a"}, {"image": None}, {"f:image": {}}, {}, id="null is a value"),
        pytest.param({"image": None}, {}, {}, {"f:image": {}}, id="null is not nothing"),
        pytest.param({"replicas": 1}, {"replicas": 1.0}, {}, {}, id="1 is 1.0"),
        pytest.param({"extra": {"a": 1}}, {"extra": {"a": True}}, {"f:extra": {"f:a": {}}}, {}, id="1 is not true"),
        pytest.param(
            {"extra": {"a": [1, {"b": 0}]}},
            {"extra": {"a": [1, {"b": False}]}},
            {"f:extra": {"f:a": {}}},
            {},
            id="0 is not false, deep in a list",
        ),
        pytest.param(
            {"limits": {"a": 1}},
            {"limits": {"a": True}},
            {"f:limits": {"f:a": {}}},
            {},
            id="1 is not true where anything goes",
        ),
        pytest.param({}, {"limits": {}}, {"f:limits": {}}, {}, id="an empty object is a value"),
        pytest.param({"limits": None}, {"limits": {}}, {"f:limits": {}}, {}, id="an empty object is not null"),
        pytest.param(
            {"limits": None}, {"limits": {"a": 1}}, {"f:limits": {"f:a": {}}}, {}, id="an object where null was"
        ),
        pytest.param({"limits": {"a": 1}}, {"limits": {}}, {}, {"f:limits": {"f:a": {}}}, id="an object emptied"),
        pytest.param({"limits": {"a": 1}}, {"limits": None}, {}, {"f:limits": {"f:a": {}}}, id="an object nulled"),
        pytest.param({}, {"limits": {"a": 1}}, {"f:limits": {".": {}, "f:a": {}}}, {}, id="a new object and all in it"),
        pytest.param(
            {"limits": {"a": 1}}, {}, {}, {"f:limits": {".": {}, "f:a": {}}}, id="an object that went with all in it"
        ),
        pytest.param(
            {"selector": {"a": "1", "b": "2"}},
            {"selector": {"a": "1", "b": "3"}},
            {"f:selector": {}},
            {},
            id="an atomic object",
        ),
        pytest.param({"selector": {"a": "1"}}, {"selector": {}}, {"f:selector": {}}, {}, id="an atomic object emptied"),
        pytest.param({"args": ["a"]}, {"args": ["a", "b"]}, {"f:args": {}}, {}, id="an atomic list"),
        pytest.param({"args": []}, {"args": None}, {"f:args": {}}, {}, id="an empty list is not null"),
        pytest.param({"hosts": ["a", "b"]}, {"hosts": ["b", "a"]}, {}, {}, id="a set has no order"),
        pytest.param(
            {"hosts": ["a"]}, {"hosts": ["b"]}, {"f:hosts": {'v:"b"': {}}}, {"f:hosts": {'v:"a"': {}}}, id="a set"
        ),
        pytest.param({}, {"hosts": []}, {"f:hosts": {}}, {}, id="an empty set is a value"),
        pytest.param({}, {"hosts": ["a"]}, {"f:hosts": {".": {}, 'v:"a"': {}}}, {}, id="a new set"),
        pytest.param({"hosts": ["a"]}, {"hosts": []}, {}, {"f:hosts": {'v:"a"': {}}}, id="a set emptied"),
        pytest.param(
            {"parts": [{"name": "x", "size": 1}]},
            {"parts": [{"name": "x", "size": 2}]},
            {"f:parts": {_X: {"f:size": {}}}},
            {},
            id="a field of an item",
        ),
        pytest.param(
            {"parts": [{"name": "x"}]},
            {"parts": [{"name": "y"}]},
            {"f:parts": {_Y: {".": {}, "f:name": {}}}},
            {"f:parts": {_X: {".": {}, "f:name": {}}}},
            id="another item",
        ),
        pytest.param(
            {"ports": [{"port": 1}]},
            {"ports": [{"port": 1, "protocol": "TCP"}]},
            {"f:ports": {'k:{"port":1,"protocol":"TCP"}': {"f:protocol": {}}}},
            {},
            id="a key that is the default",
        ),
        pytest.param(
            {"extra": {"a": {"p": 1}}},
            {"extra": {"a": "x"}},
            {"f:extra": {"f:a": {}}},
            {"f:extra": {"f:a": {"f:p": {}}}},
            id="an object becomes a text",
        ),
        pytest.param(
            {"extra": {"a": [1]}},
            {"extra": {"a": {"p": 1}}},
            {"f:extra": {"f:a": {".": {}, "f:p": {}}}},
            {},
            id="a list becomes an object",
        ),
        pytest.param(
            {"extra": {"a": None}}, {"extra": {"a": "x"}}, {"f:extra": {"f:a": {}}}, {}, id="null becomes a text"
        ),
        pytest.param(
            {"extra": {"a": {"p": 1}}},
            {"extra": {"a": None}},
            {},
            {"f:extra": {"f:a": {"f:p": {}}}},
            id="an object becomes null",
        ),
    ],
)
def test_changes(old: Any, new: Any, changed: Any, removed: Any) -> None:
    assert compare(old, new, _SPEC) == (changed, removed)


_ONE = {"name": "x", "size": 1}
_TWO = {"name": "x", "size": 2}
_ALL_OF_X = {".": {}, "f:name": {}, "f:size": {}}


@pytest.mark.parametrize(
    ("old", "new", "changed", "removed"),
    [
        pytest.param([_ONE, _TWO], [_ONE, _TWO], {}, {}, id="the same twice"),
        pytest.param([_ONE, _TWO], [_TWO, _ONE], {_X: {}}, {}, id="in another order"),
        pytest.param([_ONE, _TWO], [_ONE, _TWO, _ONE], {_X: {}}, {}, id="once more"),
        pytest.param([], [_ONE, _TWO], {_X: {}}, {}, id="new"),
        pytest.param([_ONE, _TWO], [{"name": "y"}], {_Y: {".": {}, "f:name": {}}}, {_X: {}}, id="gone"),
        pytest.param([_ONE], [_ONE, _TWO], {_X: {}}, {_X: _ALL_OF_X}, id="one becomes two"),
        pytest.param([_ONE, _TWO], [_ONE], {_X: _ALL_OF_X}, {_X: {}}, id="two become one"),
    ],
)
def test_items_that_share_a_key_count_as_one(old: Any, new: Any, changed: Any, removed: Any) -> None:
    got = compare({"parts": old}, {"parts": new}, _SPEC)
    assert got == ({"f:parts": changed} if changed else {}, {"f:parts": removed} if removed else {})


def test_an_item_without_a_key_can_not_be_compared() -> None:
    with pytest.raises(ItemError):
        compare({}, {"parts": [{"size": 1}]}, _SPEC)


def test_everything() -> None:
    value = {"image": None, "limits": {"a": 1}, "hosts": ["a", "a"], "args": ["x"], "parts": [_ONE, {"name": "y"}]}
    assert everything(value, _SPEC) == {
        ".": {},
        "f:image": {},
        "f:limits": {".": {}, "f:a": {}},
        "f:hosts": {".": {}, 'v:"a"': {}},
        "f:args": {},
        "f:parts": {".": {}, _X: _ALL_OF_X, _Y: {".": {}, "f:name": {}}},
    }
