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
from tests.apiserver.crd.test_serving import define, definition, place, widget
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
        await asyncio.wait_for(asked.wait(), 150)
        await api.call("PUT", f"{_CONFIG_MAPS}/a", {"metadata": {"name": "a"}, "data": {"k": "quick"}})
        go_on.set()
        done = await slow
        assert (done.code, done.body.get("data")) == (200, {"k": "slow"})


_UNREADABLE = base64.b64encode(b"\xff\xfe\xfd\xfc").decode()
_DEAD = "https://127.0.0.1:1/"


@pytest.mark.parametrize(("policy", "code"), [("Fail", 500), ("Ignore", 201)])
@pytest.mark.parametrize(
    "bundle",
    [
        pytest.param(_UNREADABLE, id="no text"),
        pytest.param(base64.b64encode("Zertifikat für den Haken".encode()).decode(), id="no certificate"),
        pytest.param(base64.b64encode(b" \n").decode(), id="nothing"),
    ],
)
async def test_a_bundle_nobody_can_read_fails_the_calls_of_its_webhook_alone(
    tmp_path: Path, bundle: str, policy: str, code: int
) -> None:
    async with serving(tmp_path / "data") as api:
        configuration = _configuration("ValidatingWebhookConfiguration", _DEAD, make_authority("hooks"))
        hook: dict[str, Any] = configuration["webhooks"][0]
        hook["clientConfig"]["caBundle"] = bundle
        hook["failurePolicy"] = policy
        made = await api.call("POST", f"{_HOOKS}/validatingwebhookconfigurations", configuration)
        assert made.code == 201
        answer = await api.call("POST", _CONFIG_MAPS, {"metadata": {"name": "a"}})
        assert answer.code == code
        if code == 500:
            refused = 'failed calling webhook "hook.example.com": could not get REST client: '
            assert refused in answer.body["message"]
        assert (await api.call("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})).code == 201


async def test_a_text_around_the_certificates_of_a_bundle_does_no_harm(tmp_path: Path) -> None:
    allow: Decide = lambda _: {"allowed": True}  # noqa: E731
    async with _hook(tmp_path / "hook", allow) as (url, authority), serving(tmp_path / "data") as api:
        configuration = _configuration("ValidatingWebhookConfiguration", url, authority)
        bundle = b"# f\xfcr uns\n" + authority.certificate
        configuration["webhooks"][0]["clientConfig"]["caBundle"] = base64.b64encode(bundle).decode()
        await api.call("POST", f"{_HOOKS}/validatingwebhookconfigurations", configuration)
        assert (await api.call("POST", _CONFIG_MAPS, {"metadata": {"name": "a"}})).code == 201


async def test_an_unreadable_bundle_keeps_neither_watchers_nor_other_webhooks_nor_a_restart_from_working(
    tmp_path: Path,
) -> None:
    configurations = f"{_HOOKS}/validatingwebhookconfigurations"
    bad = _configuration("ValidatingWebhookConfiguration", _DEAD, make_authority("hooks"), "UPDATE")
    bad["webhooks"][0]["clientConfig"]["caBundle"] = _UNREADABLE
    closed = _configuration("ValidatingWebhookConfiguration", _DEAD, make_authority("hooks"))
    closed["metadata"]["name"] = "later"
    async with serving(tmp_path) as api:
        assert (await api.call("POST", configurations, {"metadata": {"name": "first"}})).code == 201
        events = api.watch(f"{configurations}?watch=1")
        seen = [await anext(events)]
        assert (await api.call("POST", configurations, bad)).code == 201
        assert (await api.call("POST", configurations, closed)).code == 201
        seen += [await asyncio.wait_for(anext(events), 30) for _ in range(2)]
        assert [event["object"]["metadata"]["name"] for event in seen] == ["first", "hook", "later"]
        assert (await api.call("POST", _CONFIG_MAPS, {"metadata": {"name": "a"}})).code == 500
    async with serving(tmp_path) as api:
        assert (await api.call("POST", _CONFIG_MAPS, {"metadata": {"name": "a"}})).code == 500


def _widget_hook(kind: str, url: str, authority: Pair, versions: list[str], policy: str) -> dict[str, Any]:
    configuration = _configuration(kind, url, authority)
    hook: dict[str, Any] = configuration["webhooks"][0]
    hook["matchPolicy"] = policy
    rule = {"operations": ["*"], "apiGroups": ["example.com"], "apiVersions": versions, "resources": ["widgets"]}
    hook["rules"] = [rule]
    return configuration


@pytest.mark.parametrize(
    ("versions", "policy", "seen"),
    [
        pytest.param(["v1"], "Equivalent", ["v1"], id="the version itself"),
        pytest.param(["*"], "Equivalent", ["v1"], id="any"),
        pytest.param(["v2"], "Equivalent", ["v2"], id="another that is served"),
        pytest.param(["v2"], "Exact", [], id="another, but only exactly"),
        pytest.param(["v3"], "Equivalent", [], id="one that is not served"),
        pytest.param(["v1beta1"], "Equivalent", [], id="one that is not there"),
        pytest.param(["v1", "v2"], "Equivalent", ["v1"], id="both"),
    ],
)
async def test_a_webhook_is_asked_in_a_version_that_it_knows_and_that_is_served(
    tmp_path: Path, versions: list[str], policy: str, seen: list[str]
) -> None:
    asked: list[dict[str, Any]] = []

    def note(request: dict[str, Any]) -> dict[str, Any]:
        asked.append(request)
        return {"allowed": True}

    known = ({}, {"name": "v2", "storage": False}, {"name": "v3", "storage": False, "served": False})
    async with _hook(tmp_path / "hook", note) as (url, authority), serving(tmp_path / "data") as api:
        await define(api, definition("widgets", *known))
        configuration = _widget_hook("ValidatingWebhookConfiguration", url, authority, versions, policy)
        await api.call("POST", f"{_HOOKS}/validatingwebhookconfigurations", configuration)
        assert (await api.call("POST", place(), widget())).code == 201
        assert (await api.call("DELETE", f"{place()}/w")).code == 200
    assert [request["kind"]["version"] for request in asked] == [*seen, *seen]
    for request in asked:
        version = request["kind"]["version"]
        assert request["resource"] == {"group": "example.com", "version": version, "resource": "widgets"}
        assert request["requestKind"] == {"group": "example.com", "version": "v1", "kind": "Widget"}
        assert request["requestResource"] == {"group": "example.com", "version": "v1", "resource": "widgets"}
        assert (request["object"] or request["oldObject"])["apiVersion"] == f"example.com/{version}"


async def test_what_a_webhook_changes_in_its_version_is_stored_in_that_of_the_request(tmp_path: Path) -> None:
    add = {"op": "add", "path": "/spec", "value": {"size": 3}}
    async with _hook(tmp_path / "hook", lambda _: _patch(add)) as (url, authority), serving(tmp_path / "data") as api:
        await define(api, definition("widgets", {}, {"name": "v2", "storage": False}))
        configuration = _widget_hook("MutatingWebhookConfiguration", url, authority, ["v2"], "Equivalent")
        await api.call("POST", f"{_HOOKS}/mutatingwebhookconfigurations", configuration)
        made = await api.call("POST", place(), widget())
        assert (made.code, made.body["apiVersion"], made.body["spec"]) == (201, "example.com/v1", {"size": 3})


async def test_a_built_in_kind_has_no_version_but_its_own(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        configuration = _configuration("ValidatingWebhookConfiguration", _DEAD, make_authority("hooks"))
        configuration["webhooks"][0]["rules"][0]["apiVersions"] = ["v1beta1"]
        await api.call("POST", f"{_HOOKS}/validatingwebhookconfigurations", configuration)
        assert (await api.call("POST", _CONFIG_MAPS, {"metadata": {"name": "a"}})).code == 201
