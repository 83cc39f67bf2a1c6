"""What the recorder kept, for readers on the other side of the API server's proxy.

Who reaches the address reads it all, the ends of logs included: it is for a pod's network, behind who may use the
``proxy`` of pods.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import parse_qs

import msgspec

from rayward.changes.timeline.entry import Entry
from rayward.changes.timeline.store import Store

PATH: Final = "/timeline"

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Recorded(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was recorded about one object.

    Attributes:
        since: From when on; of what happened before, nothing is known here.
        durable: Whether it outlives the process that recorded it.
        items: The entries, the oldest first.
    """

    since: str
    durable: bool
    items: tuple[Entry, ...] = ()

    def read(self) -> tuple[Entry, ...]:
        """The entries, as a ``Store`` gives them."""
        return self.items


class TimelineServer:
    """Answers ``GET /timeline?namespace=NS&object=KIND/NAME`` (ASGI); ``began`` is when the process did."""

    def __init__(self, store: Store, began: str) -> None:
        self._store = store
        self._began = began

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Send) -> None:
        if scope["type"] != "http":
            return
        query = {name: values[-1] for name, values in parse_qs(scope["query_string"].decode("latin-1")).items()}
        known = scope["path"] == PATH and {"namespace", "object"} <= query.keys()
        body = self._page(query) if known else b"there is /timeline?namespace=NS&object=KIND/NAME\n"
        kind = b"application/json" if known else b"text/plain; charset=utf-8"
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200 if known else 404, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    def _page(self, query: dict[str, str]) -> bytes:
        since, found = "", list[Entry]()
        for one in self._store.read():
            since = since or one.at
            if one.namespace == query["namespace"] and one.concerns(query["object"].lower()):
                found.append(one)
        since = min(since, self._began) if since else self._began
        return msgspec.json.encode(Recorded(since, self._store.durable, tuple(found)))
