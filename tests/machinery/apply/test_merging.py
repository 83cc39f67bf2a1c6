from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.apply.merging import merge
from rayward.kube.machinery.apply.types import ItemError
from rayward.kube.machinery.apply.values import ABSENT, same
from tests.machinery.apply.kinds import WIDGET

_SPEC = WIDGET.fields["spec"].type


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        pytest.param({"image": "a", "size": 1}, {"image": "b"}, {"image": "b", "size": 1}, id="the applied value wins"),
        pytest.param({"image": "a"}, {"image": None}, {"image": None}, id="a null wins over a scalar"),
        pytest.param({"limits": {"a": 1}}, {"limits": None}, {"limits": {"a": 1}}, id="a null loses to an object"),
        pytest.param({"limits": {"a": 1}}, {"limits": {}}, {"limits": {"a": 1}}, id="an empty object loses too"),
        pytest.param({"limits": {}}, {"limits": None}, {"limits": None}, id="a null wins over an empty object"),
        pytest.param({"limits": None}, {"limits": {}}, {"limits": {}}, id="an empty object wins over null"),
        pytest.param({"hosts": ["a"]}, {"hosts": []}, {"hosts": ["a"]}, id="an empty set takes nothing away"),
        pytest.param({"hosts": []}, {"hosts": None}, {"hosts": None}, id="a null wins over an empty set"),
        pytest.param({"args": ["a"]}, {"args": []}, {"args": []}, id="an atomic list is replaced"),
        pytest.param(
            {"selector": {"a": "1"}},
            {"selector": {"b": "1"}},
            {"selector": {"b": "1"}},
            id="an atomic object is replaced",
        ),
        pytest.param({"selector": {"a": "1"}}, {"selector": None}, {"selector": None}, id="an atomic object is nulled"),
        pytest.param({"extra": {"a": 1}}, {"extra": {"a": True}}, {"extra": {"a": True}}, id="true replaces 1"),
        pytest.param(
            {"extra": {"a": {"p": 1}}}, {"extra": {"a": "x"}}, {"extra": {"a": "x"}}, id="a text replaces an object"
        ),
        pytest.param(
            {"extra": {"a": "x"}},
            {"extra": {"a": {"p": 1}}},
            {"extra": {"a": {"p": 1}}},
            id="an object replaces a text",
        ),
        pytest.param(
            {"extra": {"a": [1]}},
            {"extra": {"a": None}},
            {"extra": {"a": None}},
            id="a null replaces a list of anything",
        ),
        pytest.param(
            {"extra": {"a": {"p": 1}}},
            {"extra": {"a": None}},
            {"extra": {"a": {"p": 1}}},
            id="a null does not replace an object of anything",
        ),
        pytest.param(
            {"parts": [{"name": "x", "size": 1}]},
            {"parts": [{"name": "x", "image": "a"}]},
            {"parts": [{"name": "x", "size": 1, "image": "a"}]},
            id="items are merged",
        ),
        pytest.param(
            {"parts": [{"name": "x", "size": 1}, {"name": "x"}]},
            {"parts": [{"name": "x", "image": "a"}]},
            {"parts": [{"name": "x", "image": "a"}]},
            id="items that share a key are replaced",
        ),
    ],
)
def test_merging(live: Any, applied: Any, merged: Any) -> None:
    assert same(merge(live, applied, _SPEC), merged)


@pytest.mark.parametrize(
    ("live", "applied", "merged"),
    [
        ("abc", "abc", "abc"),
        ("abc", "b", "abc"),
        ("abc", "d", "abcd"),
        ("abc", "da", "dabc"),
        ("abc", "cba", "cba"),
        ("abc", "ca", "bca"),
        ("abc", "xay", "xabcy"),
        ("abcd", "dxb", "acdxb"),
        ("ab", "xy", "abxy"),
        ("abab", "b", "aba"),
        ("abcab", "cb", "acab"),
        ("aba", "ab", "ab"),
    ],
)
def test_the_order_is_that_of_live_unless_the_applier_orders_otherwise(live: str, applied: str, merged: str) -> None:
    got = merge({"hosts": list(live)}, {"hosts": list(applied)}, _SPEC)
    assert "".join(got["hosts"]) == merged


@pytest.mark.parametrize(
    "value", [{}, None, {"image": "a", "limits": {"a": 1}, "hosts": ["a"], "parts": [{"name": "x"}]}]
)
def test_merging_what_is_there_already_gives_the_live_value_itself(value: Any) -> None:
    assert merge(value, value, _SPEC) is value
    live = {"image": "a", "hosts": ["a"], "limits": {"a": 1, "b": 2}, "parts": [{"name": "x", "size": 1}]}
    assert merge(live, {"hosts": ["a"], "limits": {"a": 1}, "parts": [{"name": "x"}], "image": "a"}, _SPEC) is live
    assert merge(ABSENT, value, _SPEC) is value


def test_neither_side_changes() -> None:
    live, applied = {"parts": [{"name": "x"}]}, {"parts": [{"name": "x", "size": 1}, {"name": "y"}], "image": "a"}
    before = repr((live, applied))
    merge(live, applied, _SPEC)
    assert repr((live, applied)) == before


def test_an_item_without_a_key_can_not_be_merged() -> None:
    with pytest.raises(ItemError):
        merge({"parts": [None]}, {"parts": [{"name": "x"}]}, _SPEC)
