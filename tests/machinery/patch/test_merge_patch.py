"""JSON merge patch: RFC 7386, with kube-apiserver's answers to what is no patch."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery.patch import PatchError, merge_patch

Object = dict[str, Any]


@pytest.mark.parametrize(
    ("doc", "patch", "result"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": 1}, {"b": None}, {"a": 1}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": 3}}, {"a": {"c": 2, "d": 3}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": {"b": 1}}, {"a": [1]}, {"a": [1]}),
        ({"a": 1}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
        ({"a": None}, {"a": {"b": None}}, {"a": {}}),
        ({"a": 0}, {"a": False}, {"a": False}),
    ],
)
def test_the_patched_document(doc: Object, patch: Object, result: Object):
    assert merge_patch.apply(doc, patch) == result


@pytest.mark.parametrize(
    ("doc", "result"),
    [
        ({}, {"a": [None, {}]}),
        ({"a": [1]}, {"a": [None, {}]}),
        ({"a": {"c": 1}}, {"a": [None, {"b": None}]}),
    ],
    ids=["new", "instead of a list", "instead of an object"],
)
def test_kubernetes_also_drops_nulls_of_objects_in_lists_unless_they_replace_an_object(doc: Object, result: Object):
    assert merge_patch.apply(doc, {"a": [None, {"b": None}]}) == result


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        (None, "Invalid JSON Patch"),
        ([], "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("a", "error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"),
        (1.5, "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}"),
        (True, "error decoding patch: json: cannot unmarshal bool into Go value of type map[string]interface {}"),
    ],
    ids=["null", "list", "text", "number", "truth value"],
)
def test_what_is_no_patch(patch: Any, text: str):
    with pytest.raises(PatchError) as refused:
        merge_patch.apply({}, patch)
    assert (refused.value.code, refused.value.reason, refused.value.message) == (400, "BadRequest", text)


def test_endless_nesting_is_refused():
    patch: Object = {}
    for _ in range(5000):
        patch = {"a": patch}
    with pytest.raises(PatchError, match="exceeded max depth"):
        merge_patch.apply({}, patch)


def test_what_the_patch_does_not_name_is_shared():
    doc: Object = {"a": {"b": 1}, "c": {"d": 2}}
    assert merge_patch.apply(doc, {"a": {"b": 2}})["c"] is doc["c"]


scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
)
objects = st.dictionaries(st.sampled_from("abcd"), values, max_size=4)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(member) for key, member in value.items() if member is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@given(objects, objects)
def test_inputs_stay_as_they_are(doc: Object, patch: Object):
    before = copy.deepcopy((doc, patch))
    merge_patch.apply(doc, patch)
    assert (doc, patch) == before


@given(objects, objects)
def test_a_patch_applied_twice_changes_nothing_more(doc: Object, patch: Object):
    once = merge_patch.apply(doc, without_nulls(patch))
    assert merge_patch.apply(once, without_nulls(patch)) == once


@given(objects)
def test_an_empty_patch_changes_nothing(doc: Object):
    assert merge_patch.apply(doc, {}) == doc


@given(objects, objects)
def test_a_patch_can_turn_any_document_into_any_other(doc: Object, wanted: Object):
    doc, wanted = without_nulls(doc), without_nulls(wanted)
    assert merge_patch.apply(doc, difference(doc, wanted)) == wanted


def difference(doc: Object, wanted: Object) -> Object:
    patch: Object = {key: None for key in doc if key not in wanted}
    for key, value in wanted.items():
        before = doc.get(key)
        patch[key] = difference(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return patch
