"""The whole server may be killed at any moment: nothing acknowledged is lost, no revision comes back, watches go on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.promises import Promises, Seen, faults, reused
from tests.crash.serverkilling import Outcome

_KILLS = 50
_CAMPAIGNS = 2


def test_fifty_kills(tmp_path: Path) -> None:
    campaigns: list[subprocess.Popen[str]] = []
    for seed in range(_CAMPAIGNS):
        folder = tmp_path / str(seed)
        folder.mkdir()
        command = [sys.executable, "-m", "tests.crash.serverkilling", str(folder), str(_KILLS // _CAMPAIGNS), str(seed)]
        campaigns.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    outcomes = [Outcome(**json.loads(campaign.communicate()[0])) for campaign in campaigns]
    kills, starting, in_flight, acknowledged, events, resumes = (
        sum(getattr(outcome, name) for outcome in outcomes)
        for name in (
            "kills",
            "kills_while_starting",
            "kills_with_writes_in_flight",
            "acknowledged",
            "events",
            "resumes",
        )
    )
    lost, again, watched, errors = (
        [problem for outcome in outcomes for problem in getattr(outcome, name)]
        for name in ("lost", "reused", "watched", "errors")
    )
    print(
        f"server: {kills} kills, {in_flight / kills:.0%} with unacknowledged writes in flight, {starting / kills:.0%} "
        f"while starting, {acknowledged} writes acknowledged, {len(lost)} lost, {len(again)} revisions reused, "
        f"{events} events watched over {resumes} resumed watches, {len(watched)} lost, doubled or reordered"
    )
    assert kills == _KILLS
    assert in_flight >= 0.7 * kills
    assert min(acknowledged, events, resumes) > 0
    assert (lost, again, watched, errors) == ([], [], [], [])


def _promises(*acknowledged: tuple[str, str, int | None], sent: tuple[tuple[str, str], ...] = ()) -> Promises:
    promises = Promises()
    for name, tag, revision in acknowledged:
        promises.send(name, tag)
        promises.acknowledge(name, tag, revision)
    for name, tag in sent:
        promises.send(name, tag)
    return promises


_SENT_B = (("x", "b"),)


@pytest.mark.parametrize(
    ("promises", "found", "broken"),
    [
        pytest.param(_promises(), {}, 0, id="nothing promised"),
        pytest.param(_promises(("x", "a", 5)), {"x": "a"}, 0, id="kept"),
        pytest.param(_promises(("x", "a", 5)), {}, 1, id="lost"),
        pytest.param(_promises(("x", "a", 5)), {"x": "b"}, 1, id="another value"),
        pytest.param(_promises(("x", "a", 5), sent=_SENT_B), {"x": "a"}, 0, id="the one in flight was not done"),
        pytest.param(_promises(("x", "a", 5), sent=_SENT_B), {"x": "b"}, 0, id="the one in flight was done"),
        pytest.param(_promises(("x", "a", 5), sent=_SENT_B), {}, 1, id="neither"),
        pytest.param(_promises(("x", "a", 5), ("x", "", None)), {"x": "a"}, 1, id="a deletion undone"),
        pytest.param(_promises(("x", "a", 5), sent=(("x", ""),)), {}, 0, id="the deletion in flight was done"),
        pytest.param(_promises(), {"y": "c"}, 1, id="something nobody wrote"),
    ],
)
def test_the_judge_of_writes(promises: Promises, found: dict[str, str], broken: int) -> None:
    assert len(promises.settle(found)) == broken
    assert promises.settle(found) == []


_ADDED, _CHANGED, _GONE = Seen("ADDED", "x", "a", 5), Seen("MODIFIED", "x", "b", 6), Seen("DELETED", "x", "b", 7)


@pytest.mark.parametrize(
    ("watched", "final", "broken"),
    [
        pytest.param([_ADDED, _CHANGED, _GONE], {}, [], id="all and in order"),
        pytest.param([_ADDED, _CHANGED], {"x": "b"}, [], id="up to now"),
        pytest.param([_ADDED], {"x": "b"}, ["another state", "acknowledged at 6 and seen at None"], id="one missing"),
        pytest.param([_CHANGED], {"x": "b"}, ["when the object was ''"], id="the first missing"),
        pytest.param([_ADDED, _CHANGED, _CHANGED], {"x": "b"}, ["came after"], id="one twice"),
        pytest.param([_CHANGED, _ADDED], {"x": "a"}, ["came after"], id="in the wrong order"),
        pytest.param([_ADDED, _CHANGED, _GONE], {"x": "b"}, ["another state"], id="gone for the watcher alone"),
    ],
)
def test_the_judge_of_watches(watched: list[Seen], final: dict[str, str], broken: list[str]) -> None:
    found = faults(watched, _promises(("x", "b", 6)), final)

    assert bool(found) == bool(broken)
    for text in broken:
        assert any(text in fault for fault in found)


def test_the_judge_of_revisions() -> None:
    assert reused([(5, "x a"), (6, "x b"), (5, "x a")]) == []
    assert reused([(5, "x a"), (5, "y c")]) == ["revision 5 is x a and y c"]
