"""A custom resource whose fields use every keyword of a schema, and values to try in each of them."""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}


def _text(form: str) -> dict[str, Any]:
    return {"type": "string", "format": form}


FIELDS: dict[str, Any] = {
    "integer": {"type": "integer"},
    "int32": {"type": "integer", "format": "int32"},
    "bounded": {"type": "integer", "format": "int64", "minimum": 1, "maximum": 10},
    "exclusive": {
        "type": "integer",
        "minimum": 1,
        "maximum": 10,
        "exclusiveMinimum": True,
        "exclusiveMaximum": True,
        "multipleOf": 3,
    },
    "number": {"type": "number", "minimum": 0.5, "maximum": 1000000.0},
    "tenths": {"type": "number", "multipleOf": 0.1},
    "float": {"type": "number", "format": "float"},
    "boolean": {"type": "boolean"},
    "sized": {"type": "string", "minLength": 2, "maxLength": 4},
    "pattern": {"type": "string", "pattern": "^a+$"},
    "enum": {"type": "string", "enum": ["a", "b"]},
    "numbers": {"type": "integer", "enum": [1, 2]},
    "intOrString": {"x-kubernetes-int-or-string": True},
    "percent": {
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": "^[0-9]+%$",
    },
    "smallIntOrString": {"x-kubernetes-int-or-string": True, "maximum": 5, "maxLength": 3},
    "list": {"type": "array", "items": {"type": "string", "maxLength": 3}, "minItems": 1, "maxItems": 2},
    "set": {"type": "array", "x-kubernetes-list-type": "set", "items": _TEXT},
    "keyed": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": {
            "type": "object",
            "required": ["k"],
            "properties": {"k": _TEXT, "v": {"type": "integer"}},
        },
    },
    "twoKeys": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k", "p"],
        "items": {
            "type": "object",
            "required": ["k"],
            "properties": {"k": _TEXT, "p": {"type": "integer", "default": 1}},
        },
    },
    "map": {
        "type": "object",
        "additionalProperties": {"type": "string", "minLength": 2},
        "minProperties": 1,
        "maxProperties": 2,
    },
    "mapOfObjects": {
        "type": "object",
        "additionalProperties": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
    },
    "object": {
        "type": "object",
        "required": ["a", "z"],
        "properties": {"a": _TEXT, "z": _TEXT, "n": {"type": "string", "nullable": True}},
    },
    "anyOf": {
        "type": "object",
        "properties": {"a": _TEXT, "b": _TEXT},
        "anyOf": [{"required": ["a"]}, {"required": ["b"], "properties": {"b": {"minLength": 3}}}],
    },
    "oneOf": {
        "type": "object",
        "properties": {"a": _TEXT, "b": _TEXT},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
    },
    "allOf": {"type": "string", "allOf": [{"minLength": 2}, {"pattern": "^a"}, {"maxLength": 5}]},
    "not": {"type": "string", "not": {"enum": ["bad"]}},
    "preserving": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"k": {"type": "object", "properties": {"q": _TEXT}}},
    },
    "anything": {"x-kubernetes-preserve-unknown-fields": True},
    "embedded": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
    "typedEmbedded": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"spec": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    },
    "nullable": {"type": "string", "nullable": True, "default": "x"},
    "defaulted": {
        "type": "object",
        "default": {},
        "properties": {"a": {"type": "integer", "default": 5}, "b": _TEXT},
    },
    "defaultedText": {"type": "string", "default": "dd"},
    "additional": {"type": "object", "additionalProperties": True},
    **{
        form: _text(form)
        for form in (
            *("date-time", "date", "duration", "ipv4", "ipv6", "cidr", "uuid", "uuid4", "byte", "email", "hostname"),
            *("uri", "mac", "password", "unheard-of", "k8s-short-name", "k8s-long-name", "hexcolor", "rgbcolor"),
            *("creditcard", "isbn", "ssn", "bsonobjectid"),
        )
    },
}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"spec": {"type": "object", "properties": FIELDS}}}

