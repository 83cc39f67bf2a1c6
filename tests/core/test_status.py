from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kinds.raycluster import RayClusterStatus
from rayward.kinds.rayjob import RayJobStatus
from rayward.kube.core.objects import Condition
from rayward.kube.core.status import condition_body, status_body, status_change
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.machinery.patch import merge_patch

_scalars: st.SearchStrategy[Any] = st.one_of(st.booleans(), st.integers(0, 3), st.text("ab", max_size=1))
_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(_scalars, st.lists(_scalars, max_size=2)),
    lambda inner: st.dictionaries(st.sampled_from("xyz"), inner, min_size=1, max_size=3),
    max_leaves=6,
)
_bodies = st.dictionaries(st.sampled_from("xyz"), _values, max_size=3)


@given(_bodies, _bodies)
def test_what_the_server_makes_of_a_change_is_the_status_that_was_meant(before: Object, after: Object) -> None:
    assert merge_patch.apply(before, status_change(before, after)) == after


@given(_bodies)
def test_a_status_that_says_the_same_is_not_written(status: Object) -> None:
    assert status_change(status, status) == {}


def test_a_change_names_nothing_that_stays() -> None:
    before = {"kept": {"a": 1, "b": 2}, "gone": [1], "other": {"left": 1, "dropped": 2}}
    after = {"kept": {"a": 1, "b": 2}, "other": {"left": 1}, "new": "x"}
    assert status_change(before, after) == {"gone": None, "other": {"dropped": None}, "new": "x"}


@pytest.mark.parametrize("kind", [RayClusterStatus, RayJobStatus])
def test_conditions_are_whole_though_their_texts_are_empty(kind: type[Any]) -> None:
    ready = Condition(type="Ready", status="True", last_transition_time="2026-01-01T00:00:00Z", observed_generation=3)
    whole = {
        "type": "Ready",
        "status": "True",
        "reason": "",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": 3,
    }
    assert condition_body(ready) == whole
    assert status_body(kind(conditions=(ready,)))["conditions"] == [whole]
    assert "conditions" not in status_body(kind())
