"""When probes have said enough."""

from __future__ import annotations

import pytest

from rayward.local.node.pod.probing import Settings, Tally, count


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
