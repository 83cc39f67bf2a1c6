"""The last lines of containers that ended, read while their node still has them.

Bounded in every direction: how many wait, how many are read at a time, how long and how much. A log that cannot be had
costs the record those lines, and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlencode

from rayward.changes.timeline.entry import Entry
from rayward.changes.timeline.exits import Exit
from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError
from rayward.kube.client.paths import object_path
from rayward.kube.client.request import Request
from rayward.kube.core.objects import Key
from rayward.kube.core.resource import PODS
from rayward.net.errors import NetworkError

_LIMITS: Final = {"tailLines": "20", "limitBytes": "8192", "timestamps": "true"}
_SECONDS: Final = 5.0
_GRACE: Final = timedelta(seconds=1)
_READERS: Final = 4
_MOST: Final = 100


class LogEnds:
    """Hands on the entry of each exit, with the end of its log where that can be had.

    Args:
        client: Asks for logs.
        pod: The pod as it is now, or None.
        keep: Takes the entries; called once for each exit.
    """

    def __init__(self, client: Client, pod: Callable[[Key], Any], keep: Callable[[Entry], None]) -> None:
        self._client = client
        self._pod = pod
        self._keep = keep
        self._waiting: asyncio.Queue[Exit] = asyncio.Queue(_MOST)

    def add(self, ended: Exit) -> None:
        """An exit; where too many wait its log is not read."""
        try:
            self._waiting.put_nowait(ended)
        except asyncio.QueueFull:
            self._keep(ended.entry)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(_READERS):
                tasks.create_task(self._read_on())

    def drain(self) -> None:
        """Hand on what waits, without logs."""
        while not self._waiting.empty():
            self._keep(self._waiting.get_nowait().entry)

    async def _read_on(self) -> None:
        while True:
            ended = await self._waiting.get()
            text = ""
            try:
                text = await self._read(ended)
            finally:
                # cancelled too: the process ends, and the exit is still told
                self._keep(ended.with_log(text))

    async def _read(self, ended: Exit) -> str:
        pod = self._pod(Key(ended.entry.namespace, ended.entry.name))
        previous = ended.is_previous(pod) if pod is not None else None
        if previous is None:
            return ""
        text = await self._ask(ended, previous=previous)
        # started again since, before anybody said so
        return text if text or previous else await self._ask(ended, previous=True)

    async def _ask(self, ended: Exit, *, previous: bool) -> str:
        entry = ended.entry
        query = urlencode({"container": ended.container, "previous": str(previous).lower(), **_LIMITS})
        target = f"{object_path(PODS, entry.namespace, entry.name, 'log')}?{query}"
        try:
            answer = await self._client.attempt(Request("GET", target, accept="*/*", seconds=_SECONDS))
        except (ApiError, NetworkError):
            # the node may be what is broken, and pods that ended are deleted soon
            return ""
        # where it runs again, a line of that second may be of the one after it
        return ended.own_lines(answer.body.decode(errors="replace"), timedelta() if previous else _GRACE)
