from __future__ import annotations

import asyncio

import pytest

from rayward.kube.client.api import Client
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import PODS
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.health import Health, follows
from rayward.kube.runtime.reflector import Reflector
from tests.client.recording import answer_json
from tests.runtime.simulated import ConnectFailed, Simulated, status
from tests.runtime.virtual import VirtualClock, run


def test_a_report_names_what_failed() -> None:
    health = Health()
    health.add("ping", lambda: None)
    assert health.report().healthy
    assert health.report().text == "[+]ping ok\ncheck passed\n"
    health.add("store", lambda: "disk is full")
    report = health.report()
    assert not report.healthy
    assert report.text == "[+]ping ok\n[-]store failed: disk is full\ncheck failed\n"


def test_a_process_is_ready_while_its_caches_follow_the_server() -> None:
    async def scenario() -> None:
        server = Simulated()
        server.refuse_next.append(ConnectFailed("refused"))
        reflector = Reflector(Client(server), Cache(PODS, Pod), clock=VirtualClock(), chance=lambda: 0.5)
        check = follows([reflector], longest_silence=180)
        assert check() == "pods not listed yet"
        task = asyncio.ensure_future(reflector.run())
        await asyncio.sleep(0.5)
        assert check() == "pods not listed yet: refused"
        await reflector.wait_synced()
        assert check() is None
        server.refuse_next.extend([ConnectFailed("refused")] * 50)
        server.break_watches(ConnectFailed("refused"))
        await asyncio.sleep(200)
        assert check() == "pods not heard of for 200 s"
        task.cancel()

    run(scenario())


@pytest.mark.parametrize("optional", [True, False])
def test_what_is_optional_and_forbidden_is_done_without_until_it_is_allowed(optional: bool) -> None:
    async def scenario() -> None:
        server = Simulated()
        server.create("p")
        server.refuse_next.extend([answer_json(403, status(403, "Forbidden"))] * 4)
        cache = Cache(PODS, Pod)
        reflector = Reflector(Client(server), cache, optional=optional, clock=VirtualClock(), chance=lambda: 0.5)
        check = follows([reflector])
        task = asyncio.ensure_future(reflector.run())
        waiting = asyncio.ensure_future(reflector.wait_synced())
        await asyncio.sleep(0.5)
        assert waiting.done() is optional
        assert check() == (None if optional else "pods not listed yet: Forbidden")
        assert not cache.synced
        await asyncio.sleep(60)
        assert waiting.done()
        assert check() is None
        assert cache.synced
        assert len(cache) == 1
        task.cancel()

    run(scenario())
