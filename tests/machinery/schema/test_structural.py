"""What kube-apiserver would not take as a schema of a CRD version."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kube.machinery.schema import structural


def _said(schema: Any, **options: Any) -> list[str]:
    errors = structural.check(schema, "spec.validation", **options)
    return [str(error).removeprefix("spec.validation.openAPIV3Schema") for error in errors]


def _spec(spec: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": spec}}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param({}, ".type: Required value: must not be empty for specified object fields", id="no-type"),
        pytest.param({"type": "array"}, ".items: Required value: must be specified", id="no-items"),
        pytest.param({"type": "string", "anyOf": [{"type": "string"}]},
                     ".anyOf[0].type: Forbidden: must be empty to be structural", id="type-in-logic"),
        pytest.param({"type": "array", "items": {"type": "string"}, "uniqueItems": True},
                     ".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes "
                     "quadratic", id="unique"),
        pytest.param({"type": "integer", "minimum": 5, "default": 1},
                     ".default: Invalid value: 1: spec in body should be greater than or equal to 5", id="bad-default"),
        pytest.param({"type": "string", "x-kubernetes-validations": [{"rule": "self.all(x, true)"}]},
                     '.x-kubernetes-validations[0].rule: Invalid value: {"Rule":"self.all(x, true)","Message":"",'
                     '"MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: '
                     "ERROR: <input>:1:1: expression of type 'string' cannot be range of a comprehension (must be "
                     "list, map, or dynamic)\n | self.all(x, true)\n | ^", id="rule"),
    ],
)  # fmt: skip
def test_a_bad_schema_is_refused(spec: dict[str, Any], said: str) -> None:
    expected = f".properties[spec]{said}"
    if "default" in spec:
        expected = expected.replace("spec in body", " in body")
    assert _said(_spec(spec)) == [expected]


def test_a_condition_speaks_only_of_what_is_declared() -> None:
    root = {"type": "object", "anyOf": [{"required": ["a"], "properties": {"a": {"minLength": 1}}}]}
    (said,) = _said(root)
    where = "spec.validation.openAPIV3Schema.anyOf[0].properties[a]"
    assert said == f".properties[a]: Required value: because it is defined in {where}"


def test_unbounded_nested_loops_cost_too_much() -> None:
    rule = {"rule": "self.all(a, self.all(b, a == b))"}
    said = _said(_spec({"type": "array", "items": {"type": "string"}, "x-kubernetes-validations": [rule]}))
    assert said[0] == (
        ".properties[spec].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by "
        "factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where "
        "arrays, maps, and strings are declared)"
    )
    bounded = {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 10}}
    assert _said(_spec({**bounded, "x-kubernetes-validations": [rule]})) == []


def test_many_affordable_rules_can_be_too_many_together() -> None:
    level = {
        "type": "array",
        "maxItems": 100,
        "items": {"type": "string", "maxLength": 1000},
        "x-kubernetes-validations": [{"rule": "self.all(a, self.all(b, a == b))"}],
    }
    spec = {"type": "object", "properties": {f"p{place}": level for place in range(60)}}
    said = _said(_spec(spec))
    assert len(said) == 5
    assert said[-1].startswith(
        ": Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget "
        "by factor of "
    )


def test_the_root_may_say_less_beside_a_status_subresource() -> None:
    root = {**_spec({"type": "object"}), "maxProperties": 3}
    assert _said(root) == []
    (said,) = _said(root, status_subresource=True)
    assert said.endswith("fields are allowed at the root of the schema if the status subresource is enabled")


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ([], "a schema must be an object"),
        ({"type": 5}, "type must be a string"),
        ({"type": "object", "properties": []}, "properties must hold schemas"),
        ({"type": "object", "properties": {"a": {"maxLength": "x"}}}, "maxLength must be an integer"),
        ({"type": "object", "x-kubernetes-validations": ["x"]}, "x-kubernetes-validations must be a list of objects"),
        ({"type": "object", "required": "a"}, "required must be a list of strings"),
        ({"type": "array", "items": [5]}, "a schema must be an object"),
    ],
)
def test_a_schema_that_is_no_schema_is_not_taken_apart(schema: Any, said: str) -> None:
    assert _said(schema) == [f': Invalid value: "": {said}']


def test_a_schema_nested_without_end_is_refused() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(5000):
        schema = {"type": "object", "properties": {"a": schema}}
    assert _said(schema) == [': Invalid value: "": schemas must not be nested more than 100 deep']
