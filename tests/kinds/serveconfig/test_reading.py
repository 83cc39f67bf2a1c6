from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kinds.serveconfig.finding import Finding, ServeConfigError
from rayward.kinds.serveconfig.reading import MAX_CHARACTERS, read
from rayward.kube.machinery import yamltext


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\nb: [x, 2.5, yes, ~]", {"a": 1, "b": ["x", 2.5, True, None]}),
        ("a: '1'\nb: \"yes\"\nc: 12:30\nd: 2026-01-01", {"a": "1", "b": "yes", "c": "12:30", "d": "2026-01-01"}),
        ("a: !!str 1\nb: !!int '2'", {"a": "1", "b": 2}),
        ("1: a\ntrue: b\n~: c", {"1": "a", "true": "b", "null": "c"}),
        ("a: &x {k: 1}\nb: *x\nc:\n- *x", {"a": {"k": 1}, "b": {"k": 1}, "c": [{"k": 1}]}),
        ("a: &x {k: 1, l: 1}\nb:\n  <<: *x\n  l: 2", {"a": {"k": 1, "l": 1}, "b": {"k": 1, "l": 2}}),
        ("b:\n  <<: [{k: 1}, {k: 2, l: 2}]", {"b": {"k": 1, "l": 2}}),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("", None),
        ("# nothing\n", None),
    ],
)
def test_yaml_means_what_it_means_to_kubernetes(text: str, value: Any) -> None:
    assert read(text).value == value


def test_places_are_those_of_keys_and_items() -> None:
    reading = read("a:\n- b: 1\n  c: [x, y]\n")
    places = {path: reading.place(path) for path in [("a",), ("a", 0), ("a", 0, "c"), ("a", 0, "c", 1), ("a", 9, "z")]}
    assert places == {
        ("a",): (1, 1),
        ("a", 0): (2, 3),
        ("a", 0, "c"): (3, 3),
        ("a", 0, "c", 1): (3, 10),
        ("a", 9, "z"): (1, 1),
    }


def test_a_repeated_key_counts_the_last_time_and_is_told() -> None:
    reading = read("a: 1\nb: 2\na: 3\n")
    assert reading.value == {"a": 3, "b": 2}
    assert reading.repeated == [(("a",), (3, 1))]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        pytest.param("a: [1,\nb: 2", 1, 4, "not YAML", id="an open bracket"),
        pytest.param("a: 1\n\tb: 2", 2, 1, "not YAML", id="a tab"),
        pytest.param("a: b: c", 1, 5, "not YAML", id="two colons"),
        pytest.param("a: 1\nb: \x01", 2, 4, "not YAML", id="a control character"),
        pytest.param("a: *x", 1, 4, "refers to nothing", id="an unknown alias"),
        pytest.param("a: &x\n  b: *x", 2, 6, "refers to nothing", id="an alias of itself"),
        pytest.param("a: !Foo 1", 1, 4, "tag", id="a tag"),
        pytest.param("a: .nan", 1, 4, "JSON", id="no number"),
        pytest.param("a: 1\n---\nb: 2", 2, 1, "second document", id="two documents"),
        pytest.param("? [a]\n: b", 1, 3, "key is a text", id="a list as key"),
        pytest.param("a:\n  <<: 5", 2, 7, "mapping", id="merging a number"),
        pytest.param("[" * 100, 1, 65, "levels deep", id="depth"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(ServeConfigError) as caught:
        read(text)
    (finding,) = caught.value.findings
    assert (finding.line, finding.column) == (line, column)
    assert words in finding.message


def test_aliases_cannot_blow_it_up() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(ServeConfigError, match="aliases and all"):
        read("\n".join(levels))


def test_a_text_has_a_size() -> None:
    with pytest.raises(ServeConfigError, match="characters"):
        read("a: " + "x" * MAX_CHARACTERS)


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%@`,? \n\t0~<.", max_size=60) | st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    findings: tuple[Finding, ...] = ()
    try:
        read(text)
    except ServeConfigError as error:
        findings = error.findings
    assert all(finding.line >= 1 and finding.column >= 1 for finding in findings)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(_VALUES)
def test_what_is_dumped_is_read_back(value: Any) -> None:
    assert read(yamltext.dump(value)).value == value
