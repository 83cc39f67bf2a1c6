"""JSON Patch (RFC 6902)."""

from __future__ import annotations

from typing import Any

from tests.contract.case import JSON_PATCH, Step, case, create, get, json_patch
from tests.contract.objects import configmap, container, pod, raycluster, worker_group

_START = create("configmaps", configmap("c", {"a": "1", "b": "2"}, labels={"x/y": "1", "z": "2"}))


def _raw(path: str, body: str | bytes) -> Step:
    return Step("PATCH", json_patch(path).path, body, {"Content-Type": JSON_PATCH})


def _op(op: str, path: str, **rest: Any) -> dict[str, Any]:
    return {"op": op, "path": path, **{key.strip("_"): value for key, value in rest.items()}}


CASES = [
    case(
        "add, replace and remove",
        _START,
        json_patch(
            "configmaps/c",
            _op("add", "/data/c", value="3"),
            _op("replace", "/data/a", value="x"),
            _op("remove", "/data/b"),
        ),
        get("configmaps/c"),
    ),
    case(
        "move and copy",
        _START,
        json_patch("configmaps/c", _op("move", "/data/m", from_="/data/a"), _op("copy", "/data/n", from_="/data/b")),
    ),
    case(
        "a test that holds lets the rest through",
        _START,
        json_patch("configmaps/c", _op("test", "/data/a", value="1"), _op("replace", "/data/a", value="x")),
    ),
    case(
        "a test that fails refuses all",
        _START,
        json_patch("configmaps/c", _op("replace", "/data/b", value="x"), _op("test", "/data/a", value="no")),
        get("configmaps/c"),
    ),
    case("escapes in paths", _START, json_patch("configmaps/c", _op("replace", "/metadata/labels/x~1y", value="new"))),
    case(
        "escapes of tildes in paths",
        create("rayclusters", raycluster("r")),
        json_patch(
            "rayclusters/r",
            _op("add", "/spec/headGroupSpec/rayStartParams/a~0b", value="1"),
            _op("add", "/spec/headGroupSpec/rayStartParams/a~1b", value="2"),
        ),
    ),
    case(
        "appending to and inserting into a list",
        create("rayclusters", raycluster("r", workerGroupSpecs=[worker_group("a")])),
        json_patch(
            "rayclusters/r",
            _op("add", "/spec/workerGroupSpecs/-", value=worker_group("c")),
            _op("add", "/spec/workerGroupSpecs/1", value=worker_group("b")),
        ),
    ),
    case(
        "removing and replacing list items",
        create("rayclusters", raycluster("r", workerGroupSpecs=[worker_group("a"), worker_group("b")])),
        json_patch(
            "rayclusters/r",
            _op("remove", "/spec/workerGroupSpecs/0"),
            _op("replace", "/spec/workerGroupSpecs/0/replicas", value=4),
        ),
    ),
    case(
        "an index past the end is refused",
        create("rayclusters", raycluster("r", workerGroupSpecs=[worker_group("a")])),
        json_patch("rayclusters/r", _op("add", "/spec/workerGroupSpecs/5", value=worker_group("c"))),
    ),
    case(
        "a negative index",
        create("rayclusters", raycluster("r", workerGroupSpecs=[worker_group("a")])),
        json_patch("rayclusters/r", _op("remove", "/spec/workerGroupSpecs/-1")),
    ),
    case("an empty list of operations changes nothing", _START, json_patch("configmaps/c")),
    case("remove of what is not there is refused", _START, json_patch("configmaps/c", _op("remove", "/data/nothing"))),
    case(
        "replace of what is not there is refused",
        _START,
        json_patch("configmaps/c", _op("replace", "/data/nothing", value="1")),
    ),
    case(
        "add below what is not there is refused",
        _START,
        json_patch("configmaps/c", _op("add", "/nothing/below", value="1")),
    ),
    case(
        "copy from what is not there is refused",
        _START,
        json_patch("configmaps/c", _op("copy", "/data/c", from_="/data/nothing")),
    ),
    case(
        "move from what is not there is refused",
        _START,
        json_patch("configmaps/c", _op("move", "/data/c", from_="/data/nothing")),
    ),
    case(
        "an unknown operation is refused", _START, json_patch("configmaps/c", _op("frobnicate", "/data/a", value="1"))
    ),
    case("an operation without a path", _START, json_patch("configmaps/c", {"op": "add", "value": "1"})),
    case("an operation without a name", _START, json_patch("configmaps/c", {"path": "/data/a", "value": "1"})),
    case("an add without a value", _START, json_patch("configmaps/c", _op("add", "/data/c"))),
    case("a test without a value", _START, json_patch("configmaps/c", _op("test", "/data/nothing"))),
    case("a path without a slash", _START, json_patch("configmaps/c", _op("add", "data", value={}))),
    case("an object instead of a list is refused", _START, _raw("configmaps/c", '{"op": "add"}')),
    case("a body that is no JSON is refused", _START, _raw("configmaps/c", "[{")),
    case("an empty body is refused", _START, _raw("configmaps/c", "")),
    case("a list of strings is refused", _START, _raw("configmaps/c", '["add"]')),
    case(
        "10,001 operations are refused",
        _START,
        json_patch("configmaps/c", *[_op("test", "/data/a", value="1")] * 10_001),
    ),
    case("a value of a wrong type is refused", _START, json_patch("configmaps/c", _op("add", "/data/n", value=5))),
    case(
        "a null value is an empty string to a typed kind",
        _START,
        json_patch("configmaps/c", _op("add", "/data/n", value=None)),
    ),
    case("the name cannot be changed", _START, json_patch("configmaps/c", _op("replace", "/metadata/name", value="d"))),
    case(
        "the namespace cannot be changed",
        _START,
        json_patch("configmaps/c", _op("replace", "/metadata/namespace", value="default")),
    ),
    case(
        "the uid cannot be changed",
        _START,
        json_patch("configmaps/c", _op("replace", "/metadata/uid", value="11111111-1111-1111-1111-111111111111")),
    ),
    case(
        "a resource version in the patch is a precondition",
        _START,
        json_patch(
            "configmaps/c", _op("replace", "/metadata/resourceVersion", value="1"), _op("replace", "/data/a", value="x")
        ),
    ),
    case("the kind cannot be changed", _START, json_patch("configmaps/c", _op("replace", "/kind", value="Secret"))),
    case(
        "the version cannot be changed", _START, json_patch("configmaps/c", _op("replace", "/apiVersion", value="v2"))
    ),
    case(
        "replacing the whole document",
        _START,
        json_patch("configmaps/c", _op("replace", "", value=configmap("c", {"z": "1"}))),
    ),
    case(
        "a patched object is validated",
        create("pods", pod("p", container())),
        json_patch("pods/p", _op("replace", "/spec/containers/0/image", value="")),
    ),
    case(
        "an unknown field is dropped with a warning",
        _START,
        json_patch("configmaps/c", _op("add", "/unknown", value="1")),
    ),
    case(
        "an unknown field is refused when strict",
        _START,
        json_patch("configmaps/c", _op("add", "/unknown", value="1"), fieldValidation="Strict"),
    ),
    case(
        "managed fields can be cleared",
        _START,
        json_patch("configmaps/c", _op("replace", "/metadata/managedFields", value=[{}])),
        json_patch("configmaps/c", _op("add", "/data/x", value="1")),
    ),
    case(
        "a status patch leaves the spec alone",
        create("pods", pod("p")),
        json_patch(
            "pods/p/status",
            _op("replace", "/status/phase", value="Running"),
            _op("add", "/spec/activeDeadlineSeconds", value=5),
        ),
    ),
]
