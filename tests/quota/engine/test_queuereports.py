"""How often the numbers of queues are written, in virtual time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import orjson

from rayward.kube.client.api import Client
from rayward.kube.client.request import Request, Response
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.registry import Environment, Informers
from rayward.kube.runtime.shield import Shield
from rayward.quota.engine.engine import Engine
from rayward.quota.engine.queuereports import QueueReports
from rayward.quota.engine.takeover import KueueWatch
from rayward.quota.sources import ALL_CLUSTER_QUEUES, ALL_LOCAL_QUEUES
from tests.client.recording import RecordingTransport, answer_json
from tests.quota.engine.building import cluster_queue, local_queue, workload
from tests.runtime.virtual import VirtualClock, run


class Queues:
    """Queues of an engine and the server that their statuses are written to, whose answers reach the caches at once."""

    def __init__(self, number: int) -> None:
        self.names = [f"q{each}" for each in range(number)]
        self.writes: Counter[str] = Counter()
        self.statuses: dict[str, dict[str, Any]] = {}
        self.engine = Engine()
        client, clock = Client(RecordingTransport(self._answer)), VirtualClock()
        informers = Informers(client, None, clock)
        recorder = EventRecorder(client, "rayward-quota").of_component("rayward-quota")
        environment = Environment(client, informers, recorder, clock, workers=1)
        self._cache = informers.cache(ALL_CLUSTER_QUEUES)
        locals_ = informers.cache(ALL_LOCAL_QUEUES)
        made = [cluster_queue(name, {"default": {"cpu": 1000}}) for name in self.names]
        self._cache.replace([(each, b"") for each in made], "1")
        locals_.replace([], "1")
        for each in made:
            self.engine.set_cluster_queue(each)
            self.engine.set_local_queue(local_queue(each.metadata.name, each.metadata.name))
        kueue = KueueWatch(environment, lambda: None)
        kueue.found = ""
        self.reports = QueueReports(environment, self.engine, (self._cache, locals_), Shield(), kueue)

    def _answer(self, request: Request) -> Response:
        name = request.target.partition("?")[0].split("/")[-2]
        self.writes[name] += 1
        version = str(sum(self.writes.values()) + 1)
        before = self._cache.get(next(iter(each.key for each in self._cache if each.metadata.name == name)))
        body = orjson.loads(request.body or b"")
        self.statuses[name] = body["status"]
        merged = {**msgspec.to_builtins(before), "status": body["status"]}
        merged["metadata"] = {"name": name, "uid": "", "resourceVersion": version}
        asyncio.get_running_loop().call_soon(self._seen, merged, version)
        return answer_json(200, merged)

    def _seen(self, merged: dict[str, Any], version: str) -> None:
        self._cache.put(msgspec.convert(merged, self._cache.kind), b"")
        self._cache.advance(version)

    def change(self, name: str, job: int) -> None:
        """One more workload waits in a queue."""
        self.engine.set_workload(workload(f"{name}-{job}", name, {"cpu": 1}), 0)
        self._told(name)

    def end(self, name: str, job: int) -> None:
        self.engine.remove_workload(f"ns/{name}-{job}")
        self._told(name)

    def _told(self, name: str) -> None:
        key = next(each.key for each in self._cache if each.metadata.name == name)
        self.reports.add(key)


def _of(number: int) -> Callable[[Callable[[Queues], Coroutine[Any, Any, None]]], Callable[[], None]]:
    def decorate(test: Callable[[Queues], Coroutine[Any, Any, None]]) -> Callable[[], None]:
        async def scenario() -> None:
            queues = Queues(number)
            task = asyncio.ensure_future(queues.reports.controller.run())
            await test(queues)
            task.cancel()

        def wrapped() -> None:
            run(scenario())

        wrapped.__name__ = test.__name__
        return wrapped

    return decorate


@_of(120)
async def test_numbers_that_change_all_the_time_share_one_budget_and_all_queues_have_their_turn(queues: Queues) -> None:
    for second in range(60):
        for name in queues.names:
            queues.change(name, second)
        await asyncio.sleep(1)
    # a burst, the first of each queue (its condition), and five a second
    assert sum(queues.writes.values()) <= 100 + 120 + 5 * 60
    assert set(queues.writes) == set(queues.names)
    assert min(queues.writes.values()) >= 3
    await asyncio.sleep(60)
    assert {status["pendingWorkloads"] for status in queues.statuses.values()} == {60}


@_of(120)
async def test_a_queue_that_has_become_empty_says_so_at_once(queues: Queues) -> None:
    for second in range(30):
        for name in queues.names:
            queues.change(name, second)
        await asyncio.sleep(1)
    for second in range(30):
        queues.end("q7", second)
    await asyncio.sleep(1)
    assert queues.statuses["q7"]["pendingWorkloads"] == 0


@_of(1)
async def test_a_queue_alone_is_reported_every_two_seconds(queues: Queues) -> None:
    for job in range(100):
        queues.change("q0", job)
        await asyncio.sleep(0.1)
    assert 5 <= queues.writes["q0"] <= 7
    await asyncio.sleep(2)
    assert queues.statuses["q0"]["pendingWorkloads"] == 100
