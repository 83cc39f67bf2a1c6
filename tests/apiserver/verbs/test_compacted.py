"""Versions that the server has forgotten, or that are older than what is asked for: list again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.fuzz.subjects import definition
from tests.apiserver.inprocess import Api, serving
from tests.contract.server import Server

pytestmark = pytest.mark.anyio

_MAPS = "/api/v1/namespaces/default/configmaps"
_WIDGETS = "/apis/fuzz.example.com/v1/namespaces/default/widgets"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def _forget(api: Api) -> None:
    await api.server._store.compact(0, 0)  # pyright: ignore[reportPrivateUsage]


async def _make(api: Api, *names: str) -> str:
    """ConfigMaps of these names; returns the version of the first."""
    made = [await api.call("POST", _MAPS, {"metadata": {"name": name}}) for name in names]
    return made[0].body["metadata"]["resourceVersion"]


async def _first(api: Api, path: str) -> Any:
    async for event in api.watch(path):
        return event
    return None


def _expired(event: Any, since: str) -> None:
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert event["object"]["message"].startswith(f"too old resource version: {since} (")


async def test_a_watch_from_a_forgotten_version_is_told_to_list_again(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        version = await _make(api, "a", "b", "c")
        assert (await _first(api, f"{_MAPS}?watch=1&resourceVersion={version}"))["type"] == "ADDED"

        await _forget(api)

        _expired(await _first(api, f"{_MAPS}?watch=1&resourceVersion={version}"), version)


async def test_a_watch_over_a_websocket_is_told_so_in_a_frame_and_closed(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        version = await _make(api, "a", "b", "c")
        await _forget(api)
        pki = tmp_path / "pki"
        server = Server(api.url, (pki / "token").read_text(), (pki / "ca.crt").read_text())
        path = f"{_MAPS}?watch=true&resourceVersion={version}"

        reply = await asyncio.to_thread(server.connect().socket, path, {"Origin": "https://example.com"}, 0)

        frames = [json.loads(frame) for frame in reply.events or ()]
        assert (reply.code, [frame["frame"] for frame in frames]) == (101, ["text", "close"])
        _expired(frames[0]["content"], version)


async def test_a_list_that_goes_on_from_a_forgotten_version_may_go_on_from_now(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        await _make(api, "a", "b", "c")
        begun = await api.call("GET", f"{_MAPS}?limit=1")
        await _make(api, "d")
        await _forget(api)

        refused = await api.call("GET", f"{_MAPS}?limit=1&continue={begun.body['metadata']['continue']}")

        assert (refused.code, refused.body["reason"]) == (410, "Expired")
        rest = await api.call("GET", f"{_MAPS}?continue={refused.body['metadata']['continue']}")
        assert [each["metadata"]["name"] for each in rest.body["items"]] == ["b", "c", "d"]


async def test_a_custom_kind_is_not_watched_from_before_its_definition(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        version = await _make(api, "before")
        assert (await api.call("POST", _DEFINITIONS, definition())).code == 201

        async with asyncio.timeout(60):
            while (await api.call("GET", _WIDGETS)).code != 200:  # noqa: ASYNC110 - told by asking alone
                await asyncio.sleep(0.02)
        listed = (await api.call("GET", _WIDGETS)).body["metadata"]["resourceVersion"]
        widget = {"apiVersion": "fuzz.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}}
        assert (await api.call("POST", _WIDGETS, widget)).code == 201

        _expired(await _first(api, f"{_WIDGETS}?watch=1&resourceVersion={version}"), version)
        assert (await _first(api, f"{_WIDGETS}?watch=1&resourceVersion={listed}"))["type"] == "ADDED"
