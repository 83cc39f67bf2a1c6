"""Checks that many kinds share."""

from __future__ import annotations

import pytest

from rayward.kube.machinery.fielderror import FieldError
from rayward.kube.machinery.jsonvalue import Object
from rayward.local.apiserver.builtin.check import label_selector


def _errors(selector: Object | None) -> list[FieldError]:
    errors: list[FieldError] = []
    label_selector(selector, "s", errors)
    return errors


@pytest.mark.parametrize(
    ("selector", "errors"),
    [
        (None, []),
        ({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]}, []),
        (
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            ["s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"],
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
            [
                (
                    "s.matchExpressions[0].values: Forbidden: "
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                ),
            ],
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Like"}]},
            ['s.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator'],
        ),
    ],
    ids=["none", "good", "values missing", "values not allowed", "operator"],
)
def test_an_object_inside_a_spec_is_checked_field_by_field(selector: Object | None, errors: list[str]) -> None:
    assert [str(error) for error in _errors(selector)] == errors


def test_keys_and_values_inside_a_spec_are_checked() -> None:
    selector: Object = {
        "matchLabels": {"a b": "-"},
        "matchExpressions": [{"key": "", "operator": "In", "values": ["b", "!"]}],
    }
    assert [error.field for error in _errors(selector)] == [
        "s.matchLabels",
        "s.matchLabels",
        "s.matchExpressions[0].key",
        "s.matchExpressions[0].key",
        "s.matchExpressions[0].values[1]",
    ]
