"""How many objects a namespace may hold."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.inprocess import Api, serving

_MAPS = "/api/v1/namespaces/default/configmaps"
_QUOTAS = "/api/v1/namespaces/default/resourcequotas"


def _map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


async def _limit(api: Api, **hard: str) -> None:
    named = {key.replace("__", "/"): value for key, value in hard.items()}
    body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": named}}
    assert (await api.call("POST", _QUOTAS, body)).code == 201


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["configmaps", "count__configmaps"])
async def test_one_more_than_the_quota_is_refused(tmp_path: Path, name: str) -> None:
    async with serving(tmp_path) as api:
        await _limit(api, **{name: "2"})
        assert [(await api.call("POST", _MAPS, _map(n))).code for n in ("a", "b")] == [201, 201]
        refused = await api.call("POST", _MAPS, _map("c"))
        shown = name.replace("__", "/")
        assert (refused.code, refused.body["reason"]) == (403, "Forbidden")
        assert refused.body["message"] == (
            f'configmaps "c" is forbidden: exceeded quota: q, requested: {shown}=1, used: {shown}=2, limited: {shown}=2'
        )
        await api.call("DELETE", f"{_MAPS}/a")
        assert (await api.call("POST", _MAPS, _map("c"))).code == 201


@pytest.mark.anyio
async def test_creates_in_the_same_moment_are_counted_exactly(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        await _limit(api, configmaps="5")
        codes = await asyncio.gather(*(api.call("POST", _MAPS, _map(f"m{i}")) for i in range(20)))
        assert sorted(answer.code for answer in codes) == [201] * 5 + [403] * 15


@pytest.mark.anyio
async def test_other_namespaces_and_kinds_are_not_counted(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        await _limit(api, configmaps="0")
        elsewhere = "/api/v1/namespaces/kube-public/configmaps"
        assert (await api.call("POST", elsewhere, _map("a"))).code == 201
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
        assert (await api.call("POST", "/api/v1/namespaces/default/secrets", secret)).code == 201
