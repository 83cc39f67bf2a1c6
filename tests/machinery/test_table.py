"""Tables have the columns and cells that a real server computes for custom kinds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from rayward.kube.machinery import table
from rayward.kube.machinery.jsonpath import JSONPathError

Object = dict[str, Any]
NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
CREATED = "2026-11-15T11:55:00Z"


def cell(kind: str, value: Any) -> Any:
    layout = table.custom_layout([{"name": "C", "type": kind, "jsonPath": ".v"}])
    name, cell = layout.cells({"metadata": {"name": "n"}, **({} if value is ... else {"v": value})}, NOW)
    assert name == "n"
    return cell


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        ("string", "a", "a"),
        ("string", 5, "5"),
        ("string", True, "true"),
        ("string", 1e7, "1e+07"),
        ("string", {"b": 1, "a": [2]}, '{"a":[2],"b":1}'),
        ("string", None, "<no value>"),
        ("string", ..., None),
        ("integer", 5, 5),
        ("integer", 5.9, 5),
        ("integer", -5.9, -5),
        ("integer", 1e30, -(2**63)),
        ("integer", "5", None),
        ("integer", True, None),
        ("integer", ..., None),
        ("number", 5, 5.0),
        ("number", 1.5, 1.5),
        ("number", "1.5", None),
        ("boolean", False, False),
        ("boolean", 0, None),
        ("date", CREATED, "5m"),
        ("date", "", "<unknown>"),
        ("date", "soon", "<invalid>"),
        ("date", "2026-11-15T13:00:00Z", "<invalid>"),
        ("date", 5, None),
        ("date", None, None),
        ("date", ..., None),
        ("array", [1], None),
    ],
    ids=str,
)
def test_a_cell_by_the_type_of_its_column(kind: str, value: Any, shown: Any):
    result = cell(kind, value)
    assert (result, type(result)) == (shown, type(shown))


def test_a_kind_without_columns_of_its_own_shows_name_and_age():
    layout = table.custom_layout(None)
    assert [(each["name"], each["type"], each["format"]) for each in layout.definitions] == [
        ("Name", "string", "name"),
        ("Age", "date", ""),
    ]
    assert layout.cells({"metadata": {"name": "n", "creationTimestamp": CREATED}}, NOW) == ["n", "5m"]


def test_columns_are_defined_as_declared():
    declared: list[Object] = [
        {"name": "A", "type": "string", "jsonPath": ".a"},
        {"name": "B", "type": "integer", "jsonPath": ".b", "description": "b", "format": "int32", "priority": 1},
    ]
    assert table.custom_layout(declared).definitions[1:] == (
        {
            "name": "A",
            "type": "string",
            "format": "",
            "description": "Custom resource definition column (in JSONPath format): .a",
            "priority": 0,
        },
        {"name": "B", "type": "integer", "format": "int32", "description": "b", "priority": 1},
    )


def test_a_column_that_selects_several_values_shows_the_first():
    layout = table.custom_layout([{"name": "C", "type": "string", "jsonPath": ".c[?(@.type=='Ready')].status"}])
    obj: Object = {"c": [{"type": "Old", "status": "a"}, {"type": "Ready", "status": "b"}]}
    assert layout.cells(obj, NOW) == ["", "b"]
    assert layout.cells({"c": "no list"}, NOW) == ["", None]


def test_a_malformed_column_is_refused():
    with pytest.raises(JSONPathError, match="unrecognized column definition"):
        table.custom_layout([{"name": "C", "type": "string", "jsonPath": ".c["}])


def test_scale_objects_have_columns_of_their_own():
    layout = table.custom_layout(table.SCALE_COLUMNS)
    obj: Object = {"metadata": {"name": "s", "creationTimestamp": CREATED}, "spec": {"replicas": 3}}
    assert [each["name"] for each in layout.definitions] == ["Name", "Desired", "Available", "Age"]
    assert layout.cells(obj, NOW) == ["s", 3, None, "5m"]


OBJECT: Object = {"kind": "X", "metadata": {"name": "n", "labels": {"a": "b"}}, "spec": {"v": 1}}


@pytest.mark.parametrize(
    ("include", "carried"),
    [
        ("None", None),
        ("Object", OBJECT),
        (
            "Metadata",
            {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": OBJECT["metadata"]},
        ),
        ("", {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": OBJECT["metadata"]}),
    ],
)
def test_rows_carry_as_much_of_the_object_as_asked_for(include: Any, carried: Object | None):
    built = table.build(
        table.custom_layout(None), [OBJECT], now=NOW, metadata={"resourceVersion": "7"}, include=include
    )
    assert built["kind"] == "Table"
    assert built["apiVersion"] == "meta.k8s.io/v1"
    assert built["metadata"] == {"resourceVersion": "7"}
    assert built["rows"] == [{"cells": ["n", None], "object": carried}]


def test_later_events_of_a_watch_have_no_headers():
    built = table.build(table.custom_layout(None), [], now=NOW, metadata={}, headers=False, version="v1beta1")
    assert built == {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1beta1",
        "metadata": {},
        "columnDefinitions": None,
        "rows": [],
    }


@pytest.mark.parametrize("include", ["", "None", "Metadata", "Object"])
def test_what_can_be_included(include: str):
    assert table.check_include(include) is None


def test_nothing_else_can_be_included():
    assert table.check_include("All") == (
        "Unable to convert to Table as requested: includeObject: "
        "Invalid value: \"All\": must be 'Metadata', 'Object', 'None', or empty"
    )
