from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.operator.ray.schedule import Pace, next_look, rest_of


@pytest.mark.parametrize(
    ("pace", "settled", "failures", "seconds"),
    [
        pytest.param(Pace.UPGRADING, True, 0, 0.5, id="twice a second while a change runs"),
        pytest.param(Pace.UPGRADING, False, 0, 0.5, id="also while Serve is on its way"),
        pytest.param(Pace.IDLE, True, 0, 10.0, id="seldom when nothing happens"),
        pytest.param(Pace.IDLE, False, 0, 1.0, id="every second while Serve is on its way"),
        pytest.param(Pace.UPGRADING, True, 1, 0.5, id="a first failure during a change"),
        pytest.param(Pace.UPGRADING, True, 3, 2.0, id="later after each"),
        pytest.param(Pace.UPGRADING, True, 50, 5.0, id="but never late during a change"),
        pytest.param(Pace.IDLE, False, 1, 10.0, id="a first failure when idle"),
        pytest.param(Pace.IDLE, True, 50, 60.0, id="at least every minute"),
    ],
)
def test_when_to_look_again(pace: Pace, settled: bool, failures: int, seconds: float) -> None:
    assert next_look(pace, settled=settled, failures=failures) == pytest.approx(seconds)


@given(st.sampled_from(Pace), st.booleans(), st.integers(0, 10**9), st.floats(0, 1, exclude_max=True, allow_nan=False))
def test_looks_are_spread_but_neither_at_once_nor_never(
    pace: Pace, settled: bool, failures: int, chance: float
) -> None:
    assert 0.25 <= next_look(pace, settled=settled, failures=failures, chance=chance) <= 90.0


@pytest.mark.parametrize(
    ("took", "seconds"),
    [
        pytest.param(0.0, 0.5, id="an answer at once"),
        pytest.param(0.1, 0.4, id="the step goes from look to look"),
        pytest.param(0.3, 0.3, id="a slow head is left alone for as long as it worked"),
        pytest.param(9.0, 0.5, id="but not longer than a step"),
    ],
)
def test_what_is_left_of_a_step(took: float, seconds: float) -> None:
    assert rest_of(0.5, took) == pytest.approx(seconds)
