"""Claims are protected while in use, and grow only where their class lets them."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.local.apiserver.builtin.claim.strategy import admit, refuse_growth

Object = dict[str, Any]

_CLASS = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


def _claim(size: str, phase: str = "Bound", **spec: Any) -> Object:
    return {
        "metadata": {"name": "c"},
        "spec": {"resources": {"requests": {"storage": size}}, **spec},
        "status": {"phase": phase},
    }


def test_a_new_claim_is_protected_once() -> None:
    claim = _claim("1Gi")
    admit(claim)
    admit(claim)
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


@pytest.mark.parametrize(
    ("new", "old", "class_grows", "why"),
    [
        pytest.param(_claim("2Gi"), _claim("1Gi"), True, "", id="its class grows"),
        pytest.param(_claim("2Gi"), _claim("1Gi"), False, _CLASS, id="its class does not"),
        pytest.param(_claim("1Gi"), _claim("1024Mi"), False, "", id="as large as it was"),
        pytest.param(
            _claim("2Gi"),
            _claim("1Gi", "Pending"),
            True,
            "Only bound persistent volume claims can be expanded",
            id="not bound",
        ),
        pytest.param(
            _claim("2Gi", storageClassName="b"), _claim("1Gi", storageClassName="a"), True, _CLASS, id="another class"
        ),
    ],
)
def test_growth(new: Object, old: Object, class_grows: bool, why: str) -> None:
    assert refuse_growth(new, old, class_grows=class_grows) == why
