from __future__ import annotations

from typing import Any

import pytest

from rayward.quota.engine.amounts import UNLIMITED, quota_of, text_of
from rayward.quota.engine.requests import pod_requests


def _container(cpu: Any = None, limit: Any = None, **more: Any) -> dict[str, Any]:
    resources = ({"requests": {"cpu": cpu}} if cpu is not None else {}) | ({"limits": {"cpu": limit}} if limit else {})
    return {"resources": resources, **more}


_ALWAYS = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [_container(1), _container("500m")]}, 1500),
        ({"containers": [_container("0.0001")]}, 1),
        ({"containers": [_container(None, "2")]}, 2000),
        ({"containers": [_container("1", "2")]}, 1000),
        ({"containers": [_container(1)], "initContainers": [_container(3), _container(2)]}, 3000),
        ({"containers": [_container(4)], "initContainers": [_container(3)]}, 4000),
        ({"containers": [_container(1)], "initContainers": [_container(2, **_ALWAYS)]}, 3000),
        ({"containers": [_container(1)], "initContainers": [_container(2, **_ALWAYS), _container(3)]}, 5000),
        ({"containers": [_container(1)], "initContainers": [_container(3), _container(2, **_ALWAYS)]}, 3000),
        ({"containers": [_container(1)], "overhead": {"cpu": "250m"}}, 1250),
        ({"containers": [_container(1)], "resources": {"requests": {"cpu": 5}}}, 5000),
        ({"containers": [_container(1)], "resources": {"limits": {"cpu": 5}}, "overhead": {"cpu": 1}}, 6000),
        ({"containers": [{}]}, None),
    ],
)
def test_a_pod_asks_for_what_the_scheduler_would_count(spec: dict[str, Any], cpu: int | None) -> None:
    assert pod_requests(spec).get("cpu") == cpu


def test_everything_but_cpu_is_counted_in_units() -> None:
    requests = {"memory": "1Gi", "nvidia.com/gpu": "2", "ephemeral-storage": "1500m"}
    spec = {"containers": [{"resources": {"requests": requests}}]}
    assert pod_requests(spec) == {"memory": 2**30, "nvidia.com/gpu": 2, "ephemeral-storage": 2}


@pytest.mark.parametrize(
    ("resource", "quantity", "amount"),
    [
        ("cpu", "500m", 500),
        ("cpu", "1P", 10**18),
        ("cpu", "1E", UNLIMITED),
        ("memory", "1E", 10**18),
        ("memory", "10E", UNLIMITED),
        ("example.com/gpu", "8", 8),
    ],
)
def test_a_quota_past_64_bits_is_unlimited(resource: str, quantity: str, amount: float) -> None:
    assert quota_of(resource, quantity) == amount


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("memory", 2**30, "1Gi"),
        ("pods", 12, "12"),
        ("cpu", UNLIMITED, "<unlimited>"),
    ],
)
def test_amounts_are_written_as_kueue_writes_them(resource: str, amount: float, text: str) -> None:
    assert text_of(resource, amount) == text
