from __future__ import annotations

from rayward.changes.revisions import Revision
from rayward.changes.timeline.stats import Stats, Subject, by_team, endings, stats_of


def _revision(number: int, minute: int, result: str, seconds: float) -> Revision:
    return Revision(number, {}, changed_at=f"2026-01-01T00:{minute:02d}:00Z", result=result, seconds=seconds)


def test_lead_time_failure_rate_and_time_to_restore() -> None:
    history = [
        _revision(1, 0, "Applied", 20),
        _revision(2, 10, "Failed", 30),
        _revision(3, 12, "Failed", 10),
        _revision(4, 14, "Applied", 40),
        Revision(5, {}, changed_at="2026-01-01T00:20:00Z"),
    ]
    found = stats_of([history, [_revision(1, 0, "Applied", 60)]])
    # from the end of the first failure (10:30) until the next generation was true (14:40)
    assert found == Stats(changes=5, failed=2, lead_seconds=40, restore_seconds=250)
    assert found.failure_rate == 0.4
    assert stats_of([]).document()["leadSeconds"] is None


def test_only_the_first_that_is_true_again_restores() -> None:
    history = [
        _revision(1, 0, "Failed", 30),
        _revision(2, 1, "Failed", 30),
        _revision(3, 2, "Applied", 30),
        _revision(4, 3, "Applied", 30),
    ]
    assert [one.restored_seconds for one in endings(history)] == [None, None, 120, None]


def test_objects_without_a_team_count_for_their_namespace() -> None:
    fine, broken = [_revision(1, 0, "Applied", 20)], [_revision(1, 0, "Failed", 20)]
    found = by_team(
        {
            "rayservice/a": ("search", fine),
            "rayservice/b": ("search", broken),
            "raycluster/c": ("", fine),
        },
        "shops",
    )
    assert [one.name for one in found] == [
        "rayservice/a",
        "rayservice/b",
        "raycluster/c",
        "namespace/shops",
        "team/search",
    ]
    assert found[-1] == Subject("team/search", Stats(2, 1, 20, None))
    assert by_team({}, "shops") == (Subject("namespace/shops", Stats()),)
