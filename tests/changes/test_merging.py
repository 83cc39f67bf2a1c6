"""Two edits of one value, put together."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.changes.merging import merged


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "found", "lost"),
    [
        ({"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 2}, ()),
        ({"a": 1}, {"a": 2}, {"a": 3}, {"a": 2}, ("a",)),
        ({"a": 1}, {"a": 2}, {"a": 2}, {"a": 2}, ()),
        ({"a": {"x": 1}}, {"a": {}}, {"a": {"x": 1, "y": 2}}, {"a": {"y": 2}}, ()),
        ({"a": 1}, {}, {"a": 1, "b": 2}, {"b": 2}, ()),
        ({"a": [1]}, {"a": [2]}, {"a": [3]}, {"a": [2]}, ("a",)),
        (
            {"g": [{"name": "x", "v": 1}]},
            {"g": [{"name": "x", "v": 2}]},
            {"g": [{"name": "x", "v": 1, "w": 3}, {"name": "y"}]},
            {"g": [{"name": "x", "v": 2, "w": 3}, {"name": "y"}]},
            (),
        ),
        (
            {"g": [{"name": "x", "v": 1}]},
            {"g": [{"name": "x", "v": 2}]},
            {"g": [{"name": "x", "v": 3}]},
            {"g": [{"name": "x", "v": 2}]},
            ("g[x].v",),
        ),
    ],
)
def test_what_both_changed_and_differently_the_first_has(
    base: Any, ours: Any, theirs: Any, found: Any, lost: tuple[str, ...]
) -> None:
    assert merged(base, ours, theirs) == (found, lost)
