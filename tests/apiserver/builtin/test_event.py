"""Events of two groups are the same objects."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.local.apiserver.builtin.event import fields, new_fields, to_core, to_new

Object = dict[str, Any]

_CORE: Object = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "n"},
    "involvedObject": {"kind": "Pod", "namespace": "n", "name": "p"},
    "reason": "Started",
    "message": "it runs",
    "source": {"component": "kubelet", "host": "h"},
    "firstTimestamp": "2020-01-01T00:00:00Z",
    "lastTimestamp": "2020-01-01T00:00:01Z",
    "count": 3,
    "type": "Normal",
    "eventTime": None,
    "reportingComponent": "kubelet",
    "reportingInstance": "h",
}
_NEW: Object = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "n"},
    "regarding": {"kind": "Pod", "namespace": "n", "name": "p"},
    "reason": "Started",
    "note": "it runs",
    "deprecatedSource": {"component": "kubelet", "host": "h"},
    "deprecatedFirstTimestamp": "2020-01-01T00:00:00Z",
    "deprecatedLastTimestamp": "2020-01-01T00:00:01Z",
    "deprecatedCount": 3,
    "type": "Normal",
    "eventTime": None,
    "reportingController": "kubelet",
    "reportingInstance": "h",
}


def test_a_core_event_in_the_new_group_and_back() -> None:
    assert to_new(_CORE) == _NEW
    assert to_core(_NEW) == _CORE


def test_what_one_group_always_shows_the_other_leaves_out() -> None:
    bare: Object = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {}, "eventTime": None}
    core = to_core(bare)
    assert core == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {},
        "involvedObject": {},
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }
    empty = {"regarding": {}, "deprecatedSource": {}, "deprecatedFirstTimestamp": None, "deprecatedLastTimestamp": None}
    assert to_new(core) == {**bare, **empty}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("involvedObject.kind", "Pod"),
        ("involvedObject.name", "p"),
        ("involvedObject.uid", ""),
        ("reason", "Started"),
        ("source", "kubelet"),
        ("type", "Normal"),
    ],
)
def test_events_are_selected_by(field: str, value: str) -> None:
    assert fields(_CORE)[field] == value


def test_new_events_are_selected_by_new_names() -> None:
    found = new_fields(_NEW)
    assert (found["regarding.name"], found["reportingController"]) == ("p", "kubelet")


def test_the_source_of_an_event_without_one_is_its_controller() -> None:
    assert fields({**_CORE, "source": {}, "reportingComponent": "c"})["source"] == "c"
