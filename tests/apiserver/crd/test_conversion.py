"""Custom objects in a version that only a webhook can make: read, listed, watched, written, and refused."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rayward.local.apiserver.crd import conversion
from rayward.net.certificates import Pair, issue_server, make_authority
from rayward.net.server import Server, ServerTls, listen
from tests.apiserver.crd.test_serving import define, definition, place, widget
from tests.apiserver.inprocess import Api, serving

pytestmark = pytest.mark.anyio

Object = dict[str, Any]
Convert = Callable[[Object, str], Object]
_MERGE = "application/merge-patch+json"


def _sized(obj: Object, version: str) -> Object:
    """v1 has a size in metres, v2 in centimetres."""
    size = obj.get("spec", {}).get("size", 0)
    meant = size * 100 if version.endswith("/v2") else size // 100
    return {**obj, "apiVersion": version, "spec": {"size": meant}}


def _written(folder: Path, pair: Pair) -> ServerTls:
    folder.mkdir()
    (folder / "crt").write_bytes(pair.certificate)
    (folder / "key").write_bytes(pair.key)
    return ServerTls(folder / "crt", folder / "key")


@asynccontextmanager
async def _webhook(folder: Path, convert: Convert) -> AsyncGenerator[tuple[Object, list[int]]]:
    """The client configuration of a webhook, and how many objects each question to it held."""
    asked: list[int] = []

    async def application(_scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        request = json.loads(body)["request"]
        asked.append(len(request["objects"]))
        try:
            made = [convert(obj, request["desiredAPIVersion"]) for obj in request["objects"]]
            response: Object = {"uid": request["uid"], "convertedObjects": made, "result": {"status": "Success"}}
        except ValueError as error:
            response = {"uid": request["uid"], "result": {"status": "Failure", "message": str(error)}}
        review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response}
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(review).encode()})

    authority = make_authority("hooks")
    pair = issue_server(authority, "hook", ("127.0.0.1",))
    listener = listen("127.0.0.1", 0)
    server = Server(application, listener, _written(folder, pair))
    await server.start()
    url = f"https://127.0.0.1:{listener.getsockname()[1]}/convert"
    try:
        yield {"url": url, "caBundle": base64.b64encode(authority.certificate).decode()}, asked
    finally:
        await server.stop()


def _definition(client: Object) -> Object:
    crd = definition("widgets", {"storage": False}, {"name": "v2"})
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return crd


@asynccontextmanager
async def _served(folder: Path, convert: Convert = _sized) -> AsyncGenerator[tuple[Api, list[int]]]:
    async with _webhook(folder / "hook", convert) as (client, asked), serving(folder / "server") as api:
        await define(api, _definition(client))
        yield api, asked


async def test_an_object_is_stored_in_one_version_and_read_in_both(tmp_path: Path) -> None:
    async with _served(tmp_path) as (api, _):
        made = await api.call("POST", place(), widget(spec={"size": 3}))
        assert (made.code, made.body["apiVersion"], made.body["spec"]) == (201, "example.com/v1", {"size": 3})
        stored = (await api.call("GET", f"{place(version='v2')}/w")).body
        assert (stored["apiVersion"], stored["spec"]) == ("example.com/v2", {"size": 300})
        again = (await api.call("GET", f"{place()}/w")).body
        assert (again["spec"], again["metadata"]["uid"]) == ({"size": 3}, stored["metadata"]["uid"])


async def test_a_list_is_converted_with_one_question_and_kept(tmp_path: Path) -> None:
    async with _served(tmp_path) as (api, asked):
        for name in "abc":
            await api.call("POST", place(version="v2"), widget(name, "v2", spec={"size": 100}))
        asked.clear()
        for _ in range(2):
            found = (await api.call("GET", place())).body["items"]
            assert [(one["metadata"]["name"], one["spec"]["size"]) for one in found] == [("a", 1), ("b", 1), ("c", 1)]
        assert asked == [3]


@pytest.mark.parametrize("query", ["", "?limit=4", "?limit=2", "?labelSelector=a%3Db"])
async def test_a_list_ends_that_is_longer_than_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(conversion, "_MOST_KEPT", 3)
    async with _served(tmp_path) as (api, asked):
        for name in "abcde":
            made = widget(name, "v2", spec={"size": 100})
            made["metadata"]["labels"] = {"a": "b"}
            await api.call("POST", place(version="v2"), made)
        asked.clear()
        async with asyncio.timeout(30):
            found = (await api.call("GET", f"{place()}{query}")).body["items"]
            assert [one["spec"]["size"] for one in found] == [1] * len(found)
            assert asked == [5], "one question"
            assert (await api.call("GET", f"{place()}/a")).body["spec"] == {"size": 1}
            assert (await api.call("DELETE", place())).code == 200


async def test_the_stored_version_asks_nobody(tmp_path: Path) -> None:
    async with _served(tmp_path) as (api, asked):
        await api.call("POST", place(version="v2"), widget("a", "v2", spec={"size": 100}))
        await api.call("PATCH", f"{place(version='v2')}/a", {"spec": {"size": 200}}, _MERGE)
        await api.call("GET", place(version="v2"))
        await api.call("DELETE", f"{place(version='v2')}/a")
        assert asked == []


async def test_a_patch_in_the_other_version_is_of_what_that_version_shows(tmp_path: Path) -> None:
    async with _served(tmp_path) as (api, _):
        await api.call("POST", place(version="v2"), widget("a", "v2", spec={"size": 100}))
        patched = await api.call("PATCH", f"{place()}/a", {"spec": {"size": 5}}, _MERGE)
        assert (patched.code, patched.body["spec"]) == (200, {"size": 5})
        assert (await api.call("GET", f"{place(version='v2')}/a")).body["spec"] == {"size": 500}
        assert (await api.call("DELETE", f"{place()}/a")).code == 200


async def test_a_watch_shows_its_own_version_in_order(tmp_path: Path) -> None:
    async with _served(tmp_path) as (api, _):
        await api.call("POST", place(version="v2"), widget("a", "v2", spec={"size": 100}))
        seen: list[tuple[str, int]] = []
        async with asyncio.timeout(30):
            async for event in api.watch(f"{place()}?watch=1"):
                seen.append((event["type"], event["object"]["spec"]["size"]))
                assert event["object"]["apiVersion"] == "example.com/v1"
                if len(seen) == 1:
                    await api.call("PATCH", f"{place(version='v2')}/a", {"spec": {"size": 200}}, _MERGE)
                    await api.call("DELETE", f"{place(version='v2')}/a")
                if len(seen) == 3:
                    break
        assert seen == [("ADDED", 1), ("MODIFIED", 2), ("DELETED", 2)]


async def test_what_a_webhook_refuses_is_not_stored(tmp_path: Path) -> None:
    def refuse(_obj: Object, _version: str) -> Object:
        raise ValueError("no such size")

    async with _served(tmp_path, refuse) as (api, _):
        refused = await api.call("POST", place(), widget(spec={"size": 3}))
        text = "conversion webhook for example.com/v1, Kind=Widget failed: no such size"
        assert (refused.code, refused.body["message"]) == (500, text)
        assert (await api.call("GET", place(version="v2"))).body["items"] == []


async def test_a_webhook_cannot_rename_what_it_converts(tmp_path: Path) -> None:
    def rename(obj: Object, version: str) -> Object:
        return {**_sized(obj, version), "metadata": {**obj["metadata"], "name": "other"}}

    async with _served(tmp_path, rename) as (api, _):
        refused = await api.call("POST", place(), widget(spec={"size": 3}))
        assert refused.code == 500
        assert refused.body["message"].endswith("returned invalid object: must have the same name: w != other")


async def test_a_webhook_that_is_not_there_is_named(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        await define(api, _definition({"url": "https://127.0.0.1:1/convert"}))
        refused = await api.call("POST", place(), widget(spec={"size": 3}))
        assert refused.code == 500
        assert "conversion webhook for example.com/v1, Kind=Widget failed: Post " in refused.body["message"]
