from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.apply import equal_ignoring_managed_times


def _entry(time: str | None, **more: Any) -> dict[str, Any]:
    return {"manager": "m", "operation": "Apply", "time": time, "fieldsV1": {"f:a": {}}, **more}


def obj(*entries: Any, **more: Any) -> dict[str, Any]:
    return {"kind": "X", "metadata": {"name": "x", "managedFields": list(entries)}, **more}


_EARLY, _LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        pytest.param(obj(_entry(_EARLY)), obj(_entry(_EARLY)), True, id="the same"),
        pytest.param(obj(_entry(_EARLY)), obj(_entry(_LATE)), True, id="another time"),
        pytest.param(
            obj(_entry(_EARLY)), obj({k: v for k, v in _entry(None).items() if k != "time"}), True, id="no time"
        ),
        pytest.param(obj(_entry(_EARLY)), obj(_entry(_EARLY, manager="n")), False, id="another manager"),
        pytest.param(obj(_entry(_EARLY)), obj(_entry(_EARLY, fieldsV1={})), False, id="other fields"),
        pytest.param(obj(_entry(_EARLY)), obj(), False, id="fewer owners"),
        pytest.param(obj(_entry(_EARLY), a=1), obj(_entry(_LATE), a=2), False, id="another value"),
        pytest.param(obj(_entry(_EARLY), a=1), obj(_entry(_LATE), a=True), False, id="true for 1"),
        pytest.param(obj(_entry(_EARLY), a=1), obj(_entry(_LATE)), False, id="a field less"),
        pytest.param(obj(a=1), obj(b=1), False, id="another field"),
        pytest.param({"metadata": {"name": "x"}}, {"metadata": {"name": "y"}}, False, id="another name"),
        pytest.param({"metadata": {"name": "x"}}, obj() | {}, False, id="a kind more"),
        pytest.param(
            {"metadata": {"name": "x"}},
            {"metadata": {"name": "x", "managedFields": []}},
            True,
            id="no owners either way",
        ),
        pytest.param({"metadata": None}, {"metadata": None}, True, id="no metadata"),
        pytest.param(obj("odd"), obj("odd"), True, id="odd entries"),
        pytest.param(obj("odd"), obj(_entry(None)), False, id="odd entries differ"),
    ],
)
def test_equality(a: Any, b: Any, equal: bool) -> None:
    assert equal_ignoring_managed_times(a, b) is equal
    assert equal_ignoring_managed_times(b, a) is equal
    assert equal_ignoring_managed_times(a, a)
