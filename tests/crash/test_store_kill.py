"""A writing process may be killed at any moment: no acknowledged write is lost, no revision comes back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.killing import Life, Outcome, Written, lost_writes

_KILLS = 1_000
_CAMPAIGNS = 2


def test_a_thousand_kills(tmp_path: Path) -> None:
    campaigns: list[subprocess.Popen[str]] = []
    for seed in range(_CAMPAIGNS):
        folder = tmp_path / str(seed)
        folder.mkdir()
        command = [sys.executable, "-m", "tests.crash.killing", str(folder), str(_KILLS // _CAMPAIGNS), str(seed)]
        campaigns.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    outcomes = [Outcome(**json.loads(campaign.communicate()[0])) for campaign in campaigns]
    kills = sum(outcome.kills for outcome in outcomes)
    in_flight = sum(outcome.kills_with_writes_in_flight for outcome in outcomes)
    acknowledged, lost, reused = (
        sum(getattr(outcome, name) for outcome in outcomes) for name in ("acknowledged", "lost", "reused")
    )
    print(
        f"store: {kills} kills, {in_flight / kills:.0%} with unacknowledged writes in flight, "
        f"{acknowledged} writes acknowledged, {lost} lost, {reused} revisions reused"
    )
    assert kills == _KILLS
    assert in_flight >= 0.8 * kills
    assert (lost, reused) == (0, 0)
    assert [outcome.damage for outcome in outcomes] == [[]] * _CAMPAIGNS


_ONE, _TWO, _GONE = Written(5, 1, False, 55), Written(6, 1, False, 66), Written(7, 1, True, 77)


@pytest.mark.parametrize(
    ("acknowledged", "found", "lost"),
    [
        pytest.param([], {}, 0, id="nothing promised, nothing there"),
        pytest.param([], {1: (5, 55)}, 0, id="nothing promised, a commit that was not told"),
        pytest.param([5], {1: (5, 55)}, 0, id="the promised one is there"),
        pytest.param([5], {1: (6, 66)}, 0, id="a later one replaced it"),
        pytest.param([5], {}, 0, id="a later deletion, not told, took it"),
        pytest.param([5, 6], {1: (5, 55)}, 1, id="the last promised one is missing"),
        pytest.param([5], {1: (5, 54)}, 1, id="there with another value"),
        pytest.param([5, 6, 7], {1: (6, 66)}, 1, id="a promised deletion is missing"),
        pytest.param([5], {1: (5, 55), 2: (4, 44)}, 1, id="something nobody wrote"),
    ],
)
def test_the_judge_finds_what_is_lost(acknowledged: list[int], found: dict[int, tuple[int, int]], lost: int) -> None:
    life = Life(ready=True, issued=[_ONE, _TWO, _GONE], acknowledged=acknowledged)
    assert lost_writes({}, life, found) == lost


def test_the_judge_knows_what_was_there_before() -> None:
    assert lost_writes({2: (4, 44)}, Life(), {2: (4, 44)}) == 0
    assert lost_writes({2: (4, 44)}, Life(), {}) == 1
