"""JSONPath texts are read, or refused, as client-go does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery import jsonpathsyntax as syntax
from rayward.kube.machinery.jsonpathsyntax import (
    Descent,
    Field,
    Filter,
    Identifier,
    JSONPathError,
    Literal,
    Slice,
    Text,
    Union,
    Wildcard,
)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("", ()),
        (".a.b", (Field("a"), Field("b"))),
        ("$.a", (Field("a"),)),
        ("@.a", (Field("a"),)),
        ("['a']", (Field("a"),)),
        (r".metadata.labels.a\.b/c", (Field("metadata"), Field("labels"), Field("a.b/c"))),
        (r"['a\.b']", (Field("a.b"),)),
        (".*", (Wildcard(),)),
        ("..a", (Descent(), Field("a"))),
        ("[0]", (Slice(0, 1, None, True),)),
        ("[-1]", (Slice(-1, 0, None, True),)),
        ("[*]", (Slice(None, None, None, False),)),
        ("[1:3]", (Slice(1, 3, None, False),)),
        ("[1:]", (Slice(1, None, None, False),)),
        ("[:2]", (Slice(None, 2, None, False),)),
        ("[::2]", (Slice(None, None, 2, False),)),
        ("[0,'a']", (Union(((Slice(0, 1, None, True),), (Field("a"),))),)),
        ("[?(@.a)]", (Filter((Field("a"),), "exists", ()),)),
        ('[?(@.a=="b)c")]', (Filter((Field("a"),), "==", (Text("b)c"),)),)),
        ("[?(@.a>=1.5)]", (Filter((Field("a"),), ">=", (Literal(1.5),)),)),
        ("[?(@.a==true)]", (Filter((Field("a"),), "==", (Literal(True),)),)),
        (r'"it\"s é \u00e9\n"', (Text('it"s é é\n'),)),
        (r"'it\'s \x41\101'", (Text("it's AA"),)),
        ("-3", (Literal(-3),)),
        ("range", (Identifier("range"),)),
    ],
)
def test_the_steps_of_an_action(text: str, steps: syntax.Steps):
    assert syntax.read(f"{{{text}}}") == (steps,)


def test_a_template_has_text_around_its_actions():
    assert syntax.read("a {.b}{.c} d") == ((Text("a "),), (Field("b"),), (Field("c"),), (Text(" d"),))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{.a", "unclosed action"),
        ("{.a\n}", "unclosed action"),
        ("{[0}", "unterminated array"),
        ("{[a]}", "invalid array index a"),
        ("{[-]}", "array index - is not a number"),
        ("{[?(@.a}", "unterminated filter"),
        ("{[?(@.a)}", "unclosed array expect ]"),
        ("{'a}", "unterminated quoted string"),
        (r"{'\q'}", r"unquote string '\q' error invalid syntax"),
        (r"{'\"'}", "unquote string '\\\"' error invalid syntax"),
        ("{1.2.3}", "cannot parse number 1.2.3"),
        ("{....a}", "invalid multiple recursive descent"),
        ("{#}", "unrecognized character in action: U+0023 '#'"),
        ("{\x01}", "unrecognized character in action: U+0001"),
        ("x" * 5000, "longer than 4096 characters"),
    ],
)
def test_malformed_texts(text: str, problem: str):
    with pytest.raises(JSONPathError) as refused:
        syntax.read(text)
    assert str(refused.value) == problem


@given(st.text(alphabet="{}[]().,:?@$*'\"\\=<>! ab01-\n", max_size=25))
def test_any_text_is_read_or_refused(text: str):
    try:
        parts = syntax.read(text)
    except JSONPathError:
        return
    assert isinstance(parts, tuple)
