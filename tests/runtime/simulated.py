"""A collection of an API server in memory, whose network can be told to misbehave."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson

from rayward.kube.client.request import Request, Response
from rayward.kube.client.transport.base import ByteStream
from rayward.kube.client.watch import INITIAL_EVENTS_END
from rayward.net.errors import ConnectFailed, ConnectionLost, NetworkError, TimedOut
from tests.client.recording import answer_json

Object = dict[str, Any]


def status(code: int, reason: str, message: str = "", **details: Any) -> Object:
    return {"kind": "Status", "code": code, "reason": reason, "message": message or reason, "details": details}


class Simulated:
    """Objects, their history, and the watches that are open on them.

    ``refuse_next`` are answers to the next requests instead of the right ones. The history is kept for tests even
    where the server has compacted it.
    """

    def __init__(self) -> None:
        self.version = 1
        self.compacted = 0
        self.objects: dict[str, Object] = {}
        self.history: list[tuple[int, str, Object]] = []
        self.refuse_next: deque[Response | NetworkError] = deque()
        self.watches: list[_Watch] = []
        self.lists = 0
        self.requests: list[str] = []
        self.can_stream = True
        self.while_streaming: Callable[[], None] = lambda: None
        """What happens between the objects of a streamed list and its end."""
        self._snapshots: dict[int, dict[str, Object]] = {1: {}}
        self._uids = 0

    def create(self, name: str, **spec: Any) -> None:
        self._uids += 1
        metadata = {"name": name, "namespace": "a", "uid": f"uid-{self._uids}"}
        self._write("ADDED", name, {"metadata": metadata, "spec": spec})

    def update(self, name: str, **spec: Any) -> None:
        self._write("MODIFIED", name, {**self.objects[name], "spec": spec})

    def delete(self, name: str) -> None:
        self._write("DELETED", name, self.objects[name])

    def touch_elsewhere(self) -> None:
        """Another collection changed: versions are shared."""
        self.version += 1
        self._snapshots[self.version] = dict(self.objects)

    def compact(self) -> None:
        """Forget the history, as etcd does after five minutes."""
        self.compacted = self.version

    def bookmark(self) -> None:
        for watch in self.watches:
            watch.send("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": str(self.version)}})

    def end_watches(self) -> None:
        """As when their timeoutSeconds are over."""
        for watch in self.watches:
            watch.end(None)

    def break_watches(self, error: NetworkError, *, tear: bool = False) -> None:
        """The network fails, perhaps in the middle of a line."""
        for watch in self.watches:
            if tear:
                watch.parts.append(b'{"type":"MODIFIED","object":{"metadata":{"na')
            watch.end(error)

    def expire_watches(self) -> None:
        """The server says 410 inside of the streams."""
        self.compact()
        for watch in self.watches:
            watch.send("ERROR", status(410, "Expired", "too old resource version"))
            watch.end(None)

    async def request(self, request: Request) -> Response:
        self.requests.append(str(request))
        await asyncio.sleep(0.001)
        if self.refuse_next:
            return self._refusal()
        self.lists += 1
        query = _query(request)
        version, start = self.version, ""
        if "continue" in query:
            stated, _, start = query["continue"].partition(":")
            version = int(stated)
            if version < self.compacted:
                return answer_json(410, status(410, "Expired", "The provided continue parameter is too old"))
        present = self._snapshots[version]
        names = [name for name in sorted(present) if name > start]
        limit = int(query.get("limit", "0")) or len(names)
        metadata = {"resourceVersion": str(version)}
        if len(names) > limit:
            metadata["continue"] = f"{version}:{names[limit - 1]}"
        return answer_json(200, {"kind": "PodList", "metadata": metadata, "items": [present[n] for n in names[:limit]]})

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[ByteStream]:
        self.requests.append(str(request))
        await asyncio.sleep(0.001)
        watch = _Watch()
        if self.refuse_next:
            refusal = self._refusal()
            watch.status, watch.headers = refusal.status, refusal.headers
            watch.parts.append(refusal.body)
            watch.end(None)
        else:
            self._begin(watch, _query(request))
        try:
            yield watch
        finally:
            if watch in self.watches:
                self.watches.remove(watch)

    async def close(self) -> None:
        pass

    def _begin(self, watch: _Watch, query: Mapping[str, str]) -> None:
        if query.get("sendInitialEvents") == "true":
            if not self.can_stream:
                watch.refuse(422, status(422, "Invalid", "sendInitialEvents is forbidden for watch"))
                return
            for name in sorted(self.objects, reverse=True):
                watch.send("ADDED", self.objects[name])
            self.watches.append(watch)
            self.while_streaming()
            self.watches.remove(watch)
            annotations = {INITIAL_EVENTS_END: "true"}
            metadata = {"resourceVersion": str(self.version), "annotations": annotations}
            watch.send("BOOKMARK", {"kind": "Pod", "metadata": metadata})
        else:
            version = int(query["resourceVersion"])
            if version < self.compacted:
                watch.send("ERROR", status(410, "Expired", "too old resource version"))
                watch.end(None)
                return
            if version > self.version:
                causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
                watch.refuse(504, status(504, "Timeout", "Too large resource version", causes=causes))
                return
            for at, kind, changed in self.history:
                if at > version:
                    watch.send(kind, changed)
        self.watches.append(watch)

    def _write(self, kind: str, name: str, body: Object) -> None:
        self.version += 1
        changed = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self.version)}}
        if kind == "DELETED":
            del self.objects[name]
        else:
            self.objects[name] = changed
        self._snapshots[self.version] = dict(self.objects)
        self.history.append((self.version, kind, changed))
        for watch in self.watches:
            watch.send(kind, changed)

    def _refusal(self) -> Response:
        refusal = self.refuse_next.popleft()
        if isinstance(refusal, NetworkError):
            raise refusal
        return refusal


class _Watch:
    def __init__(self) -> None:
        self.status = 200
        self.headers: Mapping[str, str] = {}
        self.parts: deque[bytes] = deque()
        self._woken = asyncio.Event()
        self._ended = False
        self._error: NetworkError | None = None

    def send(self, kind: str, body: Object) -> None:
        if self._ended:
            return
        line = orjson.dumps({"type": kind, "object": body}) + b"\n"
        # In two parts, cut anywhere, so that lines and parts never agree.
        cut = len(self.parts) * 7 % len(line)
        self.parts.extend(part for part in (line[:cut], line[cut:]) if part)
        self._woken.set()

    def refuse(self, code: int, body: Object) -> None:
        self.status = code
        self.parts.append(orjson.dumps(body))
        self.end(None)

    def end(self, error: NetworkError | None) -> None:
        if not self._ended:
            self._ended, self._error = True, error
            self._woken.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            while self.parts:
                yield self.parts.popleft()
                await asyncio.sleep(0)
            if self._ended:
                if self._error is not None:
                    raise self._error
                return
            self._woken.clear()
            try:
                async with asyncio.timeout(70):
                    await self._woken.wait()
            except TimeoutError:
                raise TimedOut("nothing heard for 70 s") from None


def _query(request: Request) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(request.target).query).items()}


__all__ = ["ConnectFailed", "ConnectionLost", "Object", "Simulated", "TimedOut", "status"]
