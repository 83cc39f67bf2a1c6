"""One API request on its way through the server, and the answer to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

from rayward.local.apiserver.identity import User
from rayward.local.apiserver.options import Query
from rayward.local.apiserver.requestinfo import RequestInfo
from rayward.local.apiserver.resource import Resource


@dataclass(slots=True)
class Request:
    """What was asked, by whom, and the warnings that go back with the answer."""

    info: RequestInfo
    resource: Resource
    query: Query
    headers: Mapping[bytes, bytes]
    body: bytes
    user: User
    warnings: list[str] = field(default_factory=list[str])

    def header(self, name: bytes) -> str:
        """A header's text, or empty."""
        return self.headers.get(name, b"").decode("latin-1")

    @property
    def agent(self) -> str:
        return self.header(b"user-agent")

    @property
    def namespace(self) -> str:
        """The namespace in the URL."""
        return self.info.namespace

    @property
    def name(self) -> str:
        """The object's name in the URL."""
        return self.info.name


@dataclass(frozen=True, slots=True)
class Response:
    code: int
    body: bytes
    content_type: bytes = b"application/json"
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that goes on until one side ends it."""

    chunks: AsyncIterator[bytes]
    content_type: bytes = b"application/json"
