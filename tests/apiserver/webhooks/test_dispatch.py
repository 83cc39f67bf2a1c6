"""Webhooks behind a running server: they are called, late services are found, bad ones harm nobody."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rayward.local.apiserver import wiring
from rayward.local.store import Store
from rayward.net.certificates import Pair, issue_server, make_authority
from rayward.net.server import Server, ServerTls, listen
from tests.apiserver.inprocess import serving

pytestmark = pytest.mark.anyio

_CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
_HOOKS = "/apis/admissionregistration.k8s.io/v1"
Decide = Callable[[dict[str, Any]], Any]


def _patch(*operations: dict[str, Any]) -> dict[str, Any]:
    encoded = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": encoded}


def _written(folder: Path, pair: Pair) -> ServerTls:
    folder.mkdir()
    (folder / "crt").write_bytes(pair.certificate)
    (folder / "key").write_bytes(pair.key)
    return ServerTls(folder / "crt", folder / "key")


@asynccontextmanager
async def _hook(folder: Path, decide: Decide) -> AsyncGenerator[tuple[str, Pair]]:
    """A webhook that answers what ``decide`` says of the request."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        request = json.loads(body)["request"]
        decided = decide(request)
        if asyncio.iscoroutine(decided):
            decided = await decided
        response = {"uid": request["uid"], **decided}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(review).encode()})

    authority = make_authority("hooks")
    pair = issue_server(authority, "hook", ("127.0.0.1", "hook.default.svc"))
    files = _written(folder, pair)
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    server = Server(application, listener, files)
    await server.start()
    try:
        yield f"https://127.0.0.1:{port}/", authority
    finally:
        await server.stop()


def _configuration(kind: str, url: str, authority: Pair, operation: str = "CREATE") -> dict[str, Any]:
    hook = {
        "name": "hook.example.com",
        "clientConfig": {"url": url, "caBundle": base64.b64encode(authority.certificate).decode()},
        "rules": [{"operations": [operation], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
    }
    return {"metadata": {"name": "hook"}, "webhooks": [hook], "kind": kind}


async def test_a_mutating_webhook_changes_the_object(tmp_path: Path) -> None:
    add = {"op": "add", "path": "/data", "value": {"added": "yes"}}
    async with _hook(tmp_path / "hook", lambda _: _patch(add)) as (url, authority), serving(tmp_path / "data") as api:
        configuration = _configuration("MutatingWebhookConfiguration", url, authority)
        assert (await api.call("POST", f"{_HOOKS}/mutatingwebhookconfigurations", configuration)).code == 201
        made = await api.call("POST", _CONFIG_MAPS, {"metadata": {"name": "a"}})
        assert (made.code, made.body.get("data")) == (201, {"added": "yes"})


@pytest.mark.parametrize(
    "answer",
    [
        {"allowed": False, "status": 5},
        {"allowed": False, "status": {"code": "x", "message": 5, "reason": 5, "details": 5}},
        {"allowed": False, "status": {"code": 99999}},
        {"allowed": True, "warnings": 5},
        _patch({"op": "replace", "path": "/metadata", "value": 5}),
        _patch({"op": "add", "path": "/data", "value": 5}),
        _patch({"op": "replace", "path": "", "value": 5}),
        {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(b"5").decode()},
        {"allowed": True, "patchType": "JSONPatch", "patch": 5},
    ],
)
async def test_a_webhook_that_talks_nonsense_is_a_refusal(tmp_path: Path, answer: dict[str, Any]) -> None:
    async with _hook(tmp_path / "hook", lambda _: answer) as (url, authority), serving(tmp_path / "data") as api:
        configuration = _configuration("MutatingWebhookConfiguration", url, authority)
        await api.call("POST", f"{_HOOKS}/mutatingwebhookconfigurations", configuration)
        refused = await api.call("POST", _CONFIG_MAPS, {"metadata": {"name": "a"}})
        assert refused.code >= 400
        assert "unexpected condition" not in refused.body["message"]
        assert (await api.call("GET", f"{_CONFIG_MAPS}/a")).code == 404


async def test_a_service_that_comes_after_its_webhook_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def on_loopback(store: Store, namespace: str, name: str, port: int) -> str:
        return f"127.0.0.1:{port if store.get(f'/services/{namespace}/{name}') else 1}"

    monkeypatch.setattr(wiring, "service_address", on_loopback)
    async with (
        _hook(tmp_path / "hook", lambda _: {"allowed": True}) as (url, authority),
        serving(tmp_path / "data") as api,
    ):
        configuration = _configuration("MutatingWebhookConfiguration", url, authority)
        port = int(url.rstrip("/").rpartition(":")[2])
        client: dict[str, Any] = configuration["webhooks"][0]["clientConfig"]
        del client["url"]
        client["service"] = {"name": "hook", "namespace": "default", "port": port}
        assert (await api.call("POST", f"{_HOOKS}/mutatingwebhookconfigurations", configuration)).code == 201
        early = await api.call("POST", _CONFIG_MAPS, {"metadata": {"name": "a"}})
        assert f'Post "https://hook.default.svc:{port}/?timeout=5s"' in early.body["message"]
        service = {"metadata": {"name": "hook"}, "spec": {"ports": [{"port": port}]}}
        assert (await api.call("POST", "/api/v1/namespaces/default/services", service)).code == 201
        assert (await api.call("POST", _CONFIG_MAPS, {"metadata": {"name": "a"}})).code == 201


async def test_an_unconditional_update_that_lost_a_race_is_made_again(tmp_path: Path) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def wait(request: dict[str, Any]) -> dict[str, Any]:
        if request["object"]["data"] == {"k": "slow"}:
            asked.set()
            await go_on.wait()
        return {"allowed": True}

    async with _hook(tmp_path / "hook", wait) as (url, authority), serving(tmp_path / "data") as api:
        await api.call("POST", _CONFIG_MAPS, {"metadata": {"name": "a"}})
        configuration = _configuration("ValidatingWebhookConfiguration", url, authority, "UPDATE")
        await api.call("POST", f"{_HOOKS}/validatingwebhookconfigurations", configuration)
        body = {"metadata": {"name": "a"}, "data": {"k": "slow"}}
        slow = asyncio.ensure_future(api.call("PUT", f"{_CONFIG_MAPS}/a", body))
        await asyncio.wait_for(asked.wait(), 10)
        await api.call("PUT", f"{_CONFIG_MAPS}/a", {"metadata": {"name": "a"}, "data": {"k": "quick"}})
        go_on.set()
        done = await slow
        assert (done.code, done.body.get("data")) == (200, {"k": "slow"})
