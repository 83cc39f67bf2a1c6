"""A transport that answers from a function and remembers what was asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import orjson

from rayward.kube.client.request import Request, Response
from rayward.kube.client.transport.base import ByteStream
from rayward.net.errors import NetworkError


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer in parts; an error among them is raised in its place."""

    parts: Sequence[bytes | NetworkError]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            if isinstance(part, NetworkError):
                raise part
            yield part


Answer = Response | Stream | NetworkError


def answer_json(status: int, body: object, **headers: str) -> Response:
    """An answer with a JSON body; ``retry_after`` becomes ``retry-after``."""
    return Response(status, {name.replace("_", "-"): value for name, value in headers.items()}, orjson.dumps(body))


class RecordingTransport:
    """Answers each request by what ``answer`` says of it."""

    def __init__(self, answer: Callable[[Request], Answer]) -> None:
        self._answer = answer
        self.requests: list[Request] = []

    async def request(self, request: Request) -> Response:
        """The answer of the function, whole."""
        self.requests.append(request)
        answer = self._answer(request)
        if isinstance(answer, NetworkError):
            raise answer
        if isinstance(answer, Response):
            return answer
        return Response(answer.status, answer.headers, b"".join([part async for part in answer]))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[ByteStream]:
        """The answer of the function, in parts."""
        self.requests.append(request)
        answer = self._answer(request)
        if isinstance(answer, NetworkError):
            raise answer
        yield Stream([answer.body], answer.status, answer.headers) if isinstance(answer, Response) else answer

    async def close(self) -> None:
        """Nothing is held."""
