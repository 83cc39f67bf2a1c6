"""The client for code that waits: the command line and scripts."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
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
from rayward.kube.client.request import Request, Response
from rayward.kube.client.retry import SOMETIMES, RetryPolicy, wait_before_retry
from rayward.kube.client.transport.base import SyncByteStream, SyncTransport
from rayward.kube.client.verbs import Body, Object
from rayward.kube.client.watch import WatchDecoder, WatchEvent, decoder
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import Resource
from rayward.net.errors import NetworkError

T = TypeVar("T", bound=KubeObject)

_REFUSED: Final = 400


class SyncClient:
    """The verbs of ``api.Client``, waiting for each answer."""

    def __init__(
        self,
        transport: SyncTransport,
        *,
        namespace: str = "default",
        retry: RetryPolicy = SOMETIMES,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.transport = transport
        self.namespace = namespace
        self._retry = retry
        self._sleep = sleep
        self._chance = chance

    @classmethod
    def connect(cls, access: Access | None = None, *, user_agent: str = "rayward") -> Self:
        """A client over the standard library for ``access``, or for the server that the environment names."""
        from rayward.kube.client.transport.blocking import BlockingTransport

        access = access or find_access()
        return cls(BlockingTransport(access, user_agent=user_agent), namespace=access.namespace)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of every connection."""
        self.transport.close()

    def answer(self, request: Request) -> Response:
        """Send, again if need be, and give back an answer below 400.

        Raises:
            ApiError: The server refused.
            NetworkError: No whole answer.
        """
        attempt = 1
        while True:
            try:
                return self._once(request)
            except (ApiError, NetworkError) as failure:
                wait = wait_before_retry(self._retry, attempt, request, failure, self._chance())
                if wait is None:
                    raise
            self._sleep(wait)
            attempt += 1

    def send(self, request: Request) -> Object:
        """Send, and decode the answer."""
        return decode_object(self.answer(request).body)

    def send_as(self, request: Request, kind: type[T]) -> T:
        """Send, and decode the part of the answer that ``kind`` names."""
        return decoder(kind).decode(self.answer(request).body)

    @contextmanager
    def stream(self, request: Request) -> Generator[SyncByteStream]:
        """Send once, and read an answer below 400 in parts."""
        with self.transport.stream(request) as stream:
            if stream.status >= _REFUSED:
                raise from_answer(stream.status, stream.headers, b"".join(stream), str(request))
            yield stream

    def get(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        **options: Unpack[GetOptions],
    ) -> Object:
        return self.send(verbs.get(resource, name, namespace, subresource=subresource, **options))

    def page(self, resource: Resource, namespace: str | None = None, **options: Unpack[ListOptions]) -> ObjectList:
        """Read a collection as far as ``limit`` says."""
        return decode_list(self.answer(verbs.list_(resource, namespace, **options)).body, resource)

    def list(self, resource: Resource, namespace: str | None = None, **options: Unpack[ListOptions]) -> ObjectList:
        """Read a whole collection, in pages of ``limit``; from the start in one go if it changes too fast for that."""
        items: list[Object] = []
        options.setdefault("limit", PAGE_SIZE)
        while True:
            try:
                page = self.page(resource, namespace, **options)
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

    @contextmanager
    def watch(
        self, resource: Resource, kind: type[T], namespace: str | None = None, **options: Unpack[WatchOptions]
    ) -> Generator[Iterator[WatchEvent[T]]]:
        """Follow a collection over one connection: ``with client.watch(...) as events: for ...``."""
        start = "" if options.get("send_initial_events") else options.get("resource_version", "")
        with self.stream(verbs.watch(resource, namespace, **options)) as stream:
            yield _events(stream, WatchDecoder(kind, start))

    def create(
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
        return self.send(verbs.create(resource, body, namespace, name=name, subresource=subresource, **options))

    def update(
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
        return self.send(verbs.update(resource, body, name, namespace, subresource=subresource, **options))

    def patch(
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
        return self.send(verbs.patch(resource, name, body, kind, namespace, subresource=subresource, **options))

    def apply(
        self,
        resource: Resource,
        body: Object,
        *,
        field_manager: str,
        force: bool = False,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        return self.send(verbs.apply(resource, body, field_manager, force, subresource, dry_run))

    def delete(
        self, resource: Resource, name: str, namespace: str | None = None, **options: Unpack[DeleteOptions]
    ) -> Object:
        """Delete one object; the answer is it, or a Status."""
        return self.send(verbs.delete(resource, name, namespace, **options))

    def delete_collection(
        self, resource: Resource, namespace: str | None = None, **options: Unpack[DeleteCollectionOptions]
    ) -> Object:
        """Delete every object that the selectors match."""
        return self.send(verbs.delete_collection(resource, namespace, **options))

    def scale(self, resource: Resource, name: str, replicas: int, namespace: str | None = None) -> Object:
        """Set the replicas of an object that has a scale."""
        return self.send(verbs.scale(resource, name, replicas, namespace))

    def evict(self, name: str, namespace: str, *, grace_period_seconds: int | None = None) -> Object:
        """Delete a pod unless a disruption budget is against it."""
        return self.send(verbs.evict(name, namespace, grace_period_seconds))

    def token(self, account: str, namespace: str, request: dict[str, Any] | None = None) -> Object:
        """A token of a service account; ``request`` is the spec of a TokenRequest."""
        return self.send(verbs.token(account, namespace, request or {}))

    def _once(self, request: Request) -> Response:
        response = self.transport.request(request)
        if response.status >= _REFUSED:
            raise from_answer(response.status, response.headers, response.body, str(request))
        return response


def _events(stream: SyncByteStream, state: WatchDecoder[T]) -> Iterator[WatchEvent[T]]:
    for part in stream:
        yield from state.feed(part)
