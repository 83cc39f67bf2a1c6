"""Addresses and ports of services: given once, and free again when nothing came of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.inprocess import serving

pytestmark = pytest.mark.anyio

_SERVICES = "/api/v1/namespaces/default/services"
_PORT = 30_100


def _service(name: str, **spec: Any) -> dict[str, Any]:
    ports = [{"port": 80, "nodePort": _PORT}]
    return {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": ports, **spec}}


async def test_a_refused_service_keeps_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        refused = await api.call("POST", _SERVICES, _service("a", sessionAffinity="Sometimes"))
        assert refused.code == 422
        assert (await api.call("POST", _SERVICES, _service("b"))).code == 201


async def test_a_dry_run_keeps_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        assert (await api.call("POST", f"{_SERVICES}?dryRun=All", _service("a"))).code == 201
        assert (await api.call("POST", _SERVICES, _service("b"))).code == 201


async def test_of_two_that_ask_for_a_port_at_once_one_gets_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as api:
        for name in "ab":
            plain = {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
            assert (await api.call("POST", _SERVICES, plain)).code == 201
        patch = {"spec": {"ports": [{"port": 80, "nodePort": _PORT}]}}
        kind = "application/merge-patch+json"
        answers = await asyncio.gather(*(api.call("PATCH", f"{_SERVICES}/{name}", patch, kind) for name in "ab"))
        assert sorted(answer.code for answer in answers) == [200, 422]
