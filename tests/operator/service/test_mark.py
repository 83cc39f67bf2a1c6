"""What a RayService applied to a Service is known, and removed when it is no longer asked for."""

from __future__ import annotations

import copy
import json
from typing import Any, Final

import msgspec
import pytest

from rayward.kinds import labels
from rayward.kube.core.service import Service
from rayward.kube.machinery.patch import merge_patch
from rayward.operator.service import mark

Object = dict[str, Any]

_SELECTOR: Final = {labels.CLUSTER: "svc-abcde", labels.SERVE: "true"}
_PORTS: Final = [{"name": "serve", "port": 8000, "protocol": "TCP", "targetPort": 8000}]


def _body(**spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "svc-serve-svc", "labels": {labels.SERVE: "svc-serve"}, "annotations": {}},
        "spec": {"selector": dict(_SELECTOR), "ports": _PORTS, **spec},
    }


def _older() -> Object:
    """A Service as Rayward at 1f7b8d2 wrote it, for a spec that had a label, an annotation and a field more."""
    given = {
        "labels": [labels.SERVE, "team"],
        "annotations": ["note"],
        "spec": ["ports", "selector", "sessionAffinity", "type"],
    }
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "svc-serve-svc",
            "uid": "u",
            "labels": {labels.SERVE: "svc-serve", "team": "x", "theirs": "stays"},
            "annotations": {
                "rayward.dev/applied-for-service": "0123456789abcdef",
                "rayward.dev/given-by-service": json.dumps(given),
                "note": "gone soon",
                "rayward.dev/serving": "pod-1",
            },
        },
        "spec": {
            "selector": dict(_SELECTOR),
            "ports": _PORTS,
            "type": "NodePort",
            "sessionAffinity": "ClientIP",
            "clusterIP": "10.0.0.1",
        },
    }


def _typed(found: Object) -> Service:
    return msgspec.convert(found, Service)


def _applied(found: Object, body: Object) -> Object:
    change = mark.change(_typed(found), body)
    assert change is not None
    del change["metadata"]["uid"]
    return merge_patch.apply(found, change)


def test_a_service_of_an_older_rayward_loses_what_is_no_longer_asked_for_and_keeps_the_rest() -> None:
    after = _applied(_older(), _body())

    assert after["metadata"]["labels"] == {labels.SERVE: "svc-serve", "theirs": "stays"}
    assert after["metadata"]["annotations"].keys() == {labels.APPLIED_FOR_SERVICE, labels.SERVING}
    assert after["spec"] == {"selector": _SELECTOR, "ports": _PORTS, "clusterIP": "10.0.0.1"}


def test_the_selector_of_a_service_of_an_older_rayward_is_not_touched_because_of_its_mark() -> None:
    change = mark.change(_typed(_older()), _body())

    assert change is not None
    assert "selector" not in change["spec"]


def test_the_mark_of_an_older_rayward_is_replaced_once() -> None:
    after = _applied(_older(), _body())

    assert mark.change(_typed(after), _body()) is None


@pytest.mark.parametrize("given", ["{", "[]", '{"labels": 3}'], ids=["cut", "list", "number"])
def test_a_damaged_record_of_an_older_rayward_removes_nothing(given: str) -> None:
    found = _older()
    found["metadata"]["annotations"]["rayward.dev/given-by-service"] = given

    assert _applied(found, _body())["metadata"]["labels"]["team"] == "x"


def test_what_is_taken_back_is_removed_and_what_others_wrote_stays() -> None:
    wish = _body(type="NodePort")
    wish["metadata"]["labels"]["team"] = "x"
    found = mark.marked(wish)
    found["metadata"]["labels"]["theirs"] = "stays"
    found["spec"] = {**found["spec"], "clusterIP": "10.0.0.1"}
    before = copy.deepcopy(found)

    after = _applied(found, _body())

    assert found == before
    assert after["metadata"]["labels"] == {labels.SERVE: "svc-serve", "theirs": "stays"}
    assert after["spec"] == {"selector": _SELECTOR, "ports": _PORTS, "clusterIP": "10.0.0.1"}


def test_a_selector_is_replaced_as_a_whole() -> None:
    found = mark.marked(_body())
    found["spec"]["selector"] = {labels.CLUSTER: "other", "extra": "label"}

    assert _applied(found, _body())["spec"]["selector"] == _SELECTOR
    change = mark.selector_change(_typed(found), _body())
    assert change is not None
    assert merge_patch.apply(found["spec"], change["spec"])["selector"] == _SELECTOR
