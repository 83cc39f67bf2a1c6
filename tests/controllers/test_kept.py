from __future__ import annotations

from typing import Any

import pytest

from rayward.local.controllers.kept import holds


@pytest.mark.parametrize(
    ("present", "wanted", "enough"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, True, id="more is there"),
        pytest.param({"b": 2}, {"a": 1}, False, id="a field is missing"),
        pytest.param({"a": 2}, {"a": 1}, False, id="a field differs"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, True, id="more is there, deeper"),
        pytest.param({"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 1}]}, True, id="more is there, in a list"),
        pytest.param({"a": [1, 2]}, {"a": [1]}, False, id="a longer list"),
        pytest.param({"a": "text"}, {"a": {"b": 1}}, False, id="no object"),
        pytest.param({"a": "text"}, {"a": ["text"]}, False, id="no list"),
        pytest.param({}, {"a": None}, False, id="nothing, where null is wanted"),
    ],
)
def test_whether_all_that_is_wanted_is_there(present: Any, wanted: Any, enough: bool) -> None:
    assert holds(present, wanted) is enough
