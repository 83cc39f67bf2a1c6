from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.gotext import float_text, json_name, json_text, plain, quoted, syntax, type_name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", '"plain"'),
        ('a"b\\', '"a\\"b\\\\"'),
        ("é😀", '"é😀"'),
        ("\n\t\a\v", '"\\n\\t\\a\\v"'),
        ("\x01\x7f", '"\\x01\\x7f"'),
        ("\u200b\u00a0", '"\\u200b\\u00a0"'),
        ("\U000e0001", '"\\U000e0001"'),
    ],
)
def test_quoted(text: str, expected: str) -> None:
    assert quoted(text) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.0, "1"),
        (80.0, "80"),
        (100000.0, "100000"),
        (1000000.0, "1e+06"),
        (12345678.0, "1.2345678e+07"),
        (1e21, "1e+21"),
        (1.5, "1.5"),
        (-0.0001, "-0.0001"),
        (0.00001, "1e-05"),
        (0.0, "0"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
    ],
)
def test_floats(value: float, expected: str) -> None:
    assert float_text(value) == expected


@pytest.mark.parametrize(
    ("value", "with_v", "with_syntax", "kind"),
    [
        (None, "<nil>", "interface {}(nil)", "<nil>"),
        (True, "true", "true", "bool"),
        (3, "3", "3", "int64"),
        (1.5, "1.5", "1.5", "float64"),
        ("x", "x", '"x"', "string"),
        (["a", 1], "[a 1]", '[]interface {}{"a", 1}', "[]interface {}"),
        (
            {"b": 1, "a": None},
            "map[a:<nil> b:1]",
            'map[string]interface {}{"a":interface {}(nil), "b":1}',
            "map[string]interface {}",
        ),
    ],
)
def test_values(value: Any, with_v: str, with_syntax: str, kind: str) -> None:
    assert plain(value) == with_v
    assert syntax(value) == with_syntax
    assert type_name(value) == kind


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b": [1, None], "a": True}, '{"a":true,"b":[1,null]}'),
        ("<&>\u2028\b", '"\\u003c\\u0026\\u003e\\u2028\\u0008"'),
        ("\x0c\n", '"\\u000c\\n"'),
        (1.0, "1"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (0.000001, "0.000001"),
        (1e-7, "1e-07"),
    ],
)
def test_json(value: Any, expected: str) -> None:
    assert json_text(value) == expected


def test_names_in_json_keep_what_html_would_escape() -> None:
    assert json_name('<"') == '"<\\""'


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_numbers_that_json_does_not_have(value: float) -> None:
    with pytest.raises(ValueError, match=str(value)):
        json_text([value])
