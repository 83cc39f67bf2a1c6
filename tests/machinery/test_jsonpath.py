"""JSONPath finds what client-go finds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery import jsonpath
from rayward.kube.machinery.jsonpath import ABSENT, JSONPathError

Object = dict[str, Any]
DOC: Object = {
    "name": "n",
    "null": None,
    "items": [
        {"name": "a", "size": 1, "ready": True, "tags": ["x", "y", "z"]},
        {"name": "b", "size": 2, "weight": 0.5},
        {"name": "c", "size": 3, "nested": {"name": "d"}},
    ],
    "labels": {"app.io/x": "y"},
    "matrix": [[1, 2], [3]],
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".name", ["n"]),
        (".null", [None]),
        (r".labels.app\.io/x", ["y"]),
        (".items[0].name", ["a"]),
        (".items[-1].name", ["c"]),
        (".items[*].name", ["a", "b", "c"]),
        (".items[0:2].name", ["a", "b"]),
        (".items[::2].name", ["a", "c"]),
        (".items[1:].size", [2, 3]),
        (".items[1:1]", []),
        (".items[0,2].name", ["a", "c"]),
        (".items[0]['name','size']", ["a", 1]),
        (".items[*].tags[*]", ["x", "y", "z"]),
        (".matrix[*][0]", [1, 3]),
        (".items[?(@.size>1)].name", ["b", "c"]),
        (".items[?(@.size<=2)].name", ["a", "b"]),
        (".items[?(@.size!=2)].name", ["a", "c"]),
        (".items[?(@.name=='b')].size", [2]),
        ('.items[?(@.name>="b")].size', [2, 3]),
        (".items[?(@.weight==0.5)].name", ["b"]),
        (".items[?(@.ready==true)].name", ["a"]),
        (".items[?(@.tags)].name", ["a"]),
        (".items[?(@.nested.name)].name", ["c"]),
        ("..name", ["n", "a", "b", "c", "d"]),
        (".labels.*", ["y"]),
        (".nope", []),
        (".nope.deeper[0]", []),
        (".items[*].nested.name", ["d"]),
        ("'text'", ["text"]),
        ("", [DOC]),
    ],
)
def test_a_relaxed_path_finds(path: str, found: list[Any]):
    assert jsonpath.parse(f"{{{path}}}", relaxed=True).find(DOC) == [found]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (".nope", "nope is not found"),
        (".name.deeper", "deeper is not found"),
        (".items[5]", "array index out of bounds: index 5, length 3"),
        (".items[-4]", "array index out of bounds: index -1, length 3"),
        (".items[0:4]", "array index out of bounds: index 3, length 3"),
        (".items[2:1]", "starting index 2 is greater than ending index 1"),
        (".items[::0]", "step must be > 0"),
        (".labels[0]", "map[string]interface {} is not array or slice"),
        (".name[?(@.a)]", "n is not array or slice and cannot be filtered"),
        (".items[?(@.size=='1')]", "incompatible types for comparison"),
        (".items[?(@.size==1.0)]", "incompatible types for comparison"),
        (".items[?(@.name<true)]", "incompatible types for comparison"),
        (
            ".items[0:1][?(@.a)]",
            "map[name:a ready:true size:1 tags:[x y z]] is not array or slice and cannot be filtered",
        ),
        (".items[?(@.size===1)]", "unrecognized filter operator ==="),
        (".items[?(@..name=='d')]", "can only compare one element at a time"),
        (".items[?(@=='d')]", "invalid type for comparison"),
        ("word", "unrecognized identifier word"),
    ],
)
def test_a_strict_path_that_does_not_fit(path: str, problem: str):
    with pytest.raises(JSONPathError) as refused:
        jsonpath.parse(f"{{{path}}}").find(DOC)
    assert str(refused.value) == problem


@pytest.mark.parametrize(
    ("path", "first"),
    [
        (".name", "n"),
        (".null", None),
        (".nope", ABSENT),
        (".name.deeper", ABSENT),
        (".null.deeper", ABSENT),
        (".items[*].name", "a"),
        (".items[7].name", ABSENT),
        (".items[?(@.size>2)].name", "c"),
        (".items[?(@.size=='x')].name", ABSENT),
    ],
)
def test_the_first_value_of_a_column(path: str, first: Any):
    assert jsonpath.parse_column(path).first(DOC) == first


def test_a_malformed_column_is_named():
    with pytest.raises(JSONPathError, match=r'^unrecognized column definition "\.a\[b\]"$'):
        jsonpath.parse_column(".a[b]")


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{.name}", "n"),
        ("name: {.name}!", "name: n!"),
        ("{.items[*].name}", "a b c"),
        ("{.items[0].tags}", '["x","y","z"]'),
        ("{.labels}", '{"app.io/x":"y"}'),
        ("{.items[1].weight} {.items[0].ready} {.null}", "0.5 true null"),
        ("{.name}{'\\n'}{.items[0].size}", "n\n1"),
    ],
)
def test_rendering(template: str, text: str):
    assert jsonpath.parse(template).render(DOC) == text


def test_numbers_print_as_go_prints_them():
    assert jsonpath.printed(1e7) == "1e+07"
    assert jsonpath.printed({"b": 1.0, "a": "<"}) == r'{"a":"\u003c","b":1}'


def test_what_multiplies_without_end_is_stopped():
    wide: Object = {str(n): {str(m): "x" for m in range(300)} for n in range(400)}
    with pytest.raises(JSONPathError, match="more than 100000 values"):
        jsonpath.parse("{...*...*}", relaxed=True).find(wide)


def test_endless_nesting_is_refused():
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(JSONPathError, match="exceeded max depth"):
        jsonpath.parse("{..x}", relaxed=True).find({"a": deep})


names = st.text("abc", min_size=1, max_size=2)
documents = st.recursive(
    st.integers(0, 3) | st.none(), lambda inner: st.dictionaries(names, inner, max_size=3) | st.lists(inner, max_size=3)
)


@given(st.dictionaries(names, documents, max_size=3), st.lists(names, min_size=1, max_size=3))
def test_the_short_way_of_plain_fields_finds_the_same(doc: Object, keys: list[str]):
    path = jsonpath.parse_column("".join(f".{key}" for key in keys))
    (found,) = path.find(doc)
    assert path.first(doc) == (found[0] if found else ABSENT)
