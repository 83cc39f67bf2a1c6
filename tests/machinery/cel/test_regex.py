"""Go's regular expressions."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

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


@pytest.mark.timeout(60)
@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b$", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)*x"])
def test_a_pattern_made_to_run_away_does_not(pattern: str) -> None:
    assert not compile_pattern(pattern).search("a" * 100_000 + "!")


@pytest.mark.timeout(60)
def test_nor_does_the_search_after_the_last_match() -> None:
    assert compile_pattern("(a+)+b").find_all("aab" + "a" * 100_000) == ["aab"]


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


def _made_of(pattern: str, text: str) -> tuple[str | None, list[str]]:
    try:
        compiled = compile_pattern(pattern)
    except PatternError as error:
        return str(error), []
    found = compiled.find_all(text)
    assert compiled.search(text) is bool(found), (pattern, text)
    return None, found


def test_patterns_drawn_at_random_do_what_they_do_in_go() -> None:
    recorded = gzip.decompress((Path(__file__).parent / "recorded" / "regex.jsonl.gz").read_bytes())
    for line in recorded.splitlines():
        case = json.loads(line)
        pattern, text = case["pattern"], case["text"]
        assert _made_of(pattern, text) == (case.get("error"), case.get("found", [])), (pattern, text)
