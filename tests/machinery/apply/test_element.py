from __future__ import annotations

import pytest

from rayward.kube.machinery.apply.element import BadElementError, canonical, field, key, order, text_of, value


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("f:any thing, even {}", "f:any thing, even {}"),
        ('k:{"b": 1, "a": "x"}', 'k:{"a":"x","b":1}'),
        ('k:{"port":80.0}', 'k:{"port":80}'),
        ("k:{}", "k:{}"),
        ("v:1.0", "v:1"),
        ("v:1e3", "v:1000"),
        ("v:1.5", "v:1.5"),
        ("v:true", "v:true"),
        ("v:null", "v:null"),
        ('v:"a<b"', 'v:"a\\u003cb"'),
        ('v:"\\u00e9"', 'v:"é"'),
        ("i:007", "i:7"),
        ("i:-1", "i:-1"),
    ],
)
def test_every_element_has_one_spelling(text: str, spelled: str) -> None:
    assert canonical(text) == spelled
    assert canonical(spelled) == spelled


def test_elements_of_unknown_kinds_are_left_out() -> None:
    assert canonical("r:x") is None


@pytest.mark.parametrize("text", ["", "f", "fx", "v:", "v:{", "k:[1]", "k:1", "i:x", "i:1_0", "v:1e999", 'v:"\\ud800"'])
def test_what_is_no_element(text: str) -> None:
    with pytest.raises(BadElementError):
        canonical(text)


def test_a_true_is_not_a_one() -> None:
    assert value(True) != value(1) == value(1.0)
    assert key({"a": True}) != key({"a": 1}) == key({"a": 1.0})


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (field("spec"), ".spec"),
        (key({"port": 80, "name": 'a"b'}), '[name="a\\"b",port=80]'),
        (key({"a": None, "b": True, "c": [1, "x"], "d": {"e": 1}}), '[a=null,b=true,c=[1,"x"],d=e=1]'),
        (value("x"), '[="x"]'),
        (value(1.5), "[=1.5]"),
        (value(2_000_000), "[=2e+06]"),
        ("i:3", "[3]"),
    ],
)
def test_texts_for_people(step: str, text: str) -> None:
    assert text_of(step) == text


def test_order() -> None:
    steps = [
        field("B"),
        field("a"),
        key({"a": 1}),
        key({"a": 1, "b": 1}),
        key({"a": "1"}),
        key({"b": 0}),
        value(2),
        value(10),
        value("a"),
        value(False),
        value(True),
        value([1]),
        value(None),
        "i:2",
        "i:10",
    ]
    backwards = steps[::-1]
    assert sorted(backwards, key=order) == steps
