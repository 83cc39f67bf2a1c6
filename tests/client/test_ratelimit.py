from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.client.ratelimit import TokenBucket


def test_a_burst_passes_and_the_rest_waits_its_turn() -> None:
    bucket = TokenBucket(rate=2.0, burst=3)
    assert [bucket.take(0.0) for _ in range(5)] == [0.0, 0.0, 0.0, 0.5, 1.0]
    assert bucket.take(1.0) == 0.5


def test_trying_takes_nothing_from_the_future() -> None:
    bucket = TokenBucket(rate=1.0, burst=1)
    assert [bucket.try_take(now) for now in (0.0, 0.5, 0.9, 1.0, 1.5, 2.0)] == [True, False, False, True, False, True]


@given(steps=st.lists(st.floats(0, 5), max_size=50), rate=st.floats(0.1, 10), burst=st.integers(1, 10))
def test_never_more_than_the_rate_in_the_long_run(steps: list[float], rate: float, burst: int) -> None:
    bucket = TokenBucket(rate, burst)
    now, passed = 0.0, 0
    for step in steps:
        now += step
        passed += bucket.try_take(now)
    assert passed <= burst + now * rate + 1e-6
