from __future__ import annotations

import pytest

from rayward.kube.machinery.yamltext import dump


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": 1, "b": ["x", None, True]}, "a: 1\nb:\n- x\n- null\n- true\n"),
        ({"a": "y", "b": "1e3", "c": "0o7", "d": ".nan", "e": ""}, 'a: "y"\nb: "1e3"\nc: "0o7"\nd: ".nan"\ne: ""\n'),
        ({"y": 1}, '"y": 1\n'),
        ({"a": "one\ntwo\n"}, "a: |\n  one\n  two\n"),
        ({"a": "Grüße"}, "a: Grüße\n"),
        ({"b": 1, "a": 2}, "b: 1\na: 2\n"),
    ],
)
def test_texts_that_read_as_something_else_are_quoted(value: object, text: str) -> None:
    assert dump(value) == text


def test_what_occurs_twice_is_written_twice() -> None:
    part = {"x": 1}
    assert dump({"a": part, "b": part}) == "a:\n  x: 1\nb:\n  x: 1\n"
