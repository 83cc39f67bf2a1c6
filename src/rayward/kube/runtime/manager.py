"""Runs the parts of a controller process in their order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Never

from rayward.kube.runtime import memory
from rayward.kube.runtime.controller import Controller
from rayward.kube.runtime.reflector import Reflector


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
