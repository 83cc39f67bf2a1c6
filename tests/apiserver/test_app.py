"""Which methods a path knows."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rayward.local.apiserver.app import App
from rayward.local.store import Overloaded, StoreClosed
from tests.apiserver.inprocess import Answer, serving
from tests.contract.server import Server


@pytest.mark.anyio
@pytest.mark.parametrize(
    "path",
    [
        "/apis/authentication.k8s.io/v1/tokenreviews",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
        "/api/v1/namespaces/default/bindings",
    ],
)
@pytest.mark.parametrize("query", ["", "?watch=1"], ids=["list", "watch"])
async def test_what_can_only_be_created_can_neither_be_listed_nor_watched(
    tmp_path: Path, path: str, query: str
) -> None:
    async with serving(tmp_path) as api:
        answer = await api.call("GET", path + query)
        text = "the server does not allow this method on the requested resource"
        assert (answer.code, answer.body["reason"], answer.body["message"]) == (405, "MethodNotAllowed", text)


_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_UPGRADE = {"Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "c2l4dGVlbiBsZXR0ZXJzIQ=="}


@pytest.mark.anyio
async def test_the_old_path_of_watches_is_no_way_around_the_right_to_more(tmp_path: Path) -> None:
    # Whoever may watch everything may not for that open a shell, write or delete.
    rule = {"verbs": ["get", "list", "watch"], "apiGroups": ["*"], "resources": ["*"]}
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "reader"}
    ref = {"kind": "ClusterRole", "apiGroup": "rbac.authorization.k8s.io", "name": "reader"}
    reader = {"Impersonate-User": "reader"}
    old = "/api/v1/watch/namespaces/default"
    async with serving(tmp_path) as api:
        role = {"metadata": {"name": "reader"}, "rules": [rule]}
        binding = {"metadata": {"name": "reader"}, "roleRef": ref, "subjects": [subject]}
        assert (await api.call("POST", f"{_RBAC}/clusterroles", role)).code == 201
        assert (await api.call("POST", f"{_RBAC}/clusterrolebindings", binding)).code == 201
        for part in ("exec", "attach", "portforward", "proxy", "proxy/x", "log", "status"):
            for upgrade in ({}, {**_UPGRADE, "Upgrade": "websocket"}, {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}):
                answer = await api.call("GET", f"{old}/pods/p/{part}", **reader, **upgrade)
                text = "the server could not find the requested resource"
                assert (answer.code, answer.body["message"]) == (404, text), (part, upgrade)
        assert (await api.call("GET", "/api/v1/watch/nodes/n/proxy/run", **reader)).body["message"] == text
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            for caller in (reader, {}):
                answer = await api.call(method, f"{old}/configmaps/m", {"metadata": {"name": "m"}}, **caller)
                assert answer.code == 405, (method, caller)
        seen = await api.call("GET", f"{old}/configmaps?timeoutSeconds=1", **reader)
        assert seen.code == 200


@pytest.mark.anyio
async def test_a_token_is_asked_for_where_its_account_is(tmp_path: Path) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    async with serving(tmp_path) as api:
        assert (await api.call("POST", accounts, {"metadata": {"name": "sa"}})).code == 201
        asked = {"metadata": {"name": "sa", "namespace": "kube-system"}, "spec": {}}
        answer = await api.call("POST", f"{accounts}/sa/token", asked)
        text = "the namespace of the provided object does not match the namespace sent on the request"
        assert (answer.code, answer.body["message"]) == (400, text)
        assert (await api.call("POST", f"{accounts}/sa/token", {"spec": {}})).code == 201


@pytest.mark.anyio
async def test_a_patch_makes_no_object_of_another_kind(tmp_path: Path) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    async with serving(tmp_path) as api:
        assert (await api.call("POST", maps, {"metadata": {"name": "m"}})).code == 201
        answer = await api.call("PATCH", f"{maps}/m", {"kind": "Secret"}, "application/merge-patch+json")
        assert answer.code == 422
        assert answer.body["message"].endswith("converting (v1.Secret) to (core.ConfigMap): unknown conversion")


@pytest.mark.anyio
async def test_what_a_write_is_refused_for_is_there_for_whoever_looks(tmp_path: Path) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    async with serving(tmp_path) as api:

        async def create_or_look(name: str) -> Answer:
            made = await api.call("POST", maps, {"metadata": {"name": name}})
            return await api.call("GET", f"{maps}/{name}") if made.code == 409 else made

        async def claim(name: str, owner: str) -> Answer:
            free = {"op": "test", "path": "/data", "value": None}
            patch = [free, {"op": "add", "path": "/data", "value": {"owner": owner}}]
            done = await api.call("PATCH", f"{maps}/{name}", patch, "application/json-patch+json")
            return await api.call("GET", f"{maps}/{name}") if done.code == 422 else done

        for number in range(50):
            name = f"m{number}"
            created = await asyncio.gather(*(create_or_look(name) for _ in range(3)))
            assert sorted(answer.code for answer in created) == [200, 200, 201]
            claimed = await asyncio.gather(*(claim(name, owner) for owner in "abc"))
            assert len({answer.body["data"]["owner"] for answer in claimed}) == 1


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("error", "code", "retry"),
    [(Overloaded("behind"), 429, "1"), (StoreClosed(), 503, "1"), (RuntimeError("a bug"), 500, None)],
    ids=["overloaded", "closed", "bug"],
)
async def test_a_failure_is_told_alike_over_http_and_over_a_websocket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, retry: str | None
) -> None:
    def handler(*_: Any) -> Any:
        raise error

    path = "/api/v1/namespaces/default/configmaps?watch=true"
    async with serving(tmp_path) as api:
        monkeypatch.setattr(App, "_handler", handler)
        pki = tmp_path / "pki"
        server = Server(api.url, (pki / "token").read_text(), (pki / "ca.crt").read_text())
        reply = await asyncio.to_thread(server.connect().socket, path, {"Origin": "https://example.com"}, 0)
        assert (reply.code, reply.headers["Retry-After"]) == (code, retry)
        assert await api.call("GET", path) == (code, json.loads(reply.content))
