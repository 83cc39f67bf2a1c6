"""Paths that rules and selectable fields name."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.schema import fieldpath

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"a.b": {"type": "string"}, "it's": {"type": "string"}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "list": {"type": "array", "items": {"type": "string"}},
    },
}


@pytest.mark.parametrize(
    ("path", "printed"),
    [
        (".spec", "spec"),
        ("['spec']['a.b']", "spec.a.b"),
        (".spec['it\\'s']", "spec.it's"),
        (".labels.app", "labels[app]"),
        (".labels['x/y']", "labels[x/y]"),
    ],
)
def test_a_path_to_a_field(path: str, printed: str) -> None:
    assert fieldpath.resolve(path, _SCHEMA)[0] == printed


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("spec", "expected [ or . but got: spec"),
        (".", "unexpected end of JSON path"),
        (".nope", "does not refer to a valid field"),
        (".list[0]", "expected single quoted string but got 0"),
        (".list['0']", "does not refer to a valid field"),
        (".spec['a.b'", "unexpected end of JSON path"),
        (".labels['\\q']", "invalid string literal: invalid escape char \\q"),
    ],
)
def test_a_path_to_nowhere(path: str, said: str) -> None:
    with pytest.raises(fieldpath.PathError) as caught:
        fieldpath.resolve(path, _SCHEMA)
    assert str(caught.value) == said


def test_brackets_can_be_forbidden() -> None:
    with pytest.raises(fieldpath.PathError, match="array notation is not allowed"):
        fieldpath.resolve(".labels['a']", _SCHEMA, arrays=False)
