"""Writes go on when their sender is stopped, and the next one waits for them."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from rayward.kube.runtime.leader import Terms
from rayward.operator.scope import Scope
from rayward.operator.unbroken import DRAIN_SECONDS, Unbroken

pytestmark = pytest.mark.anyio


async def test_work_goes_on_without_its_caller_and_is_waited_for() -> None:
    unbroken, go, done = Unbroken(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await go.wait()
        done.set()

    caller = asyncio.ensure_future(unbroken(work()))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    assert not done.is_set()
    go.set()
    await unbroken.drain()
    assert done.is_set()


async def test_a_failure_that_nobody_waits_for_is_no_complaint() -> None:
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
    unbroken, go = Unbroken(), asyncio.Event()

    async def work() -> None:
        await go.wait()
        raise ValueError("too late")

    caller = asyncio.ensure_future(unbroken(work()))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    go.set()
    await unbroken.drain()
    gc.collect()
    assert complaints == []


async def test_a_failure_reaches_its_caller() -> None:
    async def work() -> None:
        raise ValueError("now")

    with pytest.raises(ValueError, match="now"):
        await Unbroken()(work())


def test_writes_are_over_before_the_next_leader_begins() -> None:
    terms = Terms("a", "operator", "me")
    assert terms.renew_seconds + DRAIN_SECONDS < terms.lease_seconds


async def test_two_kinds_are_waited_for_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: list[str] = []
    both = asyncio.Event()

    class Reconciler:
        def __init__(self, name: str) -> None:
            self.controller = name
            self.poller = self

        async def run(self) -> None:
            pass

        async def drain(self) -> None:
            waiting.append(self.controller)
            if len(waiting) == 2:
                both.set()
            # One after the other they would wait for ever.
            await both.wait()

    scope = Scope.__new__(Scope)
    scope.reflectors = []
    scope.clusters, scope.services = Reconciler("clusters"), Reconciler("services")  # pyright: ignore[reportAttributeAccessIssue]

    async def fails(*_arguments: Any) -> None:
        raise ConnectionError("lost")

    monkeypatch.setattr("rayward.operator.scope.manager.run", fails)
    with pytest.raises(ConnectionError):
        await asyncio.wait_for(scope.run(), 30)
    assert waiting == ["clusters", "services"]
