"""Go's words for text that is no JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery.jsonsyntax import syntax_error

_CASES = {
    "": "unexpected end of JSON input",
    "{": "unexpected end of JSON input",
    "{nope": "invalid character 'n' looking for beginning of object key string",
    '{"a" 1}': "invalid character '1' after object key",
    "[1 2]": "invalid character '2' after array element",
    '{"a":1 "b":2}': "invalid character '\"' after object key:value pair",
    "nope": "invalid character 'o' in literal null (expecting 'u')",
    "'a'": r"invalid character '\'' looking for beginning of value",
    '{"a":1,}': "invalid character '}' looking for beginning of object key string",
    "[1,]": "invalid character ']' looking for beginning of value",
    "{}x": "invalid character 'x' after top-level value",
    "-x": "invalid character 'x' in numeric literal",
    "1.x": "invalid character 'x' after decimal point in numeric literal",
    "1ex": "invalid character 'x' in exponent of numeric literal",
    '"\n"': r"invalid character '\n' in string literal",
    r'"\x"': "invalid character 'x' in string escape code",
    r'"\u00g"': r"invalid character 'g' in \u hexadecimal character escape",
    "\x00": r"invalid character '\x00' looking for beginning of value",
    "[" * 10_001: "invalid character '[' exceeded max depth",
}


@pytest.mark.parametrize(("text", "message"), _CASES.items(), ids=range(len(_CASES)))
def test_the_first_wrong_character(text: str, message: str) -> None:
    assert syntax_error(text.encode()) == message


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=10,
    )
)
def test_json_is_fine(value: object) -> None:
    assert syntax_error(json.dumps(value, indent=1).encode()) == ""
