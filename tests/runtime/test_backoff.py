from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.runtime.backoff import Backoff


@pytest.mark.parametrize(
    ("failures", "wait"), [(1, 0.8), (2, 1.6), (3, 3.2), (6, 25.6), (7, 30.0), (5000, 30.0)], ids=str
)
def test_waits_double_up_to_the_longest(failures: int, wait: float) -> None:
    assert Backoff(0.8, 30.0).after(failures) == wait


@given(failures=st.integers(1, 10_000), chance=st.floats(0, 1, exclude_max=True))
def test_waits_are_spread_by_half_each_way(failures: int, chance: float) -> None:
    backoff = Backoff(0.8, 30.0)
    middle = backoff.after(failures, 0.5)
    assert middle * 0.5 <= backoff.after(failures, chance) <= middle * 1.5
