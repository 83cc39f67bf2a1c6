"""Malformed label selectors are explained in Kubernetes' words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery.selectors import SelectorError, grammar

KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a=b,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!=a", "found '!=', expected: !, identifier, or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a in", "unable to parse requirement: found '' expected: '('"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        ("a===b", "unable to parse requirement: found '=', expected: identifier"),
        ("a^=b", f'unable to parse requirement: <nil>: Invalid value: "a^": {KEY}'),
        ("a=-b", f'unable to parse requirement: values[0][a]: Invalid value: "-b": {VALUE}'),
        (
            "a>b",
            (
                "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, "
                "the value must be an integer"
            ),
        ),
        (
            "a in (-,+)",
            (
                f'unable to parse requirement: [values[0][a]: Invalid value: "+": {VALUE}, '
                f'values[1][a]: Invalid value: "-": {VALUE}]'
            ),
        ),
    ],
)
def test_the_complaint(text: str, problem: str):
    with pytest.raises(SelectorError) as refused:
        grammar.read(text)
    assert str(refused.value) == problem


@given(st.text(alphabet="ab=!(),<> \tinotx./-\0", max_size=30))
def test_any_text_is_read_or_refused(text: str):
    try:
        requirements = grammar.read(text)
    except SelectorError:
        return
    assert all(str(requirement) for requirement in requirements)
