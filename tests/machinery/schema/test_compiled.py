"""A compiled schema: what it drops, fills in and refuses."""

from __future__ import annotations

import copy
import gzip
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery import schema
from rayward.kube.machinery.schema import listtype, structural
from rayward.kube.machinery.schema.accept import acceptor
from rayward.kube.machinery.schema.explain import explain
from rayward.kube.machinery.schema.node import Tree


def _object(spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Test", "metadata": {"name": "x"}, "spec": spec}


def _compile(spec: dict[str, Any]) -> schema.Schema:
    return schema.compile({"type": "object", "properties": {"spec": spec}})


def _said(compiled: schema.Schema, obj: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    return [str(error) for error in compiled.validate(obj, old)]


@pytest.mark.parametrize(
    ("spec", "value", "said"),
    [
        pytest.param(
            {"type": "integer"}, "x", 'spec: Invalid value: "string": spec in body must be of type integer: "string"',
            id="type",
        ),
        pytest.param(
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}, {},
            "spec.a: Required value", id="required",
        ),
        pytest.param(
            {"type": "string", "enum": ["a", "b"]}, "c",
            'spec: Unsupported value: "c": supported values: "a", "b"', id="enum",
        ),
        pytest.param(
            {"type": "string", "maxLength": 2}, "abc",
            "spec: Too long: may not be more than 2 bytes", id="long",
        ),
        pytest.param(
            {"type": "array", "maxItems": 2, "items": {"type": "integer"}}, [1, 2, 3],
            "spec: Too many: 3: must have at most 2 items", id="many",
        ),
        pytest.param(
            {"type": "string", "pattern": "^a$"}, "b",
            "spec: Invalid value: \"b\": spec in body should match '^a$'", id="pattern",
        ),
        pytest.param(
            {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}, ["a", "a"],
            'spec[1]: Duplicate value: "a"', id="duplicate",
        ),
        pytest.param(
            {"type": "integer", "format": "int32"}, 2**31,
            '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec', id="int32",
        ),
        pytest.param(
            {"type": "string", "x-kubernetes-validations": [{"rule": "self == 'y'", "message": "say y"}]}, "x",
            'spec: Invalid value: "x": say y', id="rule",
        ),
        pytest.param(
            {"type": "object", "x-kubernetes-validations": [{"rule": "1 > 2"}]}, {},
            "spec: Invalid value: failed rule: 1 > 2", id="rule-on-object",
        ),
    ],
)  # fmt: skip
def test_a_value_is_refused_in_kubernetes_words(spec: dict[str, Any], value: Any, said: str) -> None:
    assert _said(_compile(spec), _object(value)) == [said]


def test_findings_come_in_the_order_of_checks() -> None:
    compiled = _compile(
        {
            "type": "object",
            "required": ["z"],
            "properties": {
                "a": {"type": "string", "minLength": 2, "enum": ["xx"]},
                "l": {"type": "array", "minItems": 2, "items": {"type": "integer", "minimum": 1}},
            },
        }
    )
    assert _said(compiled, _object({"a": "x", "l": [0]})) == [
        'spec.a: Invalid value: "x": spec.a in body should be at least 2 chars long',
        'spec.a: Unsupported value: "x": supported values: "xx"',
        "spec.l[0]: Invalid value: 0: spec.l[0] in body should be greater than or equal to 1",
        "spec.l: Invalid value: 1: spec.l in body should have at least 2 items",
        "spec.z: Required value",
    ]


def test_rules_wait_until_types_are_right() -> None:
    compiled = _compile(
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.a > 1"}],
        }
    )
    assert _said(compiled, _object({"a": "x"}))[-1] == (
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
        "correct the existing errors to complete validation"
    )


