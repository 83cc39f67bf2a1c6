"""Only what no two servers share is masked."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.contract.mask import Mask, without_quotations

_ONE, _TWO = "6d3c8f8e-0c5e-4c9e-9d5e-0a8b8f3f1a11", "0f0e0d0c-0b0a-4908-8706-050403020100"
_NOW = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _meta(**fields: Any) -> dict[str, Any]:
    return {"metadata": {"uid": _ONE, **fields}}


def test_uids_and_versions_of_objects_are_numbered_as_they_appear() -> None:
    mask = Mask("")

    first = mask.body({"items": [_meta(resourceVersion="70"), {"metadata": {"uid": _TWO, "resourceVersion": "71"}}]})
    again = mask.body(_meta(resourceVersion="71"))

    assert [item["metadata"] for item in first["items"]] == [
        {"uid": "<uid 1>", "resourceVersion": "<rv 1>"},
        {"uid": "<uid 2>", "resourceVersion": "<rv 2>"},
    ]
    assert again["metadata"] == {"uid": "<uid 1>", "resourceVersion": "<rv 2>"}


@pytest.mark.parametrize(
    ("body", "masked"),
    [
        ({"a": f"{_NOW}Z"}, {"a": "<time>"}),
        ({"a": f"{_NOW}.123456Z"}, {"a": "<time with 6 digits>"}),
        ({"a": "2020-01-01T00:00:00Z"}, {"a": "2020-01-01T00:00:00Z"}),
        (
            {"metadata": {"resourceVersion": "7", "continue": "abc"}},
            {"metadata": {"resourceVersion": "<rv>", "continue": "<continue>"}},
        ),
        ({"metadata": {"resourceVersion": "0"}}, {"metadata": {"resourceVersion": "0"}}),
        ({"clusterIP": "10.43.0.7", "nodePort": 31_000}, {"clusterIP": "<ip>", "nodePort": "<port>"}),
        ({"clusterIP": "10.43.9.9", "nodePort": 30_007}, {"clusterIP": "10.43.9.9", "nodePort": 30_007}),
        (
            {"message": "Too large resource version: 9, current: 7"},
            {"message": "Too large resource version: 9, current: <rv>"},
        ),
        ({"replicas": 3}, {"replicas": 3}),
    ],
)
def test_what_the_case_said_stays(body: Any, masked: Any) -> None:
    assert Mask('"10.43.9.9" 30007').body(body) == masked


def test_generated_names_keep_their_prefix() -> None:
    mask = Mask('{"generateName": "web-"}')

    assert mask.body({"name": "web-x7k2p"}) == {"name": "web-<5 random, 1>"}
    assert mask.text('pods "web-x7k2p" not found') == 'pods "web-<5 random, 1>" not found'
    assert mask.body({"name": "web-"}) == {"name": "web-"}


def test_managed_fields_out_of_the_servers_order_are_noticed() -> None:
    early = {"manager": "b", "operation": "Update", "time": "2020-01-01T00:00:00Z"}
    late = {"manager": "a", "operation": "Update", "time": "2020-01-01T00:00:01Z"}

    in_order = Mask("").body({"managedFields": [early, late]})
    out_of_order = Mask("").body({"managedFields": [late, early]})

    assert [entry["manager"] for entry in in_order["managedFields"]] == ["a", "b"]
    assert out_of_order["managedFields"][0] == "<out of order>"


def test_ages_are_masked_only_in_columns_of_age() -> None:
    columns = [{"name": name, "type": "string", "description": ""} for name in ("Name", "Age", "Restarts")]
    table = {"kind": "Table", "columnDefinitions": columns, "rows": [{"cells": ["5s", "5s", "3 (12s ago)"]}]}

    assert Mask("").body(table)["rows"][0]["cells"] == ["5s", "<age>", "3 (<age> ago)"]


def test_objects_quoted_in_messages_are_left_out() -> None:
    assert without_quotations('patch: Invalid value: "{\\"a\\":1}": no') == 'patch: Invalid value: "<object>": no'
    assert without_quotations('spec.x: Invalid value: "a": no') == 'spec.x: Invalid value: "a": no'
