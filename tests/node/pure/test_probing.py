"""When probes have said enough."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.local.node.pod.probing import Settings, Tally, count, first_due, next_due


@pytest.mark.parametrize(
    ("answers", "healthy"),
    [
        ("", None),
        ("n", None),
        ("nn", None),
        ("nnn", False),
        ("y", None),
        ("yy", True),
        ("yyn", True),
        ("yynnn", False),
        ("nnny", False),
        ("nnnyy", True),
        ("nnynn", None),
    ],
)
def test_probes_need_their_number_in_a_row(answers: str, healthy: bool | None) -> None:
    settings = Settings(0, 1, 1, successes=2, failures=3)
    tally = Tally()
    for answer in answers:
        tally = count(tally, answer == "y", settings)
    assert tally.healthy is healthy


def test_the_first_question_comes_right_after_the_initial_delay() -> None:
    assert first_due(100.0, Settings.of({"initialDelaySeconds": 7, "periodSeconds": 5})) == 107.0
    assert first_due(100.0, Settings.of({})) == 100.0


@pytest.mark.parametrize(
    ("answered", "due"),
    [
        (100.0, 105.0),
        (104.9, 105.0),
        (105.1, 105.0),
        (109.9, 105.0),
        (111.0, 110.0),
        (1000.0, 1000.0),
    ],
    ids=["at once", "in time", "just late", "late by one", "late by two", "late by many"],
)
def test_questions_keep_their_beat_and_do_not_pile_up(answered: float, due: float) -> None:
    assert next_due(100.0, answered, Settings.of({"periodSeconds": 5})) == due


@given(period=st.integers(1, 60), delays=st.lists(st.floats(0, 500), max_size=30))
def test_a_slow_machine_asks_less_and_never_twice_for_one_beat(period: int, delays: list[float]) -> None:
    settings = Settings.of({"periodSeconds": period})
    due, now = 0.0, 0.0
    for delay in delays:
        now = max(now, due) + delay
        later = next_due(due, now, settings)
        assert later >= due + period
        # At most one question waits to be asked.
        assert later > now - period
        due = later
