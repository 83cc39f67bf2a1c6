"""Runs controllers on shared caches, in their order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Never

from rayward.kube.client.api import Client
from rayward.kube.runtime import memory
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import Controller
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.metrics import Metrics
from rayward.kube.runtime.reflector import Reflector
from rayward.kube.runtime.registry import Environment, Informers, Registration, Running


class Manager:
    """The registered controllers on the caches of ``namespace``, or of all namespaces."""

    def __init__(
        self,
        client: Client,
        registrations: Iterable[Registration],
        namespace: str | None = None,
        *,
        recorder: EventRecorder,
        metrics: Metrics,
        workers: int,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.informers = Informers(client, namespace, clock)
        self.controllers: dict[str, Running] = {}
        for entry in registrations:
            number = entry.workers or workers
            environment = Environment(
                client=client,
                informers=self.informers,
                recorder=recorder.of_component(entry.component, entry.decisions),
                clock=clock,
                workers=number,
                observer=metrics.controller(entry.name, number),
            )
            self.controllers[entry.name] = entry.build(environment, metrics.of_kind(entry.name, entry.metrics))

    @property
    def reflectors(self) -> Sequence[Reflector[Any]]:
        return self.informers.reflectors

    async def run(self) -> Never:
        """Fill the caches, then reconcile, until cancelled; then wait for the answers to what was sent."""
        running = tuple(self.controllers.values())
        background = [work for each in running for work in each.background]
        try:
            await run(self.reflectors, [each.controller for each in running], background)
        finally:
            # Together: a leader that could not renew must be done before its lease is over.
            await asyncio.gather(*(each.drain() for each in running))


async def run(
    reflectors: Iterable[Reflector[Any]],
    controllers: Iterable[Controller],
    background: Iterable[Callable[[], Awaitable[Any]]] = (),
) -> Never:
    """Fill the caches, then let the controllers work, until cancelled.

    A controller that begins before its caches are full would take what it does not see for missing.
    """
    async with asyncio.TaskGroup() as tasks:
        followed = tuple(reflectors)
        for reflector in followed:
            tasks.create_task(reflector.run())
        for work in background:
            tasks.create_task(_forever(work))
        for reflector in followed:
            await reflector.wait_synced()
        memory.tune()
        memory.freeze()
        for controller in controllers:
            tasks.create_task(controller.run())
    raise AssertionError("parts of a controller run until they are cancelled")


async def _forever(work: Callable[[], Awaitable[Any]]) -> None:
    await work()
