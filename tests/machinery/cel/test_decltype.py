"""What expressions see of a schema."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery import cel
from rayward.kube.machinery.cel.decltype import declare, escape


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("plain", "plain"),
        ("namespace", "__namespace__"),
        ("in", "__in__"),
        ("a-b", "a__dash__b"),
        ("a.b/c", "a__dot__b__slash__c"),
        ("a__b", "a__underscores__b"),
        ("9a", None),
        ("a b", None),
        ("é", None),
        ("", None),
    ],
)
def test_property_names_become_identifiers(name: str, escaped: str | None) -> None:
    assert escape(name) == escaped


_TEXT = {"type": "string"}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "namespace": _TEXT,
        "a-b": _TEXT,
        "fooBar": _TEXT,
        "foo_bar": _TEXT,
        "port": {"x-kubernetes-int-or-string": True},
        "opaque": {"x-kubernetes-preserve-unknown-fields": True},
        "wait": {"type": "string", "format": "duration"},
        "times": {"type": "array", "items": {"type": "string", "format": "date-time"}},
        "ratio": {"type": "number"},
        "labels": {"type": "object", "additionalProperties": _TEXT},
        "matrix": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": _TEXT, "port": {"type": "integer"}}},
        },
    },
}
_VALUE: dict[str, Any] = {
    "namespace": "ns",
    "a-b": "ab",
    "fooBar": "1",
    "foo_bar": "2",
    "port": 80,
    "wait": "90m",
    "times": ["2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"],
    "ratio": 2,
    "labels": {"app": "ray"},
    "matrix": [[1], [2, 3]],
    "ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}],
}


@pytest.mark.parametrize(
    "text",
    [
        "self.__namespace__ == 'ns' && self.namespace == 'ns' && self.a__dash__b == 'ab'",
        "self.fooBar + self.foo_bar == '12'",
        "type(self.port) == int && self.port == 80",
        "self.wait == duration('1h30m')",
        "self.times.max().getFullYear() == 2021 && self.times.all(t, t > timestamp('2019-01-01T00:00:00Z'))",
        "self.ratio == 2.0 && self.ratio / 4.0 == 0.5",
        "self.labels.app == 'ray' && self.labels.all(k, v, k == 'app')",
        "self.matrix[1][0] == 2 && self.matrix.flatten().sum() == 6",
        "self.ports == [self.ports[1], self.ports[0]]",
        "(self.ports + self.ports).size() == 2",
        "self.?wait.hasValue() && self.?labels.?app.orValue('') == 'ray'",
        "self == oldSelf",
    ],
)
def test_values_are_what_the_schema_says(text: str) -> None:
    declared = declare(_SCHEMA)
    assert declared is not None
    program = cel.compile_for_schema(text, declared)
    assert program.evaluate({"self": _VALUE, "oldSelf": {**_VALUE, "ports": _VALUE["ports"][::-1], "wait": "5400s"}})[0]


@pytest.mark.parametrize("text", ["self.opaque == 1", "self.nothing == 1", "self.wait == '90m'", "self.ratio == 'x'"])
def test_what_the_schema_does_not_say_does_not_compile(text: str) -> None:
    declared = declare(_SCHEMA)
    assert declared is not None
    with pytest.raises(cel.CompileError):
        cel.compile_for_schema(text, declared)


def test_a_resource_always_has_its_identity() -> None:
    declared = declare({"type": "object"}, resource_root=True)
    assert declared is not None
    program = cel.compile_for_schema("self.metadata.name + self.kind + self.apiVersion == 'xKv1'", declared)
    assert program.evaluate({"self": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}}})[0]
