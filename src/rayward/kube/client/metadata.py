"""A client to whom the server sends only the metadata of objects."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import msgspec

from rayward.kube.client.api import Client
from rayward.kube.client.request import METADATA, METADATA_LIST, Request, Response
from rayward.kube.client.transport.base import ByteStream, Transport


class _MetadataTransport:
    """Asks for metadata in every request that reads a collection."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def request(self, request: Request) -> Response:
        return await self._transport.request(msgspec.structs.replace(request, accept=METADATA_LIST))

    def stream(self, request: Request) -> AbstractAsyncContextManager[ByteStream]:
        return self._transport.stream(msgspec.structs.replace(request, accept=METADATA))

    async def close(self) -> None:
        """The transport is not ours to close."""


def metadata_client(client: Client) -> Client:
    """A client for lists and watches of metadata over the connections of ``client``."""
    return Client(_MetadataTransport(client.transport), namespace=client.namespace)
