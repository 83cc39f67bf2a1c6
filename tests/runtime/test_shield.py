"""Writes go on when their sender is stopped, and the next one waits for them."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from rayward.kube.runtime.leader import Terms
from rayward.kube.runtime.shield import DRAIN_SECONDS, Shield

pytestmark = pytest.mark.anyio


async def test_work_goes_on_without_its_caller_and_is_waited_for() -> None:
    shield, go, done = Shield(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await go.wait()
        done.set()

    caller = asyncio.ensure_future(shield(work()))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    assert not done.is_set()
    go.set()
    await shield.drain()
    assert done.is_set()


async def test_a_failure_that_nobody_waits_for_is_no_complaint() -> None:
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
    shield, go = Shield(), asyncio.Event()

    async def work() -> None:
        await go.wait()
        raise ValueError("too late")

    caller = asyncio.ensure_future(shield(work()))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    go.set()
    await shield.drain()
    gc.collect()
    assert complaints == []


async def test_a_failure_reaches_its_caller() -> None:
    async def work() -> None:
        raise ValueError("now")

    with pytest.raises(ValueError, match="now"):
        await Shield()(work())


def test_writes_are_over_before_the_next_leader_begins() -> None:
    terms = Terms("a", "operator", "me")
    assert terms.renew_seconds + DRAIN_SECONDS < terms.lease_seconds
