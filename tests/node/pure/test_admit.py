"""A node's own word on pods that it is given."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.podrequests import amounts
from rayward.local.node.scheduling.admit import rejection

Object = dict[str, Any]


def _pod(**requests: str) -> Object:
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}}


@pytest.mark.parametrize(
    ("pod", "others", "expected"),
    [
        (_pod(cpu="1"), [], None),
        (_pod(cpu="1"), [_pod(cpu="3")], None),
        (_pod(), [_pod(cpu="4")], None),
        (
            _pod(cpu="2"),
            [_pod(cpu="3")],
            "Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000",
        ),
        (
            _pod(memory="2Gi"),
            [],
            "Node didn't have enough resource: memory, requested: 2147483648, used: 0, capacity: 1073741824",
        ),
        (_pod(), [_pod()] * 3, "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3"),
    ],
)
def test_who_may_stay(pod: Object, others: list[Object], expected: str | None) -> None:
    answer = rejection(pod, others, amounts({"cpu": "4", "memory": "1Gi", "pods": "3"}))
    assert (None if answer is None else answer[1].removeprefix("Pod was rejected: ")) == expected
