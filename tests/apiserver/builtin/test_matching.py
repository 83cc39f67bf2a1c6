"""Selectors of labels inside objects."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.local.apiserver.builtin.matching import is_sound, matches


def _where(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


@pytest.mark.parametrize(
    ("selector", "matched"),
    [
        pytest.param(None, False, id="none"),
        pytest.param({}, True, id="empty"),
        pytest.param({"matchLabels": {"a": "1"}}, True, id="label"),
        pytest.param({"matchLabels": {"a": "1", "z": "1"}}, False, id="a label too many"),
        pytest.param(_where("a", "In", "0", "1"), True, id="in"),
        pytest.param(_where("z", "In", ""), False, id="in, but not there"),
        pytest.param(_where("a", "NotIn", "1"), False, id="not in"),
        pytest.param(_where("z", "NotIn", "1"), True, id="not in, not there"),
        pytest.param(_where("a", "Exists"), True, id="exists"),
        pytest.param(_where("a", "DoesNotExist"), False, id="does not exist"),
        pytest.param({"matchLabels": {"a": "1"}, **_where("b", "Exists")}, False, id="all must hold"),
    ],
)
def test_matching(selector: dict[str, Any] | None, matched: bool) -> None:
    assert matches(selector, {"a": "1"}) is matched


@pytest.mark.parametrize(
    ("selector", "sound"),
    [
        (None, True),
        ({"matchLabels": {"a": "b"}}, True),
        ({"matchLabels": {"a b": "b"}}, False),
        ({"matchLabels": {"a": "b c"}}, False),
        (_where("a", "In", "b"), True),
        (_where("a", "In"), False),
        (_where("a", "Exists", "b"), False),
        (_where("a", "Near"), False),
        (_where("a b", "Exists"), False),
    ],
    ids=str,
)
def test_selectors_that_can_be_read(selector: dict[str, Any] | None, sound: bool) -> None:
    assert is_sound(selector) is sound
