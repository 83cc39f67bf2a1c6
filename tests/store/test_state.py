from __future__ import annotations

import pytest

from rayward.local.store import Compacted, Event, Record
from rayward.local.store.database import Row
from rayward.local.store.state import State
from tests.store.support import created, deleted, record, updated

_A, _B, _C = "/pods/x/a", "/pods/x/b", "/pods/y/c"


@pytest.fixture
def state() -> State:
    """Revisions: 1 a created, 2 c created, 3 a updated, 4 b created, 5 c deleted, 6 c created again."""
    state = State(0, 0)
    a = created(_A, 1)
    c = created(_C, 2)
    state.commit([a, c], 0)
    state.commit([updated(a.record, 3), created(_B, 4)], 0)
    state.commit([deleted(c.record, 5, b"final"), created(_C, 6)], 0)
    return state


@pytest.mark.parametrize(
    ("revision", "expected"),
    [
        (0, []),
        (1, [(_A, 1)]),
        (2, [(_A, 1), (_C, 2)]),
        (3, [(_A, 3), (_C, 2)]),
        (4, [(_A, 3), (_B, 4), (_C, 2)]),
        (5, [(_A, 3), (_B, 4)]),
        (6, [(_A, 3), (_B, 4), (_C, 6)]),
    ],
)
def test_a_snapshot_is_what_a_list_at_that_revision_would_have_given(
    state: State, revision: int, expected: list[tuple[str, int]]
) -> None:
    assert [(record.key, record.revision) for record in state.snapshot("/pods/", revision, "", None)] == expected
    in_x = [pair for pair in expected if pair[0].startswith("/pods/x/")]
    assert [(record.key, record.revision) for record in state.snapshot("/pods/x/", revision, "", None)] == in_x


@pytest.mark.parametrize(
    ("after", "limit", "keys"),
    [
        pytest.param("", 2, [_A, _B], id="first page"),
        pytest.param(_B, 2, [_C], id="last page"),
        pytest.param("/pods/x/ab", 1, [_B], id="after a key that is gone"),
        pytest.param(_C, 2, [], id="beyond the end"),
        pytest.param(_A, None, [_B, _C], id="the rest"),
    ],
)
def test_pages_of_a_snapshot(state: State, after: str, limit: int | None, keys: list[str]) -> None:
    assert [record.key for record in state.snapshot("/pods/", 4, after, limit)] == keys


def test_history_below_the_mark_is_refused(state: State) -> None:
    gone = state.forget(3)
    assert [event.revision for event in gone] == [1, 2, 3]
    with pytest.raises(Compacted) as caught:
        state.events(2, "/pods/")
    assert (caught.value.since, caught.value.compacted) == (2, 3)
    with pytest.raises(Compacted):
        state.snapshot("/pods/", 2, "", None)
    assert [event.revision for event in state.events(3, "/pods/")] == [4, 5, 6]
    assert [record.revision for record in state.snapshot("/pods/", 3, "", None)] == [3, 2]


def test_an_empty_prefix_gives_the_events_of_all_resources(state: State) -> None:
    state.commit([created("/secrets/x/s", 7)], 0)
    assert [event.revision for event in state.events(4, "")] == [5, 6, 7]
    assert [event.revision for event in state.events(4, "/secrets/")] == [7]
    assert list(state.events(0, "/services/")) == []


def test_resources_whose_names_begin_alike_do_not_mix() -> None:
    state = State(0, 0)
    state.commit([created("/pods/x/a", 1), created("/podtemplates/x/a", 2)], 0)
    assert list(state.keys("/pods/")) == ["/pods/x/a"]
    assert state.count("/podtemplates/") == 1


def test_loading_gives_the_state_that_was_written(state: State) -> None:
    rows: list[Row] = [
        (event.revision, event.key, 0, int(event.record is None), event.value) for event in state.events(0, "")
    ]
    loaded = State.load(rows, 6, 0)
    assert loaded.records == state.records
    assert list(loaded.events(0, "")) == list(state.events(0, ""))
    assert list(loaded.keys("/pods/")) == [_A, _B, _C]
    assert loaded.history.superseded_bytes == state.history.superseded_bytes


def test_lines_up_to_the_mark_are_state_and_later_ones_events() -> None:
    rows: list[Row] = [(1, _A, 0, 0, b"1"), (4, _B, 0, 0, b"4"), (6, _A, 9, 0, b"6"), (7, _B, 9, 1, b"7")]
    loaded = State.load(rows, 7, 5)
    assert loaded.records == {_A: record(_A, 6, b"6")}
    assert list(loaded.events(5, "")) == [
        Event(6, _A, Record(_A, 6, b"6"), Record(_A, 1, b"1"), b"6"),
        Event(7, _B, None, Record(_B, 4, b"4"), b"7"),
    ]
    assert [record.key for record in loaded.snapshot("/pods/", 5, "", None)] == [_A, _B]


def test_one_key_is_one_text_in_memory() -> None:
    rows: list[Row] = [(1, "/pods/x/" + "a", 0, 0, b"1"), (2, "/pods/x/" + "ab"[:1], 0, 0, b"2")]
    loaded = State.load(rows, 2, 1)
    (event,) = loaded.events(1, "")
    assert event.previous is not None
    assert event.key is event.previous.key
