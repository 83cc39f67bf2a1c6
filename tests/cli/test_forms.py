"""Objects as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.cli.forms import Form, rendered, to_yaml, without_managed
from rayward.kube.machinery.decoding import decode_yaml

_texts = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), max_size=12)
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(_texts, _values, max_size=4))
def test_yaml_is_read_back_as_the_same_object(document: dict[str, object]) -> None:
    assert decode_yaml(to_yaml(document).encode()).value == document


@pytest.mark.parametrize(
    "text", ["y", "no", "on", "12:30", "1e3", "0x1F", "null", "~", "", "010", "2026-01-01", ".inf"]
)
def test_words_that_readers_take_for_something_else_stay_texts(text: str) -> None:
    assert decode_yaml(to_yaml({"a": text}).encode()).value == {"a": text}


def test_owners_of_fields_are_left_out() -> None:
    assert without_managed({"metadata": {"name": "a", "managedFields": [1]}}) == {"metadata": {"name": "a"}}


@pytest.mark.parametrize("template", ["{.a.b}", ".a.b", "a.b"])
def test_a_template_may_leave_out_its_braces(template: str) -> None:
    assert rendered({"a": {"b": "found"}}, Form("jsonpath", template)) == "found"
