"""At most one of several processes leads: the Lease protocol of client-go."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

import msgspec

from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError, NotFound
from rayward.kube.client.request import Request
from rayward.kube.core.lease import Lease, LeaseSpec
from rayward.kube.core.meta import rfc3339_micro
from rayward.kube.core.objects import ObjectMeta
from rayward.kube.core.resource import LEASES
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.net.errors import NetworkError

_log = logging.getLogger(__name__)
_JITTER = 1.2


class LeadershipLost(Exception):  # noqa: N818 - it names what happened
    """Another process may lead now: stop everything that only a leader does."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Who competes for which Lease, and how patiently. The defaults are client-go's."""

    namespace: str
    name: str
    identity: str
    lease_seconds: float = 15.0
    """How long others wait after they last saw a change of the Lease."""
    renew_seconds: float = 10.0
    """How long the leader tries to renew before it gives up; less than ``lease_seconds``."""
    retry_seconds: float = 2.0


@dataclass(frozen=True, slots=True)
class Seen:
    """A Lease and when, on our own clock, it was first seen like this. Other machines' clocks are never compared."""

    lease: Lease
    at: float


def observe(before: Seen | None, lease: Lease, now: float) -> Seen:
    """What is known after reading ``lease``."""
    if before is not None and before.lease.spec == lease.spec:
        return Seen(lease, before.at)
    return Seen(lease, now)


def holds(terms: Terms, seen: Seen | None, now: float) -> bool:
    """Whether we hold the Lease and it has not run out."""
    return seen is not None and seen.lease.spec.holder_identity == terms.identity and not _is_over(seen, now)


def bid(terms: Terms, seen: Seen | None, now: float, utc: datetime) -> LeaseSpec | None:
    """What to write to lead; None while somebody else does."""
    mine = LeaseSpec(
        holder_identity=terms.identity,
        lease_duration_seconds=max(1, int(terms.lease_seconds)),
        acquire_time=rfc3339_micro(utc),
        renew_time=rfc3339_micro(utc),
        lease_transitions=0,
    )
    if seen is None:
        return mine
    held = seen.lease.spec
    if held.holder_identity == terms.identity:
        return msgspec.structs.replace(mine, acquire_time=held.acquire_time, lease_transitions=held.lease_transitions)
    if held.holder_identity and not _is_over(seen, now):
        return None
    return msgspec.structs.replace(mine, lease_transitions=(held.lease_transitions or 0) + 1)


def release(seen: Seen, utc: datetime) -> LeaseSpec:
    """What to write to let the next one lead at once."""
    return LeaseSpec(
        holder_identity="",
        lease_duration_seconds=1,
        acquire_time=rfc3339_micro(utc),
        renew_time=rfc3339_micro(utc),
        lease_transitions=seen.lease.spec.lease_transitions,
    )


def _is_over(seen: Seen, now: float) -> bool:
    return now >= seen.at + (seen.lease.spec.lease_duration_seconds or 0)


class Elector:
    """Competes for a Lease, leads, renews, and lets go."""

    def __init__(
        self,
        client: Client,
        terms: Terms,
        *,
        clock: Clock = SYSTEM_CLOCK,
        chance: Callable[[], float] = random.random,
        changed: Callable[[bool], None] | None = None,
    ) -> None:
        self._client = client
        self._terms = terms
        self._clock = clock
        self._chance = chance
        self._changed = changed
        self._seen: Seen | None = None
        self._renewed_at = 0.0

    @property
    def leading(self) -> bool:
        """Whether this process leads now."""
        return holds(self._terms, self._seen, self._clock.now())

    @property
    def holder(self) -> str:
        """Who led when last seen."""
        return (self._seen.lease.spec.holder_identity or "") if self._seen else ""

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait for leadership, then run ``lead`` until it returns or leadership is lost.

        Raises:
            LeadershipLost: The Lease could not be renewed; ``lead`` was cancelled.
        """
        await self._acquire()
        self._report(True)
        leading = asyncio.ensure_future(lead())
        renewing = asyncio.ensure_future(self._renew())
        try:
            await asyncio.wait((leading, renewing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            lost = renewing.done() and not leading.done()
            for task in (leading, renewing):
                task.cancel()
            # What only a leader may do has ended before another can begin.
            await asyncio.wait((leading, renewing))
            self._report(False)
            if not lost:
                await self._let_go()
        if lost:
            raise LeadershipLost(f"lease {self._terms.namespace}/{self._terms.name} was not renewed in time")
        leading.result()

    async def _acquire(self) -> None:
        while not await self._try():
            await self._clock.sleep(self._terms.retry_seconds * (1 + _JITTER * self._chance()))

    async def _renew(self) -> None:
        while True:
            # Never past the deadline: what is left of the lease belongs to those who stop.
            left = self._renewed_at + self._terms.renew_seconds - self._clock.now()
            await self._clock.sleep(max(0.0, min(self._terms.retry_seconds, left)))
            left = self._renewed_at + self._terms.renew_seconds - self._clock.now()
            if left <= 0:
                return
            try:
                await self._clock.within(left, self._try())
            except TimeoutError:
                return

    async def _try(self) -> bool:
        """One attempt to get or keep the Lease."""
        try:
            # The leader knows what it wrote last and need not read it again.
            if self.leading and await self._write_bid():
                return True
            await self._look()
            return await self._write_bid()
        except (ApiError, NetworkError) as error:
            _log.info("lease %s/%s: %s", self._terms.namespace, self._terms.name, error)
            return False

    async def _look(self) -> None:
        try:
            lease = await self._send(verbs.get(LEASES, self._terms.name, self._terms.namespace))
        except NotFound:
            self._seen = None
        else:
            self._seen = observe(self._seen, lease, self._clock.now())

    async def _write_bid(self) -> bool:
        spec = bid(self._terms, self._seen, self._clock.now(), self._clock.utc())
        if spec is None:
            return False
        sent_at = self._clock.now()
        try:
            written = await self._send(self._request(spec))
        except (ApiError, NetworkError) as error:
            if not self.leading:
                raise
            _log.info("lease %s/%s: %s; reading it again", self._terms.namespace, self._terms.name, error)
            return False
        # Counted from before the write: others count from after it.
        self._seen, self._renewed_at = Seen(written, sent_at), sent_at
        return True

    async def _let_go(self) -> None:
        if self._seen is None or not self.leading:
            return
        request = self._request(release(self._seen, self._clock.utc()))
        try:
            await self._clock.within(self._terms.renew_seconds, self._send(request))
        except (ApiError, NetworkError, TimeoutError) as error:
            _log.info("lease %s/%s was not released: %s", self._terms.namespace, self._terms.name, error)
        self._seen = None

    def _request(self, spec: LeaseSpec) -> Request:
        name, namespace = self._terms.name, self._terms.namespace
        if self._seen is None:
            return verbs.create(LEASES, _body(ObjectMeta(name=name, namespace=namespace), spec), namespace)
        # With the version last seen: of two who bid at once, one gets a conflict.
        return verbs.update(LEASES, _body(self._seen.lease.metadata, spec), name, namespace)

    async def _send(self, request: Request) -> Lease:
        answer = await self._client.attempt(request)
        return msgspec.json.decode(answer.body, type=Lease)

    def _report(self, leading: bool) -> None:
        _log.info("lease %s/%s: %s", self._terms.namespace, self._terms.name, "leading" if leading else "not leading")
        if self._changed is not None:
            self._changed(leading)


def _body(metadata: ObjectMeta, spec: LeaseSpec) -> bytes:
    return msgspec.json.encode(
        {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}
    )
