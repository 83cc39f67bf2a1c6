"""Ours says what a real kube-apiserver said."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from rayward.kube.machinery import schema
from rayward.kube.machinery.fielderror import FieldError
from rayward.kube.machinery.schema import structural
from tests.machinery.schema.recording import suites, take, updates, values

_RECORDED = take.recorded()
# The checker must call object types something; the server's names are made up anew every time.
_OBJECT_TYPE = re.compile(r"kubernetes\.schema\.Type\d+")


def _causes(errors: list[FieldError]) -> list[list[str]]:
    return sorted([e.reason.value, e.field, _OBJECT_TYPE.sub("selfType", e.body)] for e in errors)


def _object(spec: Any, metadata: Any = None) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Value",
        "metadata": {"name": "x"} if metadata is None else copy.deepcopy(metadata),
        "spec": copy.deepcopy(spec),
    }


@pytest.fixture(scope="module")
def compiled() -> schema.Schema:
    return schema.compile(values.SCHEMA)


@pytest.mark.parametrize("name", values.FIELDS)
def test_values_are_pruned_defaulted_and_refused_alike(compiled: schema.Schema, name: str) -> None:
    for value, said in zip(values.VALUES, _RECORDED["values"][name], strict=True):
        obj = _object({name: value})
        outcome: dict[str, Any]
        try:
            unknown = compiled.prune(obj)
            compiled.default(obj)
            errors = compiled.validate(obj)
            outcome = {"causes": _causes(errors)} if errors else {"stored": obj["spec"]}
        except schema.MetadataError as error:
            unknown, outcome = [], {"unread": str(error)}
        assert {**outcome, "unknown": unknown} == said, value


def test_metadata_is_read_alike(compiled: schema.Schema) -> None:
    for metadata, said in zip(values.METADATA, _RECORDED["metadata"], strict=True):
        unread, unknown = None, []
        try:
            unknown = compiled.prune(_object({}, metadata))
        except schema.MetadataError as error:
            unread = str(error)
        assert {"unread": unread, "unknown": unknown} == said, metadata


def test_what_did_not_change_is_tolerated_alike() -> None:
    tight = schema.compile(updates.TIGHT)
    old = _object(updates.BEFORE)
    for spec, said in zip(updates.specs(), _RECORDED["updates"], strict=True):
        updated = _causes(tight.validate(_object(spec), copy.deepcopy(old)))
        created = _causes(tight.validate(_object(spec, {"name": "y"})))
        assert {"updated": updated, "created": created} == said, spec


def test_definitions_are_refused_alike() -> None:
    for each, said in zip(suites.definitions(), _RECORDED["definitions"], strict=True):
        assert _causes(structural.check(each, "spec.validation")) == said, each


def test_expressions_compile_and_evaluate_alike() -> None:
    spec, schemas = suites.expressions()
    for each, said in zip(schemas, _RECORDED["expressions"], strict=True):
        rule = each["properties"]["spec"]["x-kubernetes-validations"][0]["rule"]
        assert _causes(structural.check(each, "spec.validation")) == said["definition"], rule
        if "shown" in said:
            assert [e.body for e in schema.compile(each).validate(_object(spec))] == [said["shown"]], rule


def test_rules_are_priced_alike() -> None:
    for each, said in zip(suites.costs(), _RECORDED["costs"], strict=True):
        assert _causes(structural.check(each, "spec.validation")) == said, each