def test_unknown_fields_are_dropped_and_named() -> None:
    compiled = _compile(
        {
            "type": "object",
            "properties": {
                "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
                "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        }
    )
    obj = _object({"foo": 1, "list": [{"a": "x", "bar": 2}], "open": {"any": {"thing": 1}}})
    obj["metadata"]["zone"] = "z"
    assert compiled.prune(obj) == ["metadata.zone", "spec.foo", "spec.list[0].bar"]
    assert obj == _object({"list": [{"a": "x"}], "open": {"any": {"thing": 1}}})


def test_metadata_of_the_wrong_type_cannot_be_read() -> None:
    obj = _object({})
    obj["metadata"]["labels"] = {"a": 1}
    with pytest.raises(schema.MetadataError, match="cannot unmarshal number into Go struct field"):
        _compile({"type": "object"}).prune(obj)


def test_defaults_are_copies_and_replace_nulls() -> None:
    compiled = _compile(
        {
            "type": "object",
            "properties": {
                "list": {"type": "array", "items": {"type": "string"}, "default": ["a"]},
                "inner": {
                    "type": "object",
                    "default": {},
                    "properties": {"n": {"type": "integer", "default": 1}, "z": {"type": "string"}},
                },
                "null": {"type": "string", "nullable": True, "default": "x"},
            },
        }
    )
    one, other = _object({"inner": None}), _object({"inner": {"z": None}, "null": None})
    compiled.default(one)
    compiled.default(other)
    one["spec"]["list"].append("b")
    assert other["spec"] == {"list": ["a"], "inner": {"n": 1}, "null": None}
    assert one["spec"]["inner"] == {"n": 1}


def test_an_unchanged_bad_value_is_tolerated_and_a_changed_one_is_not() -> None:
    compiled = _compile({"type": "object", "properties": {"a": {"type": "string", "maxLength": 1}}})
    old = _object({"a": "long"})
    assert _said(compiled, copy.deepcopy(old), old) == []
    assert _said(compiled, _object({"a": "longer"}), old) == ["spec.a: Too long: may not be more than 1 byte"]


def test_only_the_status_is_checked_when_only_the_status_changed() -> None:
    raw = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"a": {"type": "integer"}}},
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
        },
    }
    old = _object({"a": "bad"})
    assert [str(e) for e in schema.compile(raw).validate_status({**old, "status": {"ready": 1}}, old)] == [
        'status.ready: Invalid value: "integer": ready in body must be of type boolean: "integer"'
    ]


def test_a_rule_that_costs_too_much_is_stopped() -> None:
    numbers = {"type": "array", "items": {"type": "integer"}}
    rule = {"rule": "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))"}
    compiled = _compile({**numbers, "x-kubernetes-validations": [rule]})
    (said,) = _said(compiled, _object(list(range(300))))
    assert said.startswith(
        "spec: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation "
        "rules will be run due to call cost exceeds limit for rule: self.all("
    )


def test_references_are_followed_when_a_value_reaches_them() -> None:
    asked: list[str] = []
    named = {
        "Node": {
            "type": "object",
            "properties": {
                "next": {"allOf": [{"$ref": "#/components/schemas/Node"}], "default": {}},
                "port": {"$ref": "#/components/schemas/Port"},
                "raw": {"type": "object"},
            },
        },
        "Port": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    }

    def resolve(name: str) -> dict[str, Any]:
        asked.append(name)
        return named[name]

    compiled = schema.compile(
        {"type": "object", "properties": {"spec": {"$ref": "#/components/schemas/Node"}}}, resolve=resolve
    )
    assert asked == []
    obj = _object({"next": {"port": "http", "zzz": 1}, "raw": {"kept": 1}})
    assert compiled.prune(obj) == ["spec.next.zzz"]
    assert compiled.validate(obj) == []
    assert obj["spec"]["raw"] == {"kept": 1}
    assert sorted(set(asked)) == ["Node", "Port"]
    assert _said(compiled, _object({"port": True})) == [
        '<nil>: Invalid value: "": "spec.port" must validate one and only one schema (oneOf). Found none valid',
        'spec.port: Invalid value: "boolean": spec.port in body must be of type integer: "boolean"',
    ]


def test_a_value_nested_without_end_in_a_schema_that_refers_to_itself_is_refused() -> None:
    named = {"Node": {"type": "object", "properties": {"next": {"$ref": "#/components/schemas/Node"}}}}
    compiled = schema.compile(
        {"type": "object", "properties": {"spec": {"$ref": "#/components/schemas/Node"}}}, resolve=named.__getitem__
    )
    value: dict[str, Any] = {"next": 1}
    for _ in range(5000):
        value = {"next": value}
    with pytest.raises(schema.MetadataError, match="exceeded max depth"):
        compiled.prune(_object(value))
    assert _said(compiled, _object(value)) == ['<nil>: Invalid value: "": exceeded max depth']


