"""Whatever comes in, the answer is a Status below 500 and nothing is stored."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from rayward.local.store import Overloaded, Store
from tests.apiserver.crd.test_serving import definition
from tests.apiserver.inprocess import Api, serving

pytestmark = pytest.mark.anyio

_NAMESPACE = "/api/v1/namespaces/default"
_POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
_DIGITS = "9" * 5_000


@pytest.fixture
async def api(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Api]:
    async with serving(tmp_path_factory.mktemp("data")) as api:
        await api.call("POST", f"{_NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}})
        assert (await api.call("POST", f"{_NAMESPACE}/pods", _POD)).code == 201
        yield api


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


_BODIES: list[tuple[str, str, Any]] = [
    *(
        ("POST", "/serviceaccounts/default/token", {"spec": spec})
        for spec in ([], {"audiences": 5}, {"expirationSeconds": "a"}, {"boundObjectRef": "x"})
    ),
    *(("POST", "/pods/p/binding", body) for body in ({"target": 5}, {"metadata": 5, "target": {"name": "n"}})),
    *(("POST", "/pods/p/eviction", {"deleteOptions": options}) for options in (5, {"dryRun": 5}, {"preconditions": 5})),
    *(("DELETE", "/pods/p", body) for body in ({"dryRun": 5}, {"preconditions": {"uid": 5}}, {"orphanDependents": 5})),
    ("PATCH", "/pods/p", _nested(300)),
    ("POST", "/configmaps", {"metadata": {"name": "deep"}, "data": _nested(300)}),
]


@pytest.mark.parametrize(("method", "path", "body"), _BODIES, ids=[f"{m} {p} {str(b)[:40]}" for m, p, b in _BODIES])
async def test_a_body_of_the_wrong_shape_is_refused(api: Api, method: str, path: str, body: Any) -> None:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    assert (await api.call(method, _NAMESPACE + path, body, kind)).code == 400


async def test_a_schema_nested_without_end_is_refused(api: Api) -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(400):
        schema = {"type": "object", "properties": {"a": schema}}
    crd = definition("widgets", {"schema": {"openAPIV3Schema": schema}})
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert (await api.call("POST", path, crd)).code == 400


@pytest.mark.parametrize("query", [f"resourceVersion={_DIGITS}", f"limit={_DIGITS}"], ids=["resourceVersion", "limit"])
async def test_a_number_of_any_length_is_refused(api: Api, query: str) -> None:
    assert (await api.call("GET", f"{_NAMESPACE}/pods?{query}")).code == 400


async def test_a_name_without_end_is_refused(api: Api) -> None:
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    assert (await api.call("POST", path, {"metadata": {"name": "a" * 5_000}})).code == 422


async def test_a_grace_period_without_end_ends_with_the_calendar(api: Api) -> None:
    deleted = await api.call("DELETE", f"{_NAMESPACE}/pods/p?dryRun=All&gracePeriodSeconds={(1 << 63) - 1}")
    assert deleted.code == 200


async def test_a_dry_eviction_leaves_no_mark(api: Api) -> None:
    body = {"metadata": {"name": "p"}, "deleteOptions": {"dryRun": ["All"]}}
    assert (await api.call("POST", f"{_NAMESPACE}/pods/p/eviction", body)).code == 201
    pod = (await api.call("GET", f"{_NAMESPACE}/pods/p")).body
    assert "DisruptionTarget" not in {c["type"] for c in pod["status"].get("conditions", [])}


async def test_an_eviction_of_another_pod_leaves_no_mark(api: Api) -> None:
    body = {"metadata": {"name": "p"}, "deleteOptions": {"preconditions": {"uid": "another"}}}
    assert (await api.call("POST", f"{_NAMESPACE}/pods/p/eviction", body)).code == 409
    pod = (await api.call("GET", f"{_NAMESPACE}/pods/p")).body
    assert "DisruptionTarget" not in {c["type"] for c in pod["status"].get("conditions", [])}


async def test_an_eviction_of_one_version_is_not_stopped_by_its_own_mark(api: Api) -> None:
    version = (await api.call("GET", f"{_NAMESPACE}/pods/p")).body["metadata"]["resourceVersion"]
    body = {"metadata": {"name": "p"}, "deleteOptions": {"preconditions": {"resourceVersion": version}}}
    assert (await api.call("POST", f"{_NAMESPACE}/pods/p/eviction", body)).code == 201


async def test_a_dry_run_shows_what_was_sent(api: Api) -> None:
    data = {"a": "b", "resourceVersion": "0"}
    shown = await api.call("POST", f"{_NAMESPACE}/configmaps?dryRun=All", {"metadata": {"name": "c"}, "data": data})
    assert shown.body["data"] == data
    assert "resourceVersion" not in shown.body["metadata"]


async def test_a_server_whose_disk_is_behind_asks_to_come_again(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise Overloaded("16384 writes wait for the disk")

    monkeypatch.setattr(Store, "put", full)
    refused = await api.call("POST", f"{_NAMESPACE}/configmaps", {"metadata": {"name": "c"}})
    assert (refused.code, refused.body["reason"]) == (429, "TooManyRequests")
