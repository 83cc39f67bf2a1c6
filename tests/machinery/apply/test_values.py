from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.apply.values import metadata_of, same


def _deep(inner: Any, levels: int = 400) -> Any:
    for _ in range(levels):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (1, 1.0, True),
        (True, 1, False),
        (0, False, False),
        (True, True, True),
        (None, False, False),
        ("1", 1, False),
        ({"a": 1, "b": [1, {}]}, {"b": [1.0, {}], "a": 1}, True),
        ({"a": [True]}, {"a": [1]}, False),
        ({"a": None}, {}, False),
        ({}, [], False),
        ({}, None, False),
        ([1, 2], [2, 1], False),
        (2**70, 2**70, True),
        ([2**70, True], [2**70, 1], False),
        (["\ud800", 1], ["\ud800", True], False),
        (_deep(1), _deep(1.0), True),
        (_deep(1), _deep(True), False),
    ],
)
def test_equality_is_kubernetes_own(a: Any, b: Any, expected: bool) -> None:
    assert same(a, b) is expected
    assert same(b, a) is expected


@pytest.mark.parametrize("obj", [None, {}, {"metadata": None}, {"metadata": []}, {"metadata": "x"}])
def test_there_is_always_metadata_to_look_into(obj: Any) -> None:
    assert metadata_of(obj) == {}
