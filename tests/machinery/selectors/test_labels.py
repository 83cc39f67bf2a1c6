"""Label selectors mean what they mean to Kubernetes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery.selectors import SelectorError, labels
from rayward.kube.machinery.selectors.requirement import Operator, Requirement

Object = dict[str, Any]


@pytest.mark.parametrize(
    ("text", "selected", "passed_over"),
    [
        ("", [{}, {"a": "b"}], []),
        ("a=b", [{"a": "b"}, {"a": "b", "c": ""}], [{}, {"a": "c"}, {"b": "b"}]),
        ("a==b,c=d", [{"a": "b", "c": "d"}], [{"a": "b"}, {"c": "d"}]),
        ("a=b,a=c", [], [{"a": "b"}, {"a": "c"}]),
        ("a=", [{"a": ""}], [{}, {"a": "b"}]),
        ("a!=b", [{}, {"a": "c"}], [{"a": "b"}]),
        ("a", [{"a": ""}, {"a": "b"}], [{}]),
        ("!a", [{}, {"b": ""}], [{"a": ""}]),
        ("a in (b, c)", [{"a": "b"}, {"a": "c"}], [{}, {"a": "d"}]),
        ("a in ()", [{"a": ""}], [{}, {"a": "b"}]),
        ("a in (,b)", [{"a": ""}, {"a": "b"}], [{}]),
        ("a notin (b,c)", [{}, {"a": "d"}], [{"a": "b"}]),
        ("a>5", [{"a": "6"}, {"a": "+6"}], [{}, {"a": "5"}, {"a": "x"}, {"a": "9223372036854775808"}]),
        ("a<5", [{"a": "-6"}], [{}, {"a": "5"}]),
        ("in in (in,notin)", [{"in": "in"}], [{"in": "a"}]),
        ("a in (b),!c,d!=e", [{"a": "b"}], [{"a": "b", "c": ""}, {"a": "b", "d": "e"}]),
    ],
)
def test_a_selector_selects(text: str, selected: list[dict[str, str]], passed_over: list[dict[str, str]]):
    selector = labels.parse(text)
    assert [each for each in selected if not selector.matches(each)] == []
    assert [each for each in passed_over if selector.matches(each)] == []


def test_an_object_without_labels_is_like_one_with_none():
    assert labels.parse("!a").matches(None)
    assert not labels.parse("a").matches(None)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (" b = c , a ", "a,b=c"),
        ("a==b", "a==b"),
        ("a in (z,b,z)", "a in (b,z)"),
        ("a notin()", "a notin ()"),
        ("! a", "!a"),
        ("a>5,b<6", "a>5,b<6"),
    ],
)
def test_the_text_of_a_selector_is_canonical(text: str, canonical: str):
    assert str(labels.parse(text)) == canonical


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ({}, ""),
        ({"matchLabels": {"b": "c", "a": "d"}}, "a=d,b=c"),
        (
            {
                "matchExpressions": [
                    {"key": "a", "operator": "In", "values": ["y", "x"]},
                    {"key": "b", "operator": "NotIn", "values": ["z"]},
                    {"key": "c", "operator": "Exists"},
                    {"key": "d", "operator": "DoesNotExist"},
                ],
                "matchLabels": {"e": "f"},
            },
            "a in (x,y),b notin (z),c,!d,e=f",
        ),
    ],
    ids=["empty", "labels", "expressions"],
)
def test_an_object_means_the_same_as_its_text(selector: Object, text: str):
    assert str(labels.from_object(selector)) == text


def test_no_selector_at_all_selects_nothing():
    nothing = labels.from_object(None)
    assert not nothing.matches({})
    assert nothing != labels.EVERYTHING
    assert labels.from_object({}) == labels.EVERYTHING


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (
            {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
            '"Gt" is not a valid label selector operator',
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["1"]}]},
            'values: Invalid value: ["1"]: values set must be empty for exists and does not exist',
        ),
    ],
    ids=["operator", "no values", "values too many"],
)
def test_a_bad_object_is_refused(selector: Object, text: str):
    with pytest.raises(SelectorError) as refused:
        labels.from_object(selector)
    assert str(refused.value) == text


def test_several_problems_of_one_requirement_are_listed():
    with pytest.raises(SelectorError, match=r"^\[key: Invalid value: .*, values\[0\]\[a b\]: Invalid value: .*\]$"):
        labels.from_object({"matchLabels": {"a b": "-"}})


@pytest.mark.parametrize(
    ("text", "value"),
    [("a=b", "b"), ("a==b", "b"), ("a in (b)", "b"), ("a in (b,c)", None), ("a!=b", None), ("c=d", None), ("a", None)],
)
def test_the_one_value_that_a_label_must_have(text: str, value: str | None):
    assert labels.parse(text).exact_value("a") == value


def test_a_text_of_unreasonable_length_is_refused():
    with pytest.raises(SelectorError, match="longer than"):
        labels.parse("a=" + "b" * 100_000)


keys = st.from_regex(r"([a-z0-9]{1,5}\.[a-z]{1,3}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,5}[A-Za-z0-9])?", fullmatch=True)
values = st.from_regex(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,5}[A-Za-z0-9])?)?", fullmatch=True)
requirements = st.one_of(
    st.builds(
        lambda key, operator, value: Requirement(key, operator, (value,)),
        keys,
        st.sampled_from([Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.NOT_EQUALS]),
        values,
    ),
    st.builds(
        lambda key, operator, several: Requirement(key, operator, tuple(sorted(several))),
        keys,
        st.sampled_from([Operator.IN, Operator.NOT_IN]),
        st.sets(values, min_size=1, max_size=4),
    ),
    st.builds(Requirement, keys, st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST])),
    st.builds(
        lambda key, operator, number: Requirement(key, operator, (str(number),)),
        keys,
        st.sampled_from([Operator.GREATER_THAN, Operator.LESS_THAN]),
        st.integers(0, 2**63 - 1),
    ),
)


@given(st.lists(requirements, max_size=5))
def test_what_is_written_reads_back(several: list[Requirement]):
    selector = labels.from_requirements(several)
    assert labels.parse(str(selector)) == selector


@given(st.lists(requirements, max_size=4), st.dictionaries(keys, values, max_size=4))
def test_a_selector_holds_when_each_of_its_requirements_does(several: list[Requirement], given_labels: dict[str, str]):
    alone = [labels.from_requirements([each]).matches(given_labels) for each in several]
    assert labels.from_requirements(several).matches(given_labels) is all(alone)


@given(st.dictionaries(keys, values, max_size=4), st.dictionaries(keys, values, max_size=4))
def test_equality_selectors_ask_for_a_part_of_the_labels(wanted: dict[str, str], given_labels: dict[str, str]):
    everything = {**given_labels, **wanted}
    assert labels.from_object({"matchLabels": wanted}).matches(everything)
    expected = all(given_labels.get(key) == value for key, value in wanted.items())
    assert labels.from_object({"matchLabels": wanted}).matches(given_labels) is expected
