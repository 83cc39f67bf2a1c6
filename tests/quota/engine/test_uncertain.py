"""Quota is given once, whatever the engine hears late: an answer that is lost, or one that was sent before."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from rayward.kinds.resources import CLUSTER_QUEUES, WORKLOADS
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.client.request import Request, Response
from rayward.kube.client.transport.base import ByteStream, Transport
from rayward.net.errors import TimedOut
from tests.quota.engine.stage import QuotaStage

pytestmark = pytest.mark.anyio


@pytest.fixture
async def quota(access: Access) -> AsyncGenerator[QuotaStage]:
    async with QuotaStage.on(access) as made:
        yield made


class _Late:
    """Has something else happen before one write arrives; may lose its answer, and then the watch falls behind."""

    def __init__(self, transport: Transport, written: str, meanwhile: Callable[[], Awaitable[None]], *, loses: bool):
        self.asked = asyncio.Event()
        """Set once a single Workload was read."""
        self.shows = asyncio.Event()
        self.shows.set()
        self._transport = transport
        self._written = re.compile(written, re.DOTALL)
        self._meanwhile = meanwhile
        self._loses = loses
        self._armed = True

    async def request(self, request: Request) -> Response:
        """Send."""
        text = f"{request.method} {request.target} {(request.body or b'').decode()}"
        if self._armed and self._written.search(text):
            self._armed = False
            await self._meanwhile()
            if self._loses:
                self.shows.clear()
                await self._transport.request(request)
                raise TimedOut("the answer was lost")
        if re.match(r"GET .*/workloads/[^/?]+ ", text):
            self.asked.set()
        return await self._transport.request(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[ByteStream]:
        """Watch."""
        return self._stream(request)

    async def close(self) -> None:
        """The transport is not ours to close."""

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncGenerator[ByteStream]:
        async with self._transport.stream(request) as stream:
            yield _Held(stream, self.shows)


class _Held:
    def __init__(self, stream: ByteStream, shows: asyncio.Event) -> None:
        self._stream = stream
        self._shows = shows

    @property
    def status(self) -> int:
        return self._stream.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._stream.headers

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            await self._shows.wait()
            yield part


def _write_of(quota: QuotaStage, name: str, what: str) -> str:
    """A write of this test's own: on a shared server the engine also finds what earlier tests left, and it goes."""
    return f"PATCH .*/{quota.namespace}/workloads/{name}/status.*{what}"


async def _holders(quota: QuotaStage) -> set[str]:
    return {name for name, one in (await quota.workloads()).items() if one.reserved and not one.finished}


async def test_quota_whose_reservation_was_not_answered_is_nobody_elses(quota: QuotaStage) -> None:
    await quota.queue(cpu=1)

    async def another_comes() -> None:
        await quota.ask("urgent", priority=9)
        await quota.until_condition("urgent", "QuotaReserved", False)

    late = _Late(quota.client.transport, _write_of(quota, "w", '"admission"'), another_comes, loses=True)
    await quota.ask("w")
    async with quota.engine(Client(late, namespace=quota.client.namespace)):

        async def is_decided() -> bool:
            return late.asked.is_set() or "urgent" in await _holders(quota)

        await quota.until(is_decided)
        assert await _holders(quota) == {"w"}
        late.shows.set()
        await quota.finish("w")
        await quota.until_admitted("urgent")
        assert await _holders(quota) == {"urgent"}


async def test_a_wait_that_is_told_late_frees_no_quota_that_was_reserved_since(quota: QuotaStage) -> None:
    await quota.queue(cpu=1)

    async def is_taken_by_the_one_that_waits() -> bool:
        status = (await quota.client.get(CLUSTER_QUEUES, quota.queue_name("q"))).get("status", {})
        return (status.get("reservingWorkloads"), status.get("pendingWorkloads")) == (1, 0)

    async def its_turn_comes() -> None:
        await quota.finish("first")
        await quota.until(is_taken_by_the_one_that_waits)
        await quota.ask("urgent", priority=9)
        await quota.until_condition("urgent", "QuotaReserved", False)

    told = _write_of(quota, "w", '"reason":"Pending"')
    late = _Late(quota.client.transport, told, its_turn_comes, loses=False)
    await quota.ask("first")
    async with quota.engine(Client(late, namespace=quota.client.namespace)):
        await quota.until_admitted("first")
        await quota.ask("w")
        await quota.until_admitted("w")
        assert await _holders(quota) == {"w"}
        await quota.finish("w")
        await quota.until_admitted("urgent")


async def test_what_a_slice_that_is_gone_was_to_replace_goes_on_and_holds_its_quota(quota: QuotaStage) -> None:
    await quota.queue(cpu=4)

    async def it_goes() -> None:
        await quota.client.delete(WORKLOADS, "grown", quota.namespace)

    late = _Late(quota.client.transport, _write_of(quota, "grown", '"admission"'), it_goes, loses=False)
    await quota.ask("slice", count=2)
    async with quota.engine(Client(late, namespace=quota.client.namespace)):
        await quota.until_admitted("slice")
        await quota.ask("grown", count=3, replaces="slice")

        async def is_gone() -> bool:
            return "grown" not in await quota.workloads()

        await quota.until(is_gone)
        await quota.ask("other", count=3)
        await quota.until_condition("other", "QuotaReserved", False)
        assert await _holders(quota) == {"slice"}
        await quota.finish("slice")
        await quota.until_admitted("other")