# Properties


def _schemas() -> st.SearchStrategy[dict[str, Any]]:
    scalars = st.sampled_from(
        [
            {"type": "string"},
            {"type": "string", "maxLength": 3},
            {"type": "string", "enum": ["a", "b"]},
            {"type": "string", "default": "a"},
            {"type": "string", "nullable": True},
            {"type": "integer", "minimum": 0},
            {"type": "integer", "default": 1},
            {"type": "number"},
            {"type": "boolean"},
            {"x-kubernetes-int-or-string": True, "pattern": "^[a-z]+$"},
            {"x-kubernetes-preserve-unknown-fields": True},
        ]
    )

    def grow(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
        objects = st.builds(
            lambda properties, required, default: {
                "type": "object",
                "properties": properties,
                "required": [name for name in required if name in properties],
                **({"default": {}} if default else {}),
            },
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            st.lists(st.sampled_from("abc"), max_size=1, unique=True),
            st.booleans(),
        )
        lists = st.builds(
            lambda items, kind: {"type": "array", "items": items, **kind},
            inner,
            st.sampled_from([{}, {"maxItems": 2}, {"x-kubernetes-list-type": "set"}]),
        )
        maps = st.builds(lambda values: {"type": "object", "additionalProperties": values}, inner)
        return st.one_of(objects, lists, maps)

    return st.recursive(scalars, grow, max_leaves=8)


_JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-3, 5), st.sampled_from([1.0, 2.5]), st.sampled_from(["a", "zzzz"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abcd"), inner, max_size=4)),
    max_leaves=12,
)


@given(_schemas(), _JSON)
def test_pruning_twice_drops_nothing_more(spec: dict[str, Any], value: Any) -> None:
    compiled = _compile(spec)
    obj = _object(copy.deepcopy(value))
    compiled.prune(obj)
    once = copy.deepcopy(obj)
    assert compiled.prune(obj) == []
    assert obj == once


@given(_schemas(), _JSON)
def test_defaulting_twice_changes_nothing_more(spec: dict[str, Any], value: Any) -> None:
    compiled = _compile(spec)
    obj = _object(copy.deepcopy(value))
    compiled.default(obj)
    once = copy.deepcopy(obj)
    compiled.default(obj)
    assert obj == once


@given(_schemas(), _JSON)
def test_an_object_may_always_stay_what_it_is(spec: dict[str, Any], value: Any) -> None:
    compiled = _compile(spec)
    obj = _object(copy.deepcopy(value))
    compiled.prune(obj)
    compiled.default(obj)
    assert _said(compiled, obj, copy.deepcopy(obj)) == []


@given(_schemas(), _JSON)
def test_the_quick_check_lets_nothing_bad_through(spec: dict[str, Any], value: Any) -> None:
    node = Tree(spec, None).root
    if acceptor(node)(value):
        assert explain(node, value).found == []
        assert listtype.check(node, value) == []


def test_the_schema_of_rayclusters_serves_a_raycluster() -> None:
    packed = (Path(__file__).parents[2] / "contract" / "data" / "ray.io_rayclusters.yaml.gz").read_bytes()
    definition = yaml.load(gzip.decompress(packed), Loader=yaml.CSafeLoader)
    raw = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert structural.check(raw, "spec.validation", status_subresource=True) == []
    compiled = schema.compile(raw)
    container = {"name": "ray", "image": "ray", "ports": [{"containerPort": 1}], "resources": {"limits": {"cpu": 1}}}
    head = {"rayStartParams": {}, "template": {"spec": {"containers": [container]}}}
    old = _object({"headGroupSpec": head, "managedBy": "ray.io/kuberay-operator", "sky": "blue"})
    assert compiled.prune(old) == ["spec.sky"]
    compiled.default(old)
    assert compiled.validate(old) == []
    assert container["ports"] == [{"containerPort": 1, "protocol": "TCP"}]
    new = copy.deepcopy(old)
    new["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    assert _said(compiled, new, old) == [
        'spec.managedBy: Invalid value: "kueue.x-k8s.io/multikueue": the managedBy field is immutable'
    ]
