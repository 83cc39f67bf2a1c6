"""Go's regular expressions on Python's engine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery.cel import library
from rayward.kube.machinery.cel.regex import PatternError, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^a$", "a\n", False),
        ("(?m)^a$", "b\na\n", True),
        ("^\\d+$", "٣", False),
        ("\\s", "\v", False),
        ("[^\\s]", "\v", True),
        ("(?i)abc", "xABCx", True),
        ("a(?i)b|c", "aB", True),
        ("a(?i)b|c", "C", True),
        ("x{", "x{", True),
        ("x{,2}", "x{,2}", True),
        ("\\Qa.b\\E", "a.b", True),
        ("\\Qa.b\\E", "axb", False),
        ("[[:alpha:]]+[[:digit:]]", "ab1", True),
        ("\\x41\\x{42}\\103", "ABC", True),
        ("\\pL", "é", True),
        ("[]a]", "]", True),
        ("[a-]", "-", True),
        ("a\\z", "a", True),
        ("(?s).", "\n", True),
        (".", "\n", False),
        ("^([a-z0-9]([-a-z0-9]*[a-z0-9])?\\.)*x$", "a-b.c.x", True),
    ],
)
def test_matches_as_go_does(pattern: str, text: str, matches: bool) -> None:
    assert compile_pattern(pattern).search(text) is matches


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a*+", "invalid nested repetition operator: `*+`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
        ("\\8", "invalid escape sequence: `\\8`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
    ],
)
def test_refuses_as_go_does(pattern: str, said: str) -> None:
    with pytest.raises(PatternError) as caught:
        compile_pattern(pattern)
    assert str(caught.value) == f"error parsing regexp: {said}"


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)*x"])
def test_a_pattern_made_to_run_away_does_not(pattern: str) -> None:
    text = "a" * 5000 + "!"
    assert compile_pattern(pattern).search(text) is library.re2_search(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text", "limit", "found"),
    [
        ("[0-9]+", "abc 123 def 45", -1, ["123", "45"]),
        ("[0-9]+", "abc 123 def 45", 1, ["123"]),
        ("[0-9]+", "abc", -1, []),
        ("a*", "baac", -1, ["", "aa", ""]),
        ("a", "aa", 0, []),
    ],
)
def test_finds_all_parts(pattern: str, text: str, limit: int, found: list[str]) -> None:
    assert compile_pattern(pattern).find_all(text, limit) == found


_PIECES = st.sampled_from(
    [
        "a",
        "b",
        ".",
        "^",
        "$",
        "[ab]",
        "[^a]",
        "\\d",
        "\\w",
        "\\s",
        "\\b",
        "a*",
        "b+",
        "a?",
        "(a|b)",
        "(?:ab)",
        "b{2}",
        "|",
    ]
)


@given(st.lists(_PIECES, max_size=8).map("".join), st.text("ab1 \n_", max_size=12))
def test_agrees_with_re2(pattern: str, text: str) -> None:
    try:
        compiled = compile_pattern(pattern)
    except PatternError:
        return
    assert compiled.search(text) is library.re2_search(pattern, text)
