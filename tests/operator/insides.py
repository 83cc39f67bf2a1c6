"""What the controllers and reflectors of this process are about, for a test that waits in vain."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Iterator
from typing import Any

from rayward.kube.runtime.reflector import Reflector
from rayward.kube.runtime.workers import Workers

_DEEPEST = 12


def insides() -> list[str]:
    """A line for each controller with something to do, each reflector, and each task by where it waits."""
    gc.unfreeze()  # a manager takes what is there when it starts out of the collector's sight
    found = gc.get_objects()
    workers = [_of_workers(one) for one in found if isinstance(one, Workers) and not one.idle]
    reflectors = [_of_reflector(one) for one in found if isinstance(one, Reflector)]
    tasks = Counter(" < ".join(_places(task.get_coro())) for task in asyncio.all_tasks())
    return [*workers, *sorted(reflectors), *(f"{number} in {place}" for place, number in tasks.items())]


def _of_workers(workers: Workers[Any]) -> str:
    queue, now = workers._queue, workers._clock.now()  # pyright: ignore[reportPrivateUsage]
    due = {str(key): round(entry.ready_at - now, 1) for key, entry in queue._entries.items()}  # pyright: ignore[reportPrivateUsage]
    return f"{workers.name}: {queue.running} run, due in {due}"


def _of_reflector(reflector: Reflector[Any]) -> str:
    cache = reflector.cache
    state = f"{reflector.state.step.name} {reflector.last_error or ''}"
    return f"{cache.resource.plural}: {len(cache)} objects at {cache.version}, {state}"


def _places(coroutine: Any) -> Iterator[str]:
    """The way down to what a coroutine waits for."""
    for _ in range(_DEEPEST):
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "ag_frame", None)
        if frame is None:
            return
        yield f"{frame.f_code.co_name}:{frame.f_lineno}"
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "ag_await", None)
