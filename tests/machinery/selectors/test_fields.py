"""Field selectors mean what they mean to Kubernetes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery.selectors import FieldSelector, SelectorError, fields
from rayward.kube.machinery.selectors.fields import FieldTerm


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        (",", []),
        ("=", []),
        ("a.b=c", [("a.b", "=", "c")]),
        ("a==b", [("a", "=", "b")]),
        ("a!=b", [("a", "!=", "b")]),
        ("b=1,a=2", [("a", "=", "2"), ("b", "=", "1")]),
        ("a=", [("a", "=", "")]),
        (r"a=x\,y\=z\\", [("a", "=", r"x,y=z" + "\\")]),
        ("a = b", [("a ", "=", " b")]),
    ],
)
def test_terms(text: str, terms: list[tuple[str, str, str]]):
    assert list(fields.parse(text).terms) == terms


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
        ("a=" + "b" * 100_000, "invalid selector: longer than 65536 characters"),
    ],
    ids=["no operator", "one term of two", "unescaped", "unknown escape", "lone backslash", "too long"],
)
def test_the_complaint(text: str, problem: str):
    with pytest.raises(SelectorError) as refused:
        fields.parse(text)
    assert str(refused.value) == problem


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("name=a", True),
        ("name=b", False),
        ("name!=b", True),
        ("name!=a", False),
        ("name=a,phase=Running", True),
        ("name=a,phase!=Running", False),
        ("other=", True),
        ("other!=", False),
    ],
)
def test_matching(text: str, matches: bool):
    known = {"name": "a", "phase": "Running"}
    assert fields.parse(text).matches(lambda field: known.get(field, "")) is matches


@pytest.mark.parametrize(("text", "value"), [("a=b", "b"), ("a!=b", None), ("b=c", None), ("a!=x,a=b", "b")])
def test_the_one_value_that_a_field_must_have(text: str, value: str | None):
    assert fields.parse(text).exact_value("a") == value


terms = st.builds(
    FieldTerm,
    st.from_regex(r"[a-z]{1,5}(\.[a-zA-Z]{1,5}){0,2}", fullmatch=True),
    st.sampled_from(["=", "!="]),
    st.text(max_size=10),
)


@given(st.lists(terms, max_size=4))
def test_what_is_written_reads_back(several: list[FieldTerm]):
    selector = FieldSelector(tuple(several))
    again = fields.parse(str(selector))
    assert sorted(again.terms) == sorted(selector.terms)
    assert fields.parse(str(again)) == again
