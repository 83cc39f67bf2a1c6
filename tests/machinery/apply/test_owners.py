from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.apply import NOBODY, Owner, Owners, encode, owners_of

_ENTRY = {
    "manager": "m",
    "operation": "Update",
    "apiVersion": "v1",
    "time": "2026-01-01T00:00:00Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:a": {}},
}


def having(*entries: Any) -> dict[str, Any]:
    return {"metadata": {"managedFields": list(entries)}}


def owner(
    manager: str, operation: str = "Update", version: str = "v1", sub: str = "", time: str | None = None
) -> Owner:
    return Owner(manager, operation, version, sub, time, {"f:a": {}})


def owners(*some: Owner) -> Owners:
    return Owners({each.key: each for each in some})


@pytest.mark.parametrize(
    "entry",
    [
        _ENTRY,
        {**_ENTRY, "subresource": "status"},
        {**_ENTRY, "operation": "Apply"},
        {key: value for key, value in _ENTRY.items() if key != "time"},
        {key: value for key, value in _ENTRY.items() if key != "manager"},
    ],
)
def test_what_is_read_is_written(entry: dict[str, Any]) -> None:
    assert encode(owners_of(having(entry))) == [entry]


def test_fields_left_out_are_no_fields() -> None:
    [found] = owners_of(having({key: value for key, value in _ENTRY.items() if key != "fieldsV1"}))
    assert found.fields == {}


@pytest.mark.parametrize(
    ("time", "written"),
    [
        ("2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00.123456Z", "2026-01-01T00:00:00Z"),
        (None, None),
    ],
)
def test_times_are_whole_seconds_of_utc(time: str | None, written: str | None) -> None:
    [found] = owners_of(having({**_ENTRY, "time": time}))
    assert found.time == written


@pytest.mark.parametrize(
    "entry",
    [
        None,
        "x",
        [],
        {},
        {**_ENTRY, "operation": "Delete"},
        {**_ENTRY, "operation": None},
        {**_ENTRY, "apiVersion": ""},
        {**_ENTRY, "apiVersion": 1},
        {**_ENTRY, "manager": 1},
        {**_ENTRY, "subresource": ["status"]},
        {**_ENTRY, "fieldsType": "FieldsV2"},
        {**_ENTRY, "fieldsType": None},
        {**_ENTRY, "fieldsV1": {"x": {}}},
        {**_ENTRY, "fieldsV1": "f:a"},
        {**_ENTRY, "time": "yesterday"},
        {**_ENTRY, "time": 5},
    ],
)
def test_what_can_not_be_read_belongs_to_nobody(entry: Any) -> None:
    assert owners_of(having(_ENTRY, entry)) == NOBODY


@pytest.mark.parametrize("obj", [None, {}, {"metadata": {}}, having(), {"metadata": {"managedFields": "x"}}])
def test_objects_without_managed_fields(obj: Any) -> None:
    assert owners_of(obj) == NOBODY
    assert not len(owners_of(obj))


def test_appliers_are_one_owner_in_every_version_and_updaters_are_not() -> None:
    assert owner("m", "Apply", "v1").key == owner("m", "Apply", "v2").key
    assert owner("m", "Update", "v1").key != owner("m", "Update", "v2").key
    assert owner("m", "Apply").key != owner("m", "Update").key
    assert owner("m", sub="status").key != owner("m").key


def test_two_entries_of_one_owner_are_the_later_one() -> None:
    [found] = owners_of(having(_ENTRY, {**_ENTRY, "fieldsV1": {"f:b": {}}}))
    assert found.fields == {"f:b": {}}


def test_entries_are_sorted_as_kubernetes_sorts_them() -> None:
    early, late = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    in_order = [
        owner("z", "Apply", time=early),
        owner("a", "Apply", time=late),
        owner("z", version="v2"),
        owner("m", time=early),
        owner("n", version="v1", time=early),
        owner("n", version="v2", time=early),
        owner("n", version="v2", sub="status", time=early),
        owner("a", time=late),
    ]
    names = ("manager", "apiVersion", "subresource", "time")
    assert [tuple(entry.get(name) for name in names) for entry in encode(owners(*reversed(in_order)))] == [
        (each.manager, each.api_version, each.subresource or None, each.time) for each in in_order
    ]


def test_owners_are_equal_if_they_own_the_same() -> None:
    assert owners(owner("a"), owner("b")) == owners(owner("b"), owner("a"))
    assert owners(owner("a")) != owners(owner("a", time="2026-01-01T00:00:00Z"))
    assert NOBODY != {}
    assert "manager='a'" in repr(owners(owner("a")))
