"""JSON patch: RFC 6902 as kube-apiserver applies it."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kube.machinery.patch import PatchError, json_patch

Object = dict[str, Any]
DOC: Object = {"a": {"b": [1, 2, 3], "c": "x"}, "x/y": 1, "m~n": 2, "nothing": None, "": {"": 5}}


def op(name: str, path: str, **more: Any) -> Object:
    return {"op": name, "path": path, **more}


def refusal(operations: Any, doc: Object = DOC) -> PatchError:
    with pytest.raises(PatchError) as refused:
        json_patch.apply(doc, operations)
    return refused.value


@pytest.mark.parametrize(
    ("doc", "operation", "result"),
    [
        ({}, op("add", "/a", value=1), {"a": 1}),
        ({"a": 1}, op("add", "/a", value=2), {"a": 2}),
        ({}, op("add", "/a"), {"a": None}),
        ({"a": [1]}, op("add", "/a/0", value=0), {"a": [0, 1]}),
        ({"a": [1]}, op("add", "/a/1", value=2), {"a": [1, 2]}),
        ({"a": [1]}, op("add", "/a/-", value=2), {"a": [1, 2]}),
        ({"a": [1, 3]}, op("add", "/a/-2", value=2), {"a": [1, 2, 3]}),
        ({}, op("add", "/x~1y~0z", value=1), {"x/y~z": 1}),
        ({}, op("add", "/", value=1), {"": 1}),
        ({"a": {"b": 1}}, op("remove", "/a/b"), {"a": {}}),
        ({"a": [1, 2, 3]}, op("remove", "/a/1"), {"a": [1, 3]}),
        ({"a": [1, 2, 3]}, op("remove", "/a/-1"), {"a": [1, 2]}),
        ({"a": 1}, op("replace", "/a", value=2), {"a": 2}),
        ({"a": [1, 2]}, op("replace", "/a/1", value=3), {"a": [1, 3]}),
        ({}, op("replace", "/new", value=1), {"new": 1}),
        ({"a": 1}, op("replace", "", value={"b": 2}), {"b": 2}),
        ({"a": 1}, op("replace", "", value=[1]), [1]),
        ({"a": 1}, op("move", "/b", **{"from": "/a"}), {"b": 1}),
        ({"a": [1, 2]}, op("move", "/a/0", **{"from": "/a/1"}), {"a": [2, 1]}),
        ({"a": {"b": 1}}, op("copy", "/c", **{"from": "/a"}), {"a": {"b": 1}, "c": {"b": 1}}),
        ({}, op("copy", "/b", **{"from": "/a"}), {"b": None}),
        ({"a": [{"b": 1}]}, op("test", "/a/0/b", value=1), {"a": [{"b": 1}]}),
        ({"a": [1, {"b": None}]}, op("test", "", value={"a": [1, {"b": None}]}), {"a": [1, {"b": None}]}),
        ({}, op("test", "/a", value=None), {}),
        ({"a": None}, op("test", "/a"), {"a": None}),
    ],
)
def test_one_operation(doc: Object, operation: Object, result: Any):
    assert json_patch.apply(doc, [operation]) == result


def test_operations_build_on_each_other():
    operations = [
        op("add", "/list", value=[{"n": 1}]),
        op("copy", "/list/-", **{"from": "/list/0"}),
        op("replace", "/list/1/n", value=2),
        op("move", "/moved", **{"from": "/list/0"}),
        op("add", "/moved/m", value=3),
    ]
    assert json_patch.apply({}, operations) == {"list": [{"n": 2}], "moved": {"n": 1, "m": 3}}
    assert operations[0]["value"] == [{"n": 1}]


def test_no_operations_change_nothing():
    assert json_patch.apply(DOC, []) is DOC
    assert json_patch.apply(DOC, None) is DOC


@pytest.mark.parametrize(
    ("operation", "detail"),
    [
        (
            op("add", "/no/where", value=1),
            'add operation does not apply: doc is missing path: "/no/where": missing value',
        ),
        (
            op("add", "/nothing/x", value=1),
            'add operation does not apply: doc is missing path: "/nothing/x": missing value',
        ),
        (op("add", "/a/c/x", value=1), 'add operation does not apply: doc is missing path: "/a/c/x": missing value'),
        (op("add", "", value=1), 'add operation does not apply: doc is missing path: "": missing value'),
        (op("add", "a", value=1), 'add operation does not apply: doc is missing path: "a": missing value'),
        (
            op("add", "/a/b/4", value=1),
            "error in add for path: '/a/b/4': Unable to access invalid index: 4: invalid index referenced",
        ),
        (
            op("add", "/a/b/x", value=1),
            (
                "error in add for path: '/a/b/x': value was not a proper array index: 'x': "
                'strconv.Atoi: parsing "x": invalid syntax'
            ),
        ),
        ({"op": "add"}, "add operation failed to decode path: missing value"),
        (
            op("remove", "/gone"),
            "error in remove for path: '/gone': Unable to remove nonexistent key: gone: missing value",
        ),
        (
            op("remove", "/a/b/3"),
            "error in remove for path: '/a/b/3': Unable to access invalid index: 3: invalid index referenced",
        ),
        (op("remove", ""), 'remove operation does not apply: doc is missing path: "": missing value'),
        (
            op("replace", "/a/b/3", value=1),
            "replace operation does not apply: doc is missing key: /a/b/3: missing value",
        ),
        (op("replace", "", value=1), "replace operation value must be object or array: %!w(<nil>)"),
        (
            op("move", "/z", **{"from": "/gone"}),
            "error in move for path: 'gone': Unable to remove nonexistent key: gone: missing value",
        ),
        (op("move", "/z"), "move operation failed to decode from: operation, missing from field: missing value"),
        (
            op("copy", "/no/where", **{"from": "/a"}),
            "copy operation does not apply: doc is missing destination path: /no/where: missing value",
        ),
        (op("test", "/x~1y", value=2), "testing value /x~1y failed: test failed"),
        (op("test", "/x~1y", value=True), "testing value /x~1y failed: test failed"),
        (op("test", "/x~1y", value=1.0), "testing value /x~1y failed: test failed"),
        (op("test", "/a", value=None), "testing value /a failed: test failed"),
        (op("test", "/no/where"), "test operation does not apply: is missing path: /no/where: missing value"),
        (op("delete", "/a"), "Unexpected kind: delete"),
        ({"path": "/a"}, "Unexpected kind: unknown"),
        (None, "Unexpected kind: unknown"),
    ],
)
def test_an_operation_that_does_not_apply(operation: Any, detail: str):
    error = refusal([operation])
    assert (error.code, error.reason, error.detail) == (422, "Invalid", detail)
    assert error.message == "the server rejected our request due to an error in our request"


@pytest.mark.parametrize(
    ("operations", "text"),
    [
        ({}, "object into Go value of type []handlers.jsonPatchOp"),
        ("add", "string into Go value of type []handlers.jsonPatchOp"),
        ([5], "number into Go value of type handlers.jsonPatchOp"),
        ([[]], "array into Go value of type handlers.jsonPatchOp"),
        ([{"op": 5}], "number into Go struct field jsonPatchOp.op of type string"),
        ([{"op": "add", "path": {}}], "object into Go struct field jsonPatchOp.path of type string"),
        ([{"op": "copy", "path": "/a", "from": True}], "bool into Go struct field jsonPatchOp.from of type string"),
    ],
    ids=["object", "text", "number inside", "list inside", "op", "path", "from"],
)
def test_what_is_no_patch(operations: Any, text: str):
    error = refusal(operations)
    assert (error.code, error.reason) == (400, "BadRequest")
    assert error.message == f"error decoding patch: json: cannot unmarshal {text}"


def test_ten_thousand_operations_are_enough():
    many = [op("test", "/a/c", value="x")] * 10_000
    assert json_patch.apply(DOC, many) == DOC
    error = refusal([*many, many[0]])
    assert (error.code, error.reason) == (413, "RequestEntityTooLarge")
    assert error.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


def test_copies_cannot_grow_a_document_without_bound():
    doubling = [op("copy", "/a/-", **{"from": "/a"})] * 200
    error = refusal(doubling, {"a": ["some text"]})
    assert error.code == 422
    assert error.detail.startswith("Unable to complete the copy, the accumulated size increase of copy is ")


def test_a_failing_operation_leaves_nothing_of_the_others():
    doc = copy.deepcopy(DOC)
    refusal([op("remove", "/a/b/0"), op("add", "/a/b/-", value=9), op("test", "/a/c", value="y")], doc)
    assert doc == DOC


def test_what_is_not_on_the_way_is_shared():
    patched = json_patch.apply(DOC, [op("add", "/a/d", value=1)])
    assert patched["a"]["b"] is DOC["a"]["b"]


keys = st.sampled_from(["a", "b", "c", "x/y", "m~n", ""])
scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.text("st", max_size=2)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3))
documents = st.dictionaries(keys, values, min_size=1, max_size=4)
pointers = st.lists(keys | st.sampled_from(["0", "1", "-", "-1"]), min_size=1, max_size=3).map(
    lambda parts: "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
)
operations_of_any_kind = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]), "path": pointers},
        optional={"from": pointers, "value": values},
    ),
    max_size=5,
)


@given(documents, operations_of_any_kind)
def test_inputs_stay_as_they_are(doc: Object, operations: list[Object]):
    before = copy.deepcopy((doc, operations))
    with contextlib.suppress(PatchError):
        json_patch.apply(doc, operations)
    assert (doc, operations) == before


@given(documents, keys, values)
def test_what_is_added_can_be_tested_and_removed(doc: Object, key: str, value: Any):
    path = "/" + key.replace("~", "~0").replace("/", "~1")
    added = json_patch.apply(doc, [op("add", path, value=value), op("test", path, value=value)])
    assert added == {**doc, key: value}
    removed = json_patch.apply(added, [op("remove", path)])
    assert removed == {name: member for name, member in doc.items() if name != key}
