from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.apply import Map, SchemaError, Type, custom_type_of, type_of
from rayward.kube.machinery.apply.fromschema import MAX_DEPTH, OBJECT_META
from rayward.kube.machinery.apply.types import ATOMIC, BOOLEAN, DEDUCED, NUMERIC, STRING, UNTYPED, Either, List, Scalar
from tests.machinery.apply.kinds import built_in, pod_type, raycluster_type, service_type

_TEXT = {"type": "string"}


def at(of: Type, *names: str) -> Any:
    """The type of a field, or of an item if the name is ``[]``."""
    for name in names:
        if isinstance(of, Either):
            of = of.map
        if name == "[]":
            assert isinstance(of, List)
            of = of.element
        else:
            assert isinstance(of, Map)
            of = of.fields[name].type
    return of


def field(schema: dict[str, Any]) -> Any:
    """The type of one field of a custom kind."""
    return at(custom_type_of({"type": "object", "properties": {"it": schema}}), "it")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, STRING),
        ({"type": "string", "format": "byte"}, STRING),
        ({"type": "string", "format": "date-time"}, UNTYPED),
        ({"type": "string", "format": "int-or-string"}, UNTYPED),
        ({"type": "integer", "format": "int32"}, NUMERIC),
        ({"type": "number"}, NUMERIC),
        ({"type": "boolean"}, BOOLEAN),
        ({"type": "nonsense"}, UNTYPED),
    ],
)
def test_scalars(schema: dict[str, Any], expected: Scalar) -> None:
    assert field(schema) is expected


