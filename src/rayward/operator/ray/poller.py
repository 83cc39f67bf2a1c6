"""Polls Ray's HTTP interfaces on all heads, and wakes who waits for a change."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from rayward.kube.core.objects import Key
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.workers import DONE, Result, Workers
from rayward.operator.ray.reach import Place
from rayward.operator.ray.schedule import rest_of

_AT_ONCE: Final = 64

Claim = Callable[[str], bool]
"""Whether a session that a head showed may be this target's."""


class Head(Protocol):
    """What every target has: the head's address and the uid of its pod."""

    @property
    def place(self) -> Place: ...

    @property
    def head(self) -> str:
        """With another pod nothing that was seen before counts."""
        ...


TargetT = TypeVar("TargetT", bound=Head)
TargetT_contra = TypeVar("TargetT_contra", bound=Head, contravariant=True)
SeenT = TypeVar("SeenT")


class Probe(Protocol[TargetT_contra, SeenT]):
    """What is asked of a head, and how often."""

    @property
    def unseen(self) -> SeenT:
        """The observation before the first answer."""
        ...

    async def look(self, target: TargetT_contra, before: SeenT, claim: Claim) -> SeenT:
        """The observation now; failures to reach the head are part of it."""
        ...

    def has_failed(self, seen: SeenT) -> bool:
        """Whether the last look failed, so that the next ones are spread."""
        ...

    def pause(self, target: TargetT_contra, seen: SeenT, failures: int, chance: float, heads: int) -> float | None:
        """Seconds between the beginnings of two looks, None for no other one; ``heads`` are polled in all."""
        ...


class Poller(Generic[TargetT, SeenT]):
    """Looks at each followed head as often as its probe says; wakes a key when its observation changed."""

    def __init__(
        self,
        probe: Probe[TargetT, SeenT],
        wake: Callable[[Key], None],
        *,
        at_once: int = _AT_ONCE,
        clock: Clock = SYSTEM_CLOCK,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._probe = probe
        self._wake = wake
        self._chance = chance
        self._clock = clock
        self._targets: dict[Key, TargetT] = {}
        self._seen: dict[Key, SeenT] = {}
        self._failures: dict[Key, int] = {}
        self._owners: dict[str, Key] = {}
        self._sessions: dict[Key, str] = {}
        self._looking: dict[Key, asyncio.Task[SeenT]] = {}
        self._workers: Workers[Key] = Workers("dashboards", self._look, workers=at_once, clock=clock, chance=chance)

    def __contains__(self, key: Key) -> bool:
        return key in self._targets

    def follow(self, key: Key, target: TargetT) -> SeenT:
        """Poll ``target`` under ``key`` from now on; returns the latest observation. Call it in every reconcile."""
        known = self._targets.get(key)
        if known == target:
            return self.latest(key)
        if known is not None and (known.head, known.place) != (target.head, target.place):
            self._forget(key)
        self._targets[key] = target
        self._failures.pop(key, None)
        self._workers.add(key)
        return self.latest(key)

    def latest(self, key: Key) -> SeenT:
        """What was seen last."""
        return self._seen.get(key, self._probe.unseen)

    def drop(self, key: Key) -> None:
        """Poll it no longer."""
        if self._targets.pop(key, None) is not None:
            self._forget(key)

    async def run(self) -> None:
        await self._workers.run()

    async def _look(self, key: Key) -> Result:
        target = self._targets.get(key)
        if target is None:
            return DONE
        before, began = self.latest(key), self._clock.now()
        looking = asyncio.ensure_future(self._probe.look(target, before, lambda session: self._claim(key, session)))
        self._looking[key] = looking
        try:
            now = await looking
        except asyncio.CancelledError:
            if self._looking.get(key) is looking:
                raise
            now = self._probe.unseen
        if self._looking.get(key) is not looking:
            # Dropped or replaced meanwhile: what was seen is of a head that is gone.
            return Result(0.0) if key in self._targets else DONE
        del self._looking[key]
        self._seen[key] = now
        self._failures[key] = self._failures.get(key, 0) + 1 if self._probe.has_failed(now) else 0
        if now != before:
            self._wake(key)
        pause = self._probe.pause(self._targets[key], now, self._failures[key], self._chance(), len(self._targets))
        return DONE if pause is None else Result(rest_of(pause, self._clock.now() - began))

    def _claim(self, key: Key, session: str) -> bool:
        """Whether ``session`` is of the head under ``key``: it belongs to who showed it first, as long as it does."""
        if self._owners.setdefault(session, key) != key:
            return False
        if self._sessions.get(key) != session:
            self._release(key)
            self._sessions[key] = session
        return True

    def _release(self, key: Key) -> None:
        session = self._sessions.pop(key, None)
        if session is not None:
            del self._owners[session]

    def _forget(self, key: Key) -> None:
        self._seen.pop(key, None)
        self._failures.pop(key, None)
        self._release(key)
        looking = self._looking.pop(key, None)
        if looking is not None:
            # A head that is gone may keep a request waiting long; who comes after it does not wait.
            looking.cancel()
