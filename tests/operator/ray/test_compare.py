"""The comparison of traces finds what it is there to find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.operator.ray.compare import differences, gist
from tests.operator.ray.trace import Trace, load


def _plain() -> dict[str, Any]:
    return msgspec.to_builtins(load())


def _step(trace: dict[str, Any], name: str) -> dict[str, Any]:
    return next(step for step in trace["steps"] if step["name"] == name)


def _end(trace: dict[str, Any], step: str) -> dict[str, Any]:
    return _step(trace, step)["samples"][-1]["answer"]


def _another_status(trace: dict[str, Any]) -> None:
    _end(trace, "a constructor that raises")["applications"]["c"]["status"] = "UNHEALTHY"


def _another_cause(trace: dict[str, Any]) -> None:
    app = _end(trace, "a second one that cannot be imported")["applications"]["b"]
    app["message"] = app["message"].replace("AttributeError", "ImportError")


def _a_missing_state(trace: dict[str, Any]) -> None:
    step = _step(trace, "other code that cannot be imported")
    step["samples"] = step["samples"][1:]


def _another_order(trace: dict[str, Any]) -> None:
    step = _step(trace, "one that falls ill")
    answers = [sample["answer"] for sample in step["samples"][:-1]][::-1]
    for sample, answer in zip(step["samples"], answers, strict=False):
        sample["answer"] = answer


def _a_new_field(trace: dict[str, Any]) -> None:
    _end(trace, "first application")["applications"]["a"]["mood"] = "fine"


def _another_type(trace: dict[str, Any]) -> None:
    _end(trace, "first application")["proxies"]["ID"]["node_ip"] = 1


def _another_code(trace: dict[str, Any]) -> None:
    _step(trace, "no import path")["status"] = 422


def _another_refusal(trace: dict[str, Any]) -> None:
    step = _step(trace, "two applications of one name")
    step["text"] = step["text"].replace("multiple", "many")


def _another_visit(trace: dict[str, Any]) -> None:
    _step(trace, "a constructor that raises")["visits"]["/c"] = [404, "not found"]


def _another_answer(trace: dict[str, Any]) -> None:
    trace["questions"][2]["text"] = "who are you?"


@pytest.mark.parametrize(
    "change",
    [
        _another_status,
        _another_cause,
        _a_missing_state,
        _another_order,
        _a_new_field,
        _another_type,
        _another_code,
        _another_refusal,
        _another_visit,
        _another_answer,
    ],
    ids=lambda change: change.__name__.strip("_").replace("_", " "),
)
def test_a_difference_is_found_from_both_sides(change: Callable[[dict[str, Any]], None]) -> None:
    plain = _plain()
    change(plain)
    changed = msgspec.convert(plain, Trace)
    assert differences(load(), changed)
    assert differences(changed, load())


def test_a_trace_agrees_with_itself() -> None:
    assert differences(load(), load()) == []


@pytest.mark.parametrize(
    ("message", "essence"),
    [
        ("", ("",)),
        ("It is slow. Wait.", ("It is slow",)),
        (
            "It failed:\nTraceback (most recent call last):\n  File x\nValueError: no\n",
            ("It failed:", "ValueError: no"),
        ),
    ],
)
def test_of_a_message_the_gist_counts(message: str, essence: tuple[str, ...]) -> None:
    assert gist(message) == essence
