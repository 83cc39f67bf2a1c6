from __future__ import annotations

import pytest

from rayward.local.store import Retention
from rayward.local.store.history import History, superseded_revisions
from rayward.local.store.record import Event
from tests.store.support import created, deleted, updated

_SECOND = 1000


def _history(*times: int) -> History:
    """One key, written once at each of the times (in seconds), with a value of 10 bytes."""
    history = History(0)
    events: list[Event] = []
    for revision, at in enumerate(times, 1):
        value = b"x" * 10
        event = updated(events[-1].record, revision, value) if events else created("/pods/a/1", revision, value)
        events.append(event)
        history.add([event], at * _SECOND)
    return history


@pytest.mark.parametrize(
    ("retention", "now", "mark"),
    [
        pytest.param(Retention(events=0, seconds=0), 100, 5, id="nothing must stay"),
        pytest.param(Retention(events=2, seconds=0), 100, 3, id="the last two stay"),
        pytest.param(Retention(events=9, seconds=0), 100, 0, id="fewer than must stay"),
        pytest.param(Retention(events=0, seconds=25), 50, 2, id="the young stay"),
        pytest.param(Retention(events=4, seconds=25), 50, 1, id="old, but among the last"),
        pytest.param(Retention(events=1, seconds=100), 50, 0, id="beyond the last, but young"),
        pytest.param(Retention(events=0, seconds=5), 25, 5, id="times to come say nothing"),
        pytest.param(Retention(events=9, seconds=900, superseded_bytes=20), 50, 3, id="memory is short"),
        pytest.param(Retention(events=9, seconds=900, superseded_bytes=40), 50, 0, id="memory just suffices"),
    ],
)
def test_what_may_be_forgotten(retention: Retention, now: int, mark: int) -> None:
    assert _history(10, 20, 30, 40, 50).may_forget(retention, now * _SECOND) == mark


def test_no_more_is_forgotten_at_once_than_asked() -> None:
    assert _history(10, 20, 30, 40, 50).may_forget(Retention(events=0, seconds=0), 100 * _SECOND, 2) == 2


def test_forgetting_moves_the_mark_and_frees_the_bytes() -> None:
    history = _history(10, 20, 30)
    assert history.superseded_bytes == 20
    assert [event.revision for event in history.forget(2)] == [1, 2]
    assert (history.compacted, len(history), history.superseded_bytes) == (2, 1, 10)
    assert history.forget(3)
    assert (history.compacted, len(history), history.superseded_bytes) == (3, 0, 0)


def test_a_deletion_holds_its_own_final_bytes_too() -> None:
    history = History(0)
    first = created("/pods/a/1", 1, b"12345")
    history.add([first, deleted(first.record, 2, b"123")], 0)
    assert history.superseded_bytes == 8


@pytest.mark.parametrize(
    ("retention", "now", "due"),
    [
        pytest.param(Retention(events=3, seconds=5), 100, True, id="two to spare, old"),
        pytest.param(Retention(events=3, seconds=95), 100, False, id="two to spare, young"),
        pytest.param(Retention(events=4, seconds=5), 100, False, id="one to spare"),
        pytest.param(Retention(events=9, seconds=900, superseded_bytes=39), 100, True, id="too many bytes"),
    ],
)
def test_when_it_is_time_to_forget(retention: Retention, now: int, due: bool) -> None:
    assert _history(10, 20, 30, 40, 50).is_due(retention, now * _SECOND, spare=2) is due


def test_lines_of_the_log_that_nothing_needs() -> None:
    first = created("/pods/a/1", 1)
    second = updated(first.record, 2)
    other = created("/pods/a/2", 3)
    gone = deleted(second.record, 4)
    assert superseded_revisions([first]) == []
    assert superseded_revisions([first, second]) == [1]
    assert superseded_revisions([first, second, other]) == [1]
    assert superseded_revisions([first, second, other, gone]) == [1, 2, 4]
