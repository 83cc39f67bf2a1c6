"""The order of merged lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery.patch import PatchError, ordering


@pytest.mark.parametrize(
    ("merged", "wanted", "live", "result"),
    [
        ("abc", "", "abc", "abc"),
        ("abc", "cb", "abc", "acb"),
        ("abcx", "x", "abc", "xabc"),
        ("abx", "bx", "ab", "abx"),
        ("sab", "ba", "asb", "sba"),
        ("ab", "", "", "ba"),
    ],
    ids=["live order", "wanted order", "new before live", "new after wanted", "interleaved", "no order at all"],
)
def test_items_are_arranged(merged: str, wanted: str, live: str, result: str):
    arranged = ordering.arrange(list(merged), list(wanted), list(live), ordering.identify_by(""))
    assert "".join(arranged) == result


def test_objects_are_told_apart_by_their_key():
    identify = ordering.identify_by("name")
    assert identify({"name": "a", "image": "x"}) == identify({"name": "a"})
    assert identify({"name": 1}) != identify({"name": True})
    with pytest.raises(PatchError, match=r"^map: map\[image:x\] does not contain declared merge key: name$"):
        identify({"image": "x"})


@given(st.lists(st.sampled_from("abcdef"), unique=True), st.lists(st.sampled_from("defghi"), unique=True))
def test_wanted_and_live_orders_are_both_kept(live: list[str], wanted: list[str]):
    merged = list(dict.fromkeys([*live, *wanted]))
    arranged = ordering.arrange(merged, wanted, live, ordering.identify_by(""))
    assert sorted(arranged) == sorted(merged)
    assert [item for item in arranged if item in wanted] == wanted
    assert [item for item in arranged if item not in wanted] == [item for item in live if item not in wanted]
