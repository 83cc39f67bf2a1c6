"""There is one default priority class at most."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.local.apiserver.builtin.priorityclass import SYSTEM_CLASSES, default_conflict, validate

Object = dict[str, Any]


def _class(name: str, value: int = 1, *, is_default: bool = False) -> Object:
    return {"metadata": {"name": name}, "value": value, "globalDefault": is_default}


@pytest.mark.parametrize(
    ("is_default", "others", "why"),
    [
        (False, [_class("b", is_default=True)], ""),
        (True, [_class("b")], ""),
        (
            True,
            [_class("b", 7, is_default=True), _class("c", 3, is_default=True)],
            "PriorityClass c is already marked as default. Only one default can exist",
        ),
    ],
    ids=["no default", "the only default", "a second default"],
)
def test_a_second_default_is_refused(is_default: bool, others: list[Object], why: str) -> None:
    assert default_conflict(_class("a", is_default=is_default), others) == why


@pytest.mark.parametrize("name", SYSTEM_CLASSES)
def test_the_classes_of_the_system_pass(name: str) -> None:
    assert validate({**_class(name, SYSTEM_CLASSES[name][0]), "preemptionPolicy": "PreemptLowerPriority"}) == []
