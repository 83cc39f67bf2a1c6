"""Request bodies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery.decoding import MalformedError, decode_json, decode_yaml
from rayward.local.apiserver.requestbody import decode
from rayward.local.apiserver.status import ApiError


def test_compact_json_without_doubles_is_clean() -> None:
    body = decode_json(b'{"a":{"b":[1,2]}}', strict=True)
    assert (body.value, body.strict) == ({"a": {"b": [1, 2]}}, [])


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (b'{"a":1,"a":2}', ['duplicate field "a"']),
        (b'{"s":{"a":1,"a":2}}', ['duplicate field "s.a"']),
        (b'{"l":[{"x":1},{"a":1,"a":2}]}', ['duplicate field "l[1].a"']),
        (b'{"a":1,"b":{"c":1,"c":2},"a":3}', ['duplicate field "b.c"', 'duplicate field "a"']),
        (b'{"a" : 1, "a"\t: ":", "b": "\\":"}', ['duplicate field "a"']),
        (b'{"a": ":", "b": " :x", "c": "\\":", "d": "\\u0022:"}', []),
        (b'{"a": "\\u0022:", "b": 1, "b": 2}', ['duplicate field "b"']),
        (b'{ "a" : 1 }', []),
    ],
)
def test_doubled_fields_are_found_only_when_asked(text: bytes, fields: list[str]) -> None:
    assert sorted(decode_json(text, strict=True).strict) == sorted(fields)
    assert decode_json(text).strict == []


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=12,
    )
)
def test_no_valid_json_is_accused_of_doubles(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=1), json.dumps(value, ensure_ascii=False)):
        try:
            data = text.encode()
        except UnicodeEncodeError:
            continue
        body = decode_json(data, strict=True)
        assert (body.value, body.strict) == (value, [])


@pytest.mark.parametrize("text", [b"", b"{", b'{"a":}', b"nope", b"\xff", b'{"a":1}x', b"[" * 5000])
def test_broken_json_is_malformed(text: bytes) -> None:
    with pytest.raises(MalformedError):
        decode_json(text)


def test_yaml_is_read_as_go_reads_it() -> None:
    text = b"a: 2020-01-01\nb: yes\nc: 0.5\nd: '1'\ne: ~\n1: x\ntrue: y\n"
    assert decode_yaml(text).value == {
        "a": "2020-01-01",
        "b": True,
        "c": 0.5,
        "d": "1",
        "e": None,
        "1": "x",
        "true": True,
    }


def test_doubled_keys_in_yaml_are_found() -> None:
    body = decode_yaml(b"a: 1\nb:\n  c: 1\n  c: 2\n", strict=True)
    assert body.strict == ['line 4: key "c" already set in map']


def test_anchors_and_merges_work() -> None:
    assert decode_yaml(b"x: &x {a: 1}\nz: {<<: *x, b: 2}\n").value == {"x": {"a": 1}, "z": {"a": 1, "b": 2}}


def test_only_plain_words_mean_more_than_they_say() -> None:
    document = b"a: yes\nb: 'yes'\nc: \"12\"\nd: !!str 12\ne: |\n  12\ny: [on, 1e3, !!int '7']\n<<: {f: 0x10}\n"

    assert decode_yaml(document).value == {
        "a": True,
        "b": "yes",
        "c": "12",
        "d": "12",
        "e": "12\n",
        "true": [True, 1000, 7],
        "f": 16,
    }


def test_a_yaml_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    with pytest.raises(MalformedError, match="excessive aliasing"):
        decode_yaml("\n".join(lines).encode())


@pytest.mark.parametrize("place", ["value", "key"])
def test_a_long_text_repeated_by_aliases_is_refused(place: str) -> None:
    alias = "*long" if place == "value" else "{*long : 1}"
    document = f"long: &long {'x' * 100_000}\nitems: [{','.join([alias] * 1_000)}]\n"
    with pytest.raises(MalformedError, match="excessive aliasing"):
        decode_yaml(document.encode())


def test_a_long_text_is_no_bomb() -> None:
    text = "x" * 2_900_000
    assert decode_yaml(f"a: {text}\n".encode()).value == {"a": text}


def test_a_text_may_be_repeated_as_often_as_a_manifest_needs_it() -> None:
    document = f"a: &a {'x' * 1_000}\nitems: [{','.join(['*a'] * 1_000)}]\n"
    assert decode_yaml(document.encode()).value["items"] == ["x" * 1_000] * 1_000


@pytest.mark.parametrize("text", [b"a: [", b"a: b: c", b"\t- x", b"!!python/name:os.system x", b"a: &a [*a]"])
def test_broken_yaml_is_malformed(text: bytes) -> None:
    with pytest.raises(MalformedError):
        decode_yaml(text)


def test_an_unknown_content_type_is_refused() -> None:
    with pytest.raises(ApiError) as caught:
        decode(b"x", "text/plain", strict=False, protobuf=None)
    assert (caught.value.code, caught.value.reason) == (415, "UnsupportedMediaType")


_PIECES = st.text(alphabet=st.sampled_from(':" \\\\nab\u00e9'), max_size=4)
_NODES: st.SearchStrategy[Any] = st.recursive(
    _PIECES | st.integers(0, 9),
    lambda inner: st.lists(st.tuples(_PIECES, inner), max_size=4) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=12,
)


def _text(node: Any, spaces: str, *, escapes: bool) -> str:
    """A drawn node as JSON: a list of pairs is an object, whose keys may repeat."""
    if isinstance(node, list):
        pairs: list[tuple[str, Any]] = node  # pyright: ignore[reportUnknownVariableType]
        shown = [f"{json.dumps(k, ensure_ascii=escapes)}{spaces}:{_text(v, spaces, escapes=escapes)}" for k, v in pairs]
        return "{" + f",{spaces}".join(shown) + "}"
    if isinstance(node, tuple):
        items: tuple[Any, ...] = node  # pyright: ignore[reportUnknownVariableType]
        return "[" + ", ".join(_text(item, spaces, escapes=escapes) for item in items) + "]"
    return json.dumps(node, ensure_ascii=escapes)


@given(_NODES, st.sampled_from(["", " ", "\n\t"]), st.booleans())
def test_the_quick_look_at_doubled_fields_misses_none(node: Any, spaces: str, escapes: bool) -> None:
    doubled = False

    def looked_at(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal doubled
        doubled |= len(dict(pairs)) < len(pairs)
        return dict(pairs)

    text = _text(node, spaces, escapes=escapes)
    json.loads(text, object_pairs_hook=looked_at)
    assert bool(decode_json(text.encode(), strict=True).strict) == doubled