@pytest.mark.parametrize(
    ("schema", "atomic", "keys"),
    [
        ({}, True, ()),
        ({"x-kubernetes-list-type": "atomic"}, True, ()),
        ({"x-kubernetes-list-type": "set"}, False, ()),
        ({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b", "a"]}, False, ("b", "a")),
        ({"x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "a"}, False, ("a",)),
        ({"x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "a"}, False, ("a",)),
        ({"x-kubernetes-patch-strategy": "merge"}, False, ()),
        ({"x-kubernetes-patch-strategy": "retainKeys"}, True, ()),
        ({"x-kubernetes-list-type": "atomic", "x-kubernetes-patch-strategy": "merge"}, True, ()),
    ],
)
def test_lists(schema: dict[str, Any], atomic: bool, keys: tuple[str, ...]) -> None:
    of = field({"type": "array", "items": _TEXT, **schema})
    assert (of.atomic, of.keys, of.element) == (atomic, keys, STRING)


def test_a_list_of_who_knows_what() -> None:
    assert field({"type": "array"}).element is ATOMIC


@pytest.mark.parametrize(
    ("schema", "atomic", "element"),
    [
        ({}, False, DEDUCED),
        ({"x-kubernetes-map-type": "granular"}, False, DEDUCED),
        ({"x-kubernetes-map-type": "atomic"}, True, DEDUCED),
        ({"additionalProperties": _TEXT}, False, STRING),
        ({"additionalProperties": True}, False, DEDUCED),
        ({"additionalProperties": False}, False, None),
        ({"properties": {"a": _TEXT}}, False, None),
        ({"properties": {"a": _TEXT}, "additionalProperties": True}, False, DEDUCED),
        ({"properties": {"a": _TEXT}, "x-kubernetes-preserve-unknown-fields": True}, False, DEDUCED),
    ],
)
def test_objects(schema: dict[str, Any], atomic: bool, element: Any) -> None:
    of = field({"type": "object", **schema})
    assert (of.atomic, of.element) == (atomic, element)


def test_keeping_unknown_fields_goes_for_all_below() -> None:
    of = field(
        {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"a": {"type": "object", "properties": {"b": _TEXT}}},
        }
    )
    assert at(of, "a").element is DEDUCED
    assert custom_type_of({"type": "object", "properties": {"a": _TEXT}}, preserve_unknown=True).element is DEDUCED


def test_anything_may_be_any_shape() -> None:
    of = field({"x-kubernetes-int-or-string": True})
    assert isinstance(of, Either)
    assert (of.scalar, of.list.atomic, of.map.element) == (UNTYPED, True, DEDUCED)


class TestCustomKinds:
    def test_metadata_is_object_meta_whatever_the_schema_says(self) -> None:
        of = custom_type_of({"type": "object", "properties": {"metadata": {"type": "object"}}})
        assert at(of, "metadata") is OBJECT_META
        assert at(of, "apiVersion") is at(of, "kind") is STRING

    def test_object_meta(self) -> None:
        assert at(OBJECT_META, "ownerReferences").keys == ("uid",)
        assert at(OBJECT_META, "ownerReferences", "[]").atomic
        assert (at(OBJECT_META, "finalizers").atomic, at(OBJECT_META, "finalizers").keys) == (False, ())
        assert at(OBJECT_META, "managedFields").atomic
        assert (at(OBJECT_META, "labels").atomic, at(OBJECT_META, "labels").element) == (False, STRING)

    def test_object_meta_is_that_of_built_in_kinds(self) -> None:
        assert _shape(OBJECT_META, skip=("managedFields",)) == _shape(
            at(pod_type(), "metadata"), skip=("managedFields",)
        )

    def test_a_kind_within_a_kind_has_metadata_too(self) -> None:
        of = field(
            {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
        )
        assert at(of, "metadata") is OBJECT_META
        assert of.element is DEDUCED

    def test_without_a_schema_anything_goes(self) -> None:
        assert custom_type_of(None) is DEDUCED.map

    def test_defaults_of_list_keys_count(self) -> None:
        ports = at(raycluster_type(), "spec", "headGroupSpec", "template", "spec", "containers", "[]", "ports")
        assert ports.key({"containerPort": 80}) == 'k:{"containerPort":80,"protocol":"TCP"}'

    def test_a_new_custom_object_is_compared_with_nothing(self) -> None:
        assert raycluster_type().zero == {}


class TestBuiltInKinds:
    def test_references_are_followed(self) -> None:
        assert at(pod_type(), "spec", "containers").keys == ("name",)
        assert at(pod_type(), "spec", "nodeSelector").atomic
        assert isinstance(at(pod_type(), "spec", "containers", "[]", "resources", "limits").element, Scalar)

    def test_ports_have_a_default_protocol(self) -> None:
        assert at(service_type(), "spec", "ports").key({"port": 80}) == 'k:{"port":80,"protocol":"TCP"}'
        assert at(service_type(), "spec", "ports").key({}) == 'k:{"port":0,"protocol":"TCP"}'

    def test_a_definition_is_one_type_wherever_it_is_used(self) -> None:
        deployment = built_in("io.k8s.api.apps.v1.Deployment")
        assert at(deployment, "spec", "template", "spec") is at(pod_type(), "spec")

    def test_a_definition_may_hold_itself(self) -> None:
        crd = built_in("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition")
        schema = at(crd, "spec", "versions", "[]", "schema", "openAPIV3Schema")
        assert at(schema, "properties").element is schema

    def test_new_objects_are_compared_with_what_empty_ones_show(self) -> None:
        deployment = built_in("io.k8s.api.apps.v1.Deployment").zero
        assert deployment["spec"]["template"]["spec"]["containers"] is None
        assert deployment["spec"]["selector"] is None
        assert deployment["spec"]["strategy"] == {}
        assert "volumes" not in deployment["spec"]["template"]["spec"]
        event = built_in("io.k8s.api.core.v1.Event").zero
        assert (event["reportingComponent"], event["eventTime"]) == ("", None)
        assert built_in("io.k8s.api.rbac.v1.ClusterRole").zero["rules"] is None
        assert built_in("io.k8s.api.networking.v1.NetworkPolicy").zero["spec"]["podSelector"] == {}

    def test_a_reference_may_say_that_it_is_atomic(self) -> None:
        shared = {"type": "object", "properties": {"a": _TEXT, "self": {"$ref": "#/x/Shared"}}, "required": ["a"]}
        of = type_of(
            {
                "type": "object",
                "properties": {
                    "plain": {"$ref": "#/x/Shared"},
                    "whole": {"allOf": [{"$ref": "#/x/Shared"}], "x-kubernetes-map-type": "atomic", "default": {}},
                },
            },
            {"Shared": shared}.get,
        )
        assert (at(of, "plain").atomic, at(of, "whole").atomic) == (False, True)
        assert at(of, "whole").fields == at(of, "plain").fields
        assert of.zero == {"whole": {"a": None}}

    def test_a_name_that_nobody_knows_is_anything(self) -> None:
        of = type_of({"type": "object", "properties": {"a": {"$ref": "#/x/Unknown"}}})
        assert at(of, "a") is DEDUCED

    def test_raw_extensions_are_owned_as_a_whole(self) -> None:
        name = "io.k8s.apimachinery.pkg.runtime.RawExtension"
        assert at(type_of({"type": "object", "properties": {"a": {"$ref": f"#/{name}"}}}), "a") is ATOMIC


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": "array"}])
def test_a_kind_is_an_object(schema: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        type_of(schema)


def test_depth_is_limited() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(MAX_DEPTH + 1):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(SchemaError):
        custom_type_of(schema)


def _shape(of: Any, skip: tuple[str, ...] = ()) -> Any:
    if isinstance(of, Map):
        fields = {name: (_shape(each.type), each.default) for name, each in of.fields.items() if name not in skip}
        return (fields, of.atomic, None if of.element in (None, DEDUCED) else _shape(of.element))
    if isinstance(of, List):
        return (of.keys, of.atomic, _shape(of.element))
    return of.kind if isinstance(of, Scalar) else "any"
