"""What is noted on a cluster is read back the same; damage counts as nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from rayward.kinds import labels
from rayward.operator.service.annotations import ClusterAnnotations, annotation_patch, read_annotations
from rayward.operator.service.serveconfig import Surge
from rayward.operator.service.state import AnnotationChange

NOW = datetime(2026, 1, 1, 12, 30, 15, 250000, tzinfo=UTC)
LATER = datetime(2026, 1, 1, 12, 31, tzinfo=UTC)


def _after(change: AnnotationChange, before: dict[str, str] | None = None) -> ClusterAnnotations:
    annotations = dict(before or {})
    for name, value in annotation_patch(change, {"h1": "{}", "h2": "[]"}, NOW).items():
        if value is None:
            annotations.pop(name, None)
        else:
            annotations[name] = value
    return read_annotations(annotations)


def test_everything_in_a_change_is_remembered() -> None:
    change = AnnotationChange(
        "c",
        config="h1",
        good_config="h2",
        promoted=True,
        delete_at=LATER,
        progress="p",
        unhealthy_since=NOW,
        remedies=2,
        started_in=timedelta(seconds=6.2),
        surges={"h1": frozenset({Surge("app", "D", 100)}), "h2": frozenset()},
    )

    assert _after(change) == ClusterAnnotations(
        config="{}", good_config="[]", promoted=True, delete_at=LATER, progress="p",
        progressed_at=NOW, unhealthy_since=NOW, remedies=2, started_in=timedelta(seconds=7),
        surges={"h1": frozenset({Surge("app", "D", 100)})},
    )  # fmt: skip


def test_a_planned_deletion_and_an_illness_can_be_forgotten() -> None:
    before = {labels.DELETE_AT: "2026-01-01T00:00:00Z", labels.UNHEALTHY_SINCE: "2026-01-01T00:00:00Z"}

    assert _after(AnnotationChange("c", keep=True, healthy=True), before) == ClusterAnnotations()


def test_a_new_config_counts_as_progress() -> None:
    assert _after(AnnotationChange("c", config="h1")).progressed_at == NOW


def test_a_later_deletion_wins_over_keeping_a_cluster() -> None:
    assert _after(AnnotationChange("c", keep=True, delete_at=LATER)).delete_at == LATER


@given(
    st.dictionaries(
        st.sampled_from([labels.DELETE_AT, labels.REMEDIES, labels.PROGRESSED_AT, labels.PROMOTED, labels.SURGES]),
        st.text() | st.sampled_from(["[]", '{"h": 1}', '{"h": [["app", "D"]]}', '{"h": [["app", "D", "x"]]}']),
    )
)
def test_damaged_annotations_count_as_none(annotations: dict[str, str]) -> None:
    found = read_annotations(annotations)

    assert found.remedies >= 0
    assert found.surges == {}
