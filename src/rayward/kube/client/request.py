"""Requests and answers as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

JSON: Final = "application/json"
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
METADATA: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
MAX_BODY: Final = 512 * 1024 * 1024
METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"


class Request(msgspec.Struct, frozen=True):
    """One request; ``target`` is the escaped path with its query."""

    method: str
    target: str
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON
    repeatable: bool = False
    """Whether sending it twice has the effect of sending it once."""
    seconds: float | None = 60.0
    """How long the whole answer may take; for streams, how long the server may be silent."""
    headers: tuple[tuple[str, str], ...] = ()
    """More headers, for who is behind the API server (the proxy subresources pass them on)."""
    max_body: int = MAX_BODY
    """A whole answer of more bytes is a ProtocolError."""

    def __str__(self) -> str:
        return f"{self.method} {self.target}"


class Response(msgspec.Struct, frozen=True):
    """A whole answer. Header names are looked up in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
