from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from rayward.kube.client.errors import from_status
from rayward.kube.runtime.workers import DONE, Result, Workers
from rayward.net.errors import ConnectionLost
from tests.runtime.virtual import VirtualClock, run


class Shop:
    """Workers in virtual time; each key takes a second."""

    def __init__(self, work: Callable[[str], Awaitable[Result]] | None = None, workers: int = 2) -> None:
        self.log: list[tuple[float, str]] = []
        self.active: set[str] = set()
        self.most = 0
        self.workers: Workers[str] = Workers(
            "shop", work or self._work, workers=workers, clock=VirtualClock(), chance=lambda: 0.5
        )
        self.task = asyncio.ensure_future(self.workers.run())

    async def _work(self, key: str) -> Result:
        self.note(key)
        assert key not in self.active, "two workers on one key"
        self.active.add(key)
        self.most = max(self.most, len(self.active))
        try:
            await asyncio.sleep(1)
        finally:
            self.active.discard(key)
        return DONE

    def note(self, key: str) -> None:
        self.log.append((round(asyncio.get_running_loop().time(), 3), key))

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


def test_keys_in_parallel_each_serially() -> None:
    async def scenario() -> None:
        shop = Shop()
        for key in "abc":
            shop.workers.add(key)
        await asyncio.sleep(0.5)
        shop.workers.add("a")
        await asyncio.sleep(10)
        assert shop.log == [(0.0, "a"), (0.0, "b"), (1.0, "c"), (1.0, "a")]
        assert shop.most == 2
        assert shop.workers.idle
        await shop.stop()

    run(scenario())


def test_a_result_may_ask_for_another_run() -> None:
    async def scenario() -> None:
        runs = iter([Result(requeue_after=30.0), Result(requeue_after=0.0), DONE])

        async def work(key: str) -> Result:
            shop.note(key)
            return next(runs)

        shop = Shop(work)
        shop.workers.add("a")
        await asyncio.sleep(100)
        assert shop.log == [(0.0, "a"), (30.0, "a"), (30.0, "a")]
        await shop.stop()

    run(scenario())


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (from_status({"code": 409, "reason": "Conflict"}), None),
        (from_status({"code": 403, "reason": "Forbidden", "message": "may not"}), logging.WARNING),
        (ConnectionLost("cut"), logging.WARNING),
        (RuntimeError("a mistake of ours"), logging.ERROR),
    ],
    ids=["conflict", "refusal", "network", "bug"],
)
def test_failures_come_again_later_and_stop_nobody_else(
    error: Exception, level: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async def work(key: str) -> Result:
            shop.note(key)
            if key == "bad" and len([entry for entry in shop.log if entry[1] == "bad"]) < 4:
                raise error
            return DONE

        shop = Shop(work, workers=1)
        shop.workers.add("bad")
        shop.workers.add("good")
        await asyncio.sleep(10)
        assert shop.log == [(0.0, "bad"), (0.0, "good"), (0.05, "bad"), (0.15, "bad"), (0.35, "bad")]
        shop.log.clear()
        shop.workers.add("bad")
        await asyncio.sleep(10)
        assert len(shop.log) == 4, "its patience began anew after it did well"
        await shop.stop()

    with caplog.at_level(logging.INFO, "rayward.kube.runtime.workers"):
        run(scenario())
    assert {record.levelno for record in caplog.records} == (set() if level is None else {level})


def test_stopping_waits_for_the_workers() -> None:
    async def scenario() -> None:
        shop = Shop()
        shop.workers.add("a")
        await asyncio.sleep(0.5)
        assert shop.active == {"a"}
        await shop.stop()
        assert shop.active == set()

    run(scenario())


def test_a_thousand_keys_with_few_workers() -> None:
    async def scenario() -> None:
        shop = Shop(workers=16)
        for number in range(1000):
            shop.workers.add(str(number))
        await asyncio.sleep(62.5)
        assert not shop.workers.idle
        await asyncio.sleep(1)
        assert len(shop.log) == 1000
        assert shop.most == 16
        await shop.stop()

    run(scenario())
