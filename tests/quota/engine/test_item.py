"""What the engine makes of a Workload does not depend on what it made of an earlier state."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import msgspec
import pytest

from rayward.kinds.kueue import Workload
from rayward.quota.engine.item import Item, item_of
from tests.quota.engine.building import pod_set, workload

_PODS = [pod_set("head", 1, {"cpu": 1}), pod_set("small", 3, {"cpu": 2})]
_FEWER = {"reclaimablePods": [{"name": "small", "count": 2}]}


def _of_generation(generation: int, found: Workload) -> Workload:
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, generation=generation))


def _values(item: Item) -> dict[str, Any]:
    return {field.name: getattr(item, field.name) for field in fields(item)}


@pytest.mark.parametrize(
    ("generation", "after"),
    [
        pytest.param(1, workload("w", "q", _PODS, admitted={"queue": "cq", "flavor": "f"}), id="admitted"),
        pytest.param(1, workload("w", "q", _PODS, status=_FEWER), id="pods are reclaimed"),
        pytest.param(1, workload("w", "q", _PODS, replaces="v"), id="it replaces a slice"),
        pytest.param(2, workload("w", "q", _PODS[:1], priority=5), id="another spec"),
    ],
)
def test_a_changed_workload_is_read_as_if_it_were_new(generation: int, after: Workload) -> None:
    before = item_of(_of_generation(1, workload("w", "q", _PODS)))
    changed = _of_generation(generation, after)
    assert _values(item_of(changed, before)) == _values(item_of(changed))


def test_another_object_of_the_name_is_read_anew() -> None:
    before = item_of(_of_generation(1, workload("w", "q", _PODS)))
    other = workload("w", "q", _PODS[:1])
    renewed = _of_generation(
        1, msgspec.structs.replace(other, metadata=msgspec.structs.replace(other.metadata, uid="x"))
    )
    assert _values(item_of(renewed, before)) == _values(item_of(renewed))
