from __future__ import annotations

from typing import Any

from rayward.kube.machinery.apply import Owner
from rayward.kube.machinery.apply.cap import BUCKET, MAX_UPDATERS, capped


def owner(manager: str, day: int = 1, version: str = "v1", operation: str = "Update", sub: str = "") -> Owner:
    return Owner(manager, operation, version, sub, f"2026-01-{day:02d}T00:00:00Z", {f"f:{manager}": {}})


def after_cap(*owners: Owner) -> dict[str, Any]:
    left = capped({each.key: each for each in owners})
    assert all(each.key == key for key, each in left.items())
    return {each.manager: (each.api_version, each.time, set(each.fields)) for each in left.values()}


def updaters(count: int, **more: Any) -> list[Owner]:
    return [owner(f"u{number:02d}", number + 1, **more) for number in range(count)]


def test_ten_updaters_are_remembered() -> None:
    assert len(after_cap(*updaters(MAX_UPDATERS))) == MAX_UPDATERS


def test_appliers_do_not_count() -> None:
    assert len(after_cap(*updaters(MAX_UPDATERS), *updaters(5, operation="Apply"))) == MAX_UPDATERS
    assert BUCKET not in after_cap(*updaters(MAX_UPDATERS), owner("a", operation="Apply"))


def test_the_oldest_two_become_ancient_changes() -> None:
    left = after_cap(*updaters(MAX_UPDATERS + 1))
    assert len(left) == MAX_UPDATERS
    assert left[BUCKET] == ("v1", "2026-01-02T00:00:00Z", {"f:u00", "f:u01"})


def test_more_are_added_to_the_ancient_ones() -> None:
    left = after_cap(owner(BUCKET, 1), *updaters(MAX_UPDATERS))
    assert len(left) == MAX_UPDATERS
    assert left[BUCKET] == ("v1", "2026-01-01T00:00:00Z", {f"f:{BUCKET}", "f:u00"})


def test_only_owners_of_one_version_are_folded() -> None:
    left = after_cap(owner("old", 1, "v1beta1"), *(owner(f"u{n:02d}", n + 2) for n in range(MAX_UPDATERS)))
    assert left["old"] == ("v1beta1", "2026-01-01T00:00:00Z", {"f:old"})
    assert left[BUCKET] == ("v1", "2026-01-03T00:00:00Z", {"f:u00", "f:u01"})


def test_nothing_is_folded_where_versions_all_differ() -> None:
    some = [owner(f"u{n:02d}", n + 1, f"v{n}") for n in range(MAX_UPDATERS + 2)]
    assert len(after_cap(*some)) == MAX_UPDATERS + 2


def test_ancient_changes_are_never_lost() -> None:
    left = after_cap(owner("aa", 1), owner(BUCKET, 1), *(owner(f"u{n:02d}", n + 2) for n in range(MAX_UPDATERS - 1)))
    assert left[BUCKET] == ("v1", "2026-01-01T00:00:00Z", {"f:aa", f"f:{BUCKET}"})
    assert len(left) == MAX_UPDATERS


def test_many_at_once() -> None:
    left = after_cap(*updaters(20))
    assert len(left) == MAX_UPDATERS
    assert left[BUCKET][2] == {f"f:u{number:02d}" for number in range(11)}
