from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from rayward.kube.client.api import Client
from rayward.kube.core.objects import Key
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import PODS
from rayward.kube.runtime import manager
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.metrics import Metrics
from rayward.kube.runtime.reflector import Reflector
from rayward.kube.runtime.registry import Environment, Registration
from tests.client.recording import RecordingTransport, answer_json
from tests.runtime.simulated import ConnectFailed, Simulated
from tests.runtime.virtual import VirtualClock, run


def test_controllers_begin_when_every_cache_is_full() -> None:
    async def scenario() -> None:
        slow, fast = Simulated(), Simulated()
        slow.refuse_next.extend([ConnectFailed("x")] * 3)
        fast.create("p")
        caches = [Cache(PODS, Pod), Cache(PODS, Pod)]
        reflectors = [
            Reflector(Client(server), cache, clock=VirtualClock(), chance=lambda: 0.5)
            for server, cache in zip((slow, fast), caches, strict=True)
        ]
        runs: list[tuple[Key, bool]] = []

        async def reconcile(key: Key) -> Result:
            runs.append((key, all(cache.synced for cache in caches)))
            return DONE

        controller = Controller("c", reconcile, clock=VirtualClock(), chance=lambda: 0.5)
        controller.watch(caches[1])
        background = asyncio.Event()

        async def work() -> None:
            background.set()
            await asyncio.sleep(1e9)

        task = asyncio.ensure_future(manager.run(reflectors, [controller], [work]))
        await asyncio.sleep(1)
        assert background.is_set()
        assert runs == []
        await asyncio.sleep(10)
        assert runs == [(Key("a", "p"), True)]
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    thresholds = gc.get_threshold()
    try:
        run(scenario())
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)


def test_controllers_are_drained_together() -> None:
    drained: list[str] = []
    both = asyncio.Event()

    class Drained:
        def __init__(self, name: str, *background: Callable[[], Awaitable[Any]]) -> None:
            self.controller = Controller(name, _nothing)
            self.background: Sequence[Callable[[], Awaitable[Any]]] = background
            self._name = name

        async def drain(self, seconds: float = 4.0) -> None:
            drained.append(self._name)
            if len(drained) == 2:
                both.set()
            # One after the other they would wait for ever.
            await both.wait()

    async def play() -> None:
        async def fails() -> None:
            raise ConnectionError("lost")

        client = Client(RecordingTransport(lambda request: answer_json(404, {})))
        metrics = Metrics(CollectorRegistry())
        made = manager.Manager(client, (), recorder=EventRecorder(client, "test"), metrics=metrics, workers=1)
        made.controllers = {"one": Drained("one", fails), "two": Drained("two")}
        with pytest.raises(ExceptionGroup):
            await asyncio.wait_for(made.run(), 30)

    thresholds = gc.get_threshold()
    try:
        asyncio.run(play())
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
    assert sorted(drained) == ["one", "two"]


def test_the_decisions_of_an_entry_are_those_of_its_recorder() -> None:
    seen: dict[str, Collection[str]] = {}

    def build(environment: Environment, metrics: Any) -> Any:
        seen[environment.recorder.component] = environment.recorder.decisions

    client = Client(RecordingTransport(lambda request: answer_json(404, {})))
    manager.Manager(
        client,
        [
            Registration("shop", PODS, "shop-controller", (), build, decisions=frozenset({"Sold"})),
            Registration("till", PODS, "till-controller", (), build),
        ],
        recorder=EventRecorder(client, "test"),
        metrics=Metrics(CollectorRegistry()),
        workers=1,
    )
    assert seen == {"shop-controller": {"Sold"}, "till-controller": set()}


async def _nothing(key: Key) -> Result:
    return DONE


def test_an_entry_may_have_a_number_of_workers_of_its_own() -> None:
    class Idle:
        def __init__(self, environment: Environment) -> None:
            self.controller = Controller("idle", _never, workers=environment.workers)
            self.background = ()
            self.workers = environment.workers

        async def drain(self, seconds: float = 0.0) -> None:
            pass

    def entry(name: str, **more: Any) -> Registration:
        return Registration(name, PODS, name, (), lambda environment, metrics: Idle(environment), **more)

    async def _never(key: Key) -> Result:
        raise AssertionError(f"nothing runs: {key}")

    client = Client(RecordingTransport(lambda request: answer_json(404, {})))
    made = manager.Manager(
        client,
        [entry("usual"), entry("many", workers=5)],
        recorder=EventRecorder(client, "test"),
        metrics=Metrics(CollectorRegistry()),
        workers=2,
    )
    found = {name: each.workers for name, each in made.controllers.items() if isinstance(each, Idle)}
    assert found == {"usual": 2, "many": 5}
