"""Differences are found, wherever they are, and told shortly."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.case import case, get
from tests.contract.compare import differences, report
from tests.contract.paths import ABSENT, find, put


@pytest.mark.parametrize(
    ("want", "have", "lines"),
    [
        ({"code": 200}, {"code": 200}, []),
        ({"code": 200}, {"code": 404}, ["- code = 200", "+ code = 404"]),
        ({"a": {"b": 1}}, {"a": {}}, ["- a.b = 1"]),
        ({"a": {}}, {"a": {"b": 1}}, ["+ a.b = 1"]),
        ({"a": [1, 2]}, {"a": [1, 3]}, ["- a[1] = 2", "+ a[1] = 3"]),
        ({"a": [1, 2, 3]}, {"a": [1, 3]}, ["- a[1] = 2"]),
        ({"a": 1}, {"a": True}, ["- a = 1", "+ a = true"]),
        ({"a": 1}, {"a": "1"}, ["- a = 1", '+ a = "1"']),
        ({"a": None}, {}, ["- a = null"]),
    ],
)
def test_every_difference_is_told_with_its_path(want: Any, have: Any, lines: list[str]) -> None:
    assert differences([want], [have]) == ({0: lines} if lines else {})


def test_long_texts_are_told_where_they_begin_to_differ() -> None:
    told = differences([{"a": "x" * 500 + "1"}], [{"a": "x" * 500 + "2"}])[0]

    assert told[0].endswith('xx1"')
    assert len(told[0]) < 100


def test_a_message_that_repeats_its_causes_is_not_told_twice() -> None:
    want = {"body": {"message": "[a: b]", "details": {"causes": [{"message": "b"}]}}}
    have = {"body": {"message": "[a: c]", "details": {"causes": [{"message": "c"}]}}}

    assert all("body.details.causes" in line for line in differences([want], [have])[0])


def test_a_report_names_the_case_the_request_and_the_other_steps() -> None:
    asked = case("two reads", get("pods/p"), get("pods/q"))

    told = report("verbs", asked, {0: ["- code = 200"], 1: ["- code = 200"]}, lines=5, every_step=False)

    assert told.splitlines() == [
        "FAIL verbs/two reads",
        "  step 1 of 2: GET /api/v1/namespaces/{ns}/pods/p",
        "    - code = 200",
        "  also differs in step 2",
    ]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a.b", 1),
        ("list[1].n", 2),
        ("list[n=2].v", "two"),
        ('map["x.y/z"]', 3),
        ("a.nothing", ABSENT),
        ("list[9]", ABSENT),
        ("list[n=7].v", ABSENT),
    ],
)
def test_paths_find_what_they_name(path: str, found: Any) -> None:
    value = {"a": {"b": 1}, "list": [{"n": 1}, {"n": 2, "v": "two"}], "map": {"x.y/z": 3}}

    assert find(value, path) == found


def test_paths_replace_and_remove() -> None:
    value = {"a": {"b": 1, "c": 2}}

    put(value, "a.b", 5)
    put(value, "a.c", ABSENT)

    assert value == {"a": {"b": 5}}
