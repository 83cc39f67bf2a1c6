from __future__ import annotations

from typing import Any

import msgspec
import orjson
import pytest

from rayward.kube.client import verbs
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import METADATA, Request
from rayward.kube.core.resource import NODES, PODS

POD = {"metadata": {"name": "p", "namespace": "a"}}


@pytest.mark.parametrize(
    ("request_", "method", "target"),
    [
        pytest.param(verbs.get(PODS, "p", "a"), "GET", "/api/v1/namespaces/a/pods/p", id="get"),
        pytest.param(
            verbs.get(PODS, "p", "a", subresource="log"), "GET", "/api/v1/namespaces/a/pods/p/log", id="get log"
        ),
        pytest.param(
            verbs.list_(PODS, label_selector="a=b,c in (d)", limit=5, continue_token="x+y"),
            "GET",
            "/api/v1/pods?labelSelector=a%3Db%2Cc+in+%28d%29&limit=5&continue=x%2By",
            id="list",
        ),
        pytest.param(
            verbs.watch(PODS, "a", resource_version="7", allow_watch_bookmarks=True, timeout_seconds=9),
            "GET",
            "/api/v1/namespaces/a/pods?resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=9&watch=true",
            id="watch",
        ),
        pytest.param(
            verbs.create(PODS, POD, field_manager="me", dry_run=True, field_validation="Strict"),
            "POST",
            "/api/v1/namespaces/a/pods?fieldManager=me&fieldValidation=Strict&dryRun=All",
            id="create takes the namespace from the object",
        ),
        pytest.param(verbs.create(NODES, {"metadata": {}}), "POST", "/api/v1/nodes", id="create cluster-wide"),
        pytest.param(verbs.update(PODS, POD), "PUT", "/api/v1/namespaces/a/pods/p", id="update"),
        pytest.param(
            verbs.update(PODS, b"{}", "q", "b", subresource="status"),
            "PUT",
            "/api/v1/namespaces/b/pods/q/status",
            id="update bytes",
        ),
        pytest.param(
            verbs.apply(PODS, POD, "me", force=True),
            "PATCH",
            "/api/v1/namespaces/a/pods/p?fieldManager=me&force=true",
            id="apply",
        ),
        pytest.param(verbs.delete(PODS, "p", "a"), "DELETE", "/api/v1/namespaces/a/pods/p", id="delete"),
        pytest.param(
            verbs.delete_collection(PODS, "a", label_selector="x", grace_period_seconds=0),
            "DELETE",
            "/api/v1/namespaces/a/pods?labelSelector=x",
            id="delete collection",
        ),
        pytest.param(verbs.scale(PODS, "p", 3, "a"), "PATCH", "/api/v1/namespaces/a/pods/p/scale", id="scale"),
        pytest.param(verbs.evict("p", "a"), "POST", "/api/v1/namespaces/a/pods/p/eviction", id="evict"),
        pytest.param(verbs.bind("p", "a", "n"), "POST", "/api/v1/namespaces/a/pods/p/binding", id="bind"),
        pytest.param(verbs.token("s", "a", {}), "POST", "/api/v1/namespaces/a/serviceaccounts/s/token", id="token"),
    ],
)
def test_where_a_verb_goes(request_: Request, method: str, target: str) -> None:
    assert (request_.method, request_.target) == (method, target)


@pytest.mark.parametrize(
    ("options", "body"),
    [
        pytest.param({}, None, id="nothing to say"),
        pytest.param({"grace_period_seconds": 0}, {"gracePeriodSeconds": 0}, id="grace"),
        pytest.param({"propagation_policy": "Orphan"}, {"propagationPolicy": "Orphan"}, id="policy"),
        pytest.param({"dry_run": True}, {"dryRun": ["All"]}, id="dry run"),
        pytest.param({"uid": "u"}, {"preconditions": {"uid": "u"}}, id="uid"),
        pytest.param(
            {"uid": "u", "resource_version": "3"},
            {"preconditions": {"uid": "u", "resourceVersion": "3"}},
            id="uid and version",
        ),
    ],
)
def test_what_a_delete_says(options: Any, body: dict[str, Any] | None) -> None:
    sent = verbs.delete(PODS, "p", "a", **options).body
    expected = None if body is None else {"kind": "DeleteOptions", "apiVersion": "v1", **body}
    assert (None if sent is None else orjson.loads(sent)) == expected


@pytest.mark.parametrize(
    ("request_", "repeatable"),
    [
        pytest.param(verbs.get(PODS, "p", "a"), True, id="get"),
        pytest.param(verbs.list_(PODS), True, id="list"),
        pytest.param(verbs.apply(PODS, POD, "me"), True, id="apply"),
        pytest.param(verbs.patch(PODS, "p", {}, PatchType.MERGE, "a"), False, id="merge patch"),
        pytest.param(verbs.create(PODS, POD), False, id="create"),
        pytest.param(verbs.update(PODS, POD), False, id="update"),
        pytest.param(verbs.delete(PODS, "p", "a"), False, id="delete"),
    ],
)
def test_what_may_be_sent_twice(request_: Request, repeatable: bool) -> None:
    assert request_.repeatable is repeatable


class _Struct(msgspec.Struct):
    a: int


class _Foreign:
    def to_dict(self) -> dict[str, Any]:
        return {"a": 1}


@pytest.mark.parametrize("body", [{"a": 1}, b'{"a":1}', _Struct(1), _Foreign()], ids=lambda body: type(body).__name__)
def test_bodies_may_come_in_any_form(body: Any) -> None:
    assert verbs.encode(body) == b'{"a":1}'


@pytest.mark.parametrize("kind", list(PatchType), ids=lambda kind: kind.name)
def test_a_patch_says_its_type(kind: PatchType) -> None:
    assert verbs.patch(PODS, "p", {}, kind, "a").content_type == kind.value


def test_metadata_alone_may_be_asked_for() -> None:
    assert verbs.get(PODS, "p", "a", accept=METADATA).accept.startswith("application/json;as=PartialObjectMetadata")