VALUES: list[Any] = [
    *("x", "", None, True, 0, 1, 3, -1, 3.0, 3.5, 1e6, 1e20, 2**31, "aaa", "aaaaaa", "a", "b", "c", "bad", "5%"),
    *("éééé", "ééééé", [], ["a"], ["a", "a"], ["a", "b", "c"], ["aaaa"], [None], [1], [[1]], [{"a": 1}]),
    *({}, {"a": "x"}, {"a": 1}, {"b": "bb"}, {"a": "x", "b": "y"}, {"a": "x", "z": "y"}, {"a": None, "z": None}),
    *({"n": None, "a": "", "z": ""}, {"k": "v"}, {"a": "xx", "b": "yy", "c": "zz"}, {"a": {"x": 1}}, {"a": {"x": "q"}}),
    *({"a": {}}, {"x": {"y": 1}, "z": 1}, {"k": {"q": "a", "r": 1}, "u": {"v": 1}}, [{}], [{}, {}], [{"k": 1}]),
    *([{"k": "a"}, {"k": "a"}], [{"k": "a"}, {"v": 1}], [{"k": "a", "p": 1}, {"k": "a"}], [None, {"k": "a"}]),
    {"apiVersion": "v1", "kind": "Pod"},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "foo": "b"}, "spec": {"a": 1, "zz": 2}},
    {"apiVersion": "a/b/c", "kind": "P_"},
    {"kind": "", "apiVersion": ""},
    {"apiVersion": 1, "kind": "x"},
    {"apiVersion": "v1", "kind": "x", "metadata": {"labels": {"a": 1}}},
    {"apiVersion": "v1", "kind": "x", "metadata": {"labels": {"a/b/c": "x"}, "name": "../", "namespace": "A"}},
    {"apiVersion": "v1", "kind": "x", "metadata": "x"},
    *("2020-01-01T00:00:00Z", "2020-01-01T00:00:00", "2020-13-01T00:00:00Z", "2020-01-01", "1h", "3 days"),
    *("10.0.0.1", "010.0.0.1", "::1", "::ffff:1.2.3.4", "10.0.0.0/8", "10.0.0.0/33", "a@b.c", "A <a@b.c>", "a@"),
    *("123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-42d3-a456-426614174000", "aGk=", "aGk", "Abc", "a.b-c"),
    *("host.example.com", "-host", "http://a/b", "/a", "a/b", "00:11:22:33:44:55", "001122334455", "#fff"),
    *("rgb(1,2,3)", "4111111111111111", "0321751043", "123-45-6789", "507f1f77bcf86cd799439011"),
]

METADATA: list[Any] = [
    {"name": "x", "labels": {"a": 1}},
    {"name": "x", "labels": {"a": None, "b": ""}},
    {"name": "x", "labels": {}},
    {"name": "x", "labels": []},
    {"name": "x", "labels": "s"},
    {"name": 5},
    {"name": "x", "annotations": {"a": True}},
    {"name": "x", "foo": 1, "bar": {"a": 1}},
    {"name": "x", "finalizers": ["a.b/c"]},
    {"name": "x", "finalizers": "a"},
    {"name": "x", "finalizers": [1]},
    {"name": "x", "finalizers": []},
    {"name": "x", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "zzz": 1}]},
    {"name": "x", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": "y"}]},
    {"name": "x", "ownerReferences": {}},
    {"name": "x", "ownerReferences": ["a"]},
    {"name": "x", "generation": "1"},
    {"name": "x", "generation": 1.5},
    {"name": "x", "creationTimestamp": None},
    {"name": "x", "creationTimestamp": "x"},
    {"name": "x", "creationTimestamp": 5},
    {"name": "x", "creationTimestamp": "2020-01-01"},
    {"name": "x", "creationTimestamp": "2020-01-01T00:00:00"},
    {"name": "x", "managedFields": "a"},
    {"name": "x", "clusterName": "c"},
    {"name": "x", "Labels": {"c": "d"}},
    "text",
    [],
    5,
]
