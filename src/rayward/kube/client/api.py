"""The asynchronous client: verbs on collections, over any transport."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Final, Self, TypeVar, Unpack

from rayward.kube.client import verbs
from rayward.kube.client.access import Access
from rayward.kube.client.config import find_access
from rayward.kube.client.errors import ApiError, Expired, from_answer
from rayward.kube.client.lists import PAGE_SIZE, ObjectList, decode_list, decode_object, in_one_go, next_page
from rayward.kube.client.options import (
    DeleteCollectionOptions,
    DeleteOptions,
    GetOptions,
    ListOptions,
    PatchOptions,
    PatchType,
    WatchOptions,
    WriteOptions,
)
from rayward.kube.client.ratelimit import TokenBucket
from rayward.kube.client.request import Request, Response
from rayward.kube.client.retry import SOMETIMES, RetryPolicy, wait_before_retry
from rayward.kube.client.transport.base import ByteStream, Transport
from rayward.kube.client.verbs import Body, Object
from rayward.kube.client.watch import WatchDecoder, WatchEvent, decoder
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import Resource
from rayward.net.errors import NetworkError

T = TypeVar("T", bound=KubeObject)

_REFUSED: Final = 400


class Client:
    """The verbs of the API, on objects as dictionaries.

    ``send_as`` decodes any answer into a slim type instead, ``answer`` leaves it as bytes. Requests that may be
    sent again are, as ``retry`` says; every refusal is an ApiError.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        namespace: str = "default",
        retry: RetryPolicy = SOMETIMES,
        limit: TokenBucket | None = None,
        observe: Callable[[Request, int], None] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.transport = transport
        self.namespace = namespace
        self._retry = retry
        self._limit = limit
        self._observe = observe
        self._sleep = sleep
        self._chance = chance
        self._now = now

    @classmethod
    def connect(
        cls,
        access: Access | None = None,
        *,
        user_agent: str = "rayward",
        max_in_flight: int = 128,
        observe: Callable[[Request, int], None] | None = None,
    ) -> Self:
        """A client over aiohttp for ``access``, or for the server that the environment names."""
        from rayward.kube.client.transport.aio import AioTransport

        access = access or find_access()
        transport = AioTransport(access, user_agent=user_agent, max_in_flight=max_in_flight)
        return cls(transport, namespace=access.namespace, observe=observe)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of every connection."""
        await self.transport.close()

    async def answer(self, request: Request) -> Response:
        """Send, again if need be, and give back an answer below 400.

        Raises:
            ApiError: The server refused.
            NetworkError: No whole answer.
        """
        attempt = 1
        while True:
            try:
                return await self.attempt(request)
            except (ApiError, NetworkError) as failure:
                wait = wait_before_retry(self._retry, attempt, request, failure, self._chance())
                if wait is None:
                    raise
            await self._sleep(wait)
            attempt += 1

    async def attempt(self, request: Request) -> Response:
        """Send once, for callers with their own idea of trying again."""
        await self._wait_for_turn()
        response = await self.transport.request(request)
        self._saw(request, response.status)
        if response.status >= _REFUSED:
            raise from_answer(response.status, response.headers, response.body, str(request))
        return response

    async def send(self, request: Request) -> Object:
        """Send, and decode the answer."""
        return decode_object((await self.answer(request)).body)

    async def send_as(self, request: Request, kind: type[T]) -> T:
        """Send, and decode the part of the answer that ``kind`` names."""
        return decoder(kind).decode((await self.answer(request)).body)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[ByteStream]:
        """Send once, and read an answer below 400 in parts."""
        await self._wait_for_turn()
        async with self.transport.stream(request) as stream:
            self._saw(request, stream.status)
            if stream.status >= _REFUSED:
                body = b"".join([part async for part in stream])
                raise from_answer(stream.status, stream.headers, body, str(request))
            yield stream

    async def get(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        **options: Unpack[GetOptions],
    ) -> Object:
        return await self.send(verbs.get(resource, name, namespace, subresource=subresource, **options))

    async def page(
        self, resource: Resource, namespace: str | None = None, **options: Unpack[ListOptions]
    ) -> ObjectList:
        """Read a collection as far as ``limit`` says."""
        return decode_list((await self.answer(verbs.list_(resource, namespace, **options))).body, resource)

    async def list(
        self, resource: Resource, namespace: str | None = None, **options: Unpack[ListOptions]
    ) -> ObjectList:
        """Read a whole collection, in pages of ``limit``; from the start in one go if it changes too fast for that."""
        items: list[Object] = []
        options.setdefault("limit", PAGE_SIZE)
        while True:
            try:
                page = await self.page(resource, namespace, **options)
            except Expired:
                if not options.get("continue_token"):
                    raise
                items.clear()
                options = in_one_go(options)
                continue
            items.extend(page.items)
            if not page.continue_token:
                return ObjectList(items, page.resource_version)
            options = next_page(options, page.continue_token)

    @asynccontextmanager
    async def watch(
        self, resource: Resource, kind: type[T], namespace: str | None = None, **options: Unpack[WatchOptions]
    ) -> AsyncGenerator[AsyncIterator[WatchEvent[T]]]:
        """Follow a collection over one connection: ``async with client.watch(...) as events: async for ...``."""
        start = "" if options.get("send_initial_events") else options.get("resource_version", "")
        async with self.stream(verbs.watch(resource, namespace, **options)) as stream:
            yield _events(stream, WatchDecoder(kind, start))

    async def create(
        self,
        resource: Resource,
        body: Body,
        namespace: str | None = None,
        *,
        name: str | None = None,
        subresource: str | None = None,
        **options: Unpack[WriteOptions],
    ) -> Object:
        """Make an object, or post to a subresource of ``name``."""
        return await self.send(verbs.create(resource, body, namespace, name=name, subresource=subresource, **options))

    async def update(
        self,
        resource: Resource,
        body: Body,
        name: str | None = None,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        **options: Unpack[WriteOptions],
    ) -> Object:
        """Replace an object; ``subresource="status"`` for its status."""
        return await self.send(verbs.update(resource, body, name, namespace, subresource=subresource, **options))

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: Body,
        kind: PatchType,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        **options: Unpack[PatchOptions],
    ) -> Object:
        return await self.send(verbs.patch(resource, name, body, kind, namespace, subresource=subresource, **options))

    async def apply(
        self,
        resource: Resource,
        body: Object,
        *,
        field_manager: str,
        force: bool = False,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        return await self.send(verbs.apply(resource, body, field_manager, force, subresource, dry_run))

    async def delete(
        self, resource: Resource, name: str, namespace: str | None = None, **options: Unpack[DeleteOptions]
    ) -> Object:
        """Delete one object; the answer is it, or a Status."""
        return await self.send(verbs.delete(resource, name, namespace, **options))

    async def delete_collection(
        self, resource: Resource, namespace: str | None = None, **options: Unpack[DeleteCollectionOptions]
    ) -> Object:
        """Delete every object that the selectors match."""
        return await self.send(verbs.delete_collection(resource, namespace, **options))

    async def scale(self, resource: Resource, name: str, replicas: int, namespace: str | None = None) -> Object:
        """Set the replicas of an object that has a scale."""
        return await self.send(verbs.scale(resource, name, replicas, namespace))

    async def evict(self, name: str, namespace: str, *, grace_period_seconds: int | None = None) -> Object:
        """Delete a pod unless a disruption budget is against it."""
        return await self.send(verbs.evict(name, namespace, grace_period_seconds))

    async def bind(self, name: str, namespace: str, node: str) -> Object:
        """Give a pod to a node."""
        return await self.send(verbs.bind(name, namespace, node))

    async def token(self, account: str, namespace: str, request: dict[str, Any] | None = None) -> Object:
        """A token of a service account; ``request`` is the spec of a TokenRequest."""
        return await self.send(verbs.token(account, namespace, request or {}))

    async def _wait_for_turn(self) -> None:
        if self._limit is not None and (wait := self._limit.take(self._now())) > 0:
            await self._sleep(wait)

    def _saw(self, request: Request, status: int) -> None:
        if self._observe is not None:
            self._observe(request, status)


async def _events(stream: ByteStream, state: WatchDecoder[T]) -> AsyncIterator[WatchEvent[T]]:
    async for part in stream:
        for event in state.feed(part):
            yield event
