"""What is noted on a cluster is read back the same; damage counts as nothing."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from rayward.operator.service import memory
from rayward.operator.service.situation import Note

NOW = datetime(2026, 1, 1, 12, 30, 15, 250000, tzinfo=UTC)
LATER = datetime(2026, 1, 1, 12, 31, tzinfo=UTC)


def _after(note: Note, before: dict[str, str] | None = None) -> memory.Memory:
    annotations = dict(before or {})
    for name, value in memory.written(note, {"h1": "{}", "h2": "[]"}, NOW).items():
        if value is None:
            annotations.pop(name, None)
        else:
            annotations[name] = value
    return memory.remembered(annotations)


def test_everything_in_a_note_is_remembered() -> None:
    note = Note(
        "c", config="h1", good_config="h2", promoted=True, delete_at=LATER, progress="p", unhealthy_since=NOW, heals=2
    )

    assert _after(note) == memory.Memory(
        config="{}", good_config="[]", promoted=True, delete_at=LATER, progress="p",
        progressed_at=NOW, unhealthy_since=NOW, heals=2,
    )  # fmt: skip


def test_a_planned_deletion_and_an_illness_can_be_forgotten() -> None:
    before = {memory.DELETE_AT: "2026-01-01T00:00:00Z", memory.UNHEALTHY_SINCE: "2026-01-01T00:00:00Z"}

    assert _after(Note("c", keep=True, healthy=True), before) == memory.Memory()


def test_a_new_config_counts_as_progress() -> None:
    assert _after(Note("c", config="h1")).progressed_at == NOW


@given(
    st.dictionaries(st.sampled_from([memory.DELETE_AT, memory.HEALS, memory.PROGRESSED_AT, memory.PROMOTED]), st.text())
)
def test_damaged_annotations_count_as_none(annotations: dict[str, str]) -> None:
    found = memory.remembered(annotations)

    assert found.heals >= 0
