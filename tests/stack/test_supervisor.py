"""When a part is started again."""

from __future__ import annotations

import pytest

from rayward.stack.supervisor import next_pause


@pytest.mark.parametrize(
    ("previous", "lived", "pause"), [(0.0, 1, 0.25), (0.25, 1, 0.5), (8.0, 1, 10.0), (10.0, 59, 10.0), (10.0, 60, 0.0)]
)
def test_the_pause_grows_until_a_part_runs_well(previous: float, lived: float, pause: float) -> None:
    assert next_pause(previous, lived) == pause
