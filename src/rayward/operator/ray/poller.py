"""Watches the dashboards of all heads."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from typing import Final

from rayward.kube.core.objects import Key
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.workers import DONE, Result, Workers
from rayward.operator.ray.look import look
from rayward.operator.ray.observation import UNSEEN, Observation, Target
from rayward.operator.ray.reach import Reach
from rayward.operator.ray.schedule import next_look, rest_of

_AT_ONCE: Final = 64


class Poller:
    """Looks at each followed head as often as it is worth it, and tells when something changed there.

    Args:
        reach: The way to heads.
        wake: Called with the key of a head whose observation changed.
        at_once: How many heads are looked at at the same time.
        clock: Time.
        chance: Spreads looks.
    """

    def __init__(
        self,
        reach: Reach,
        wake: Callable[[Key], None],
        *,
        at_once: int = _AT_ONCE,
        clock: Clock = SYSTEM_CLOCK,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._reach = reach
        self._wake = wake
        self._chance = chance
        self._clock = clock
        self._targets: dict[Key, Target] = {}
        self._seen: dict[Key, Observation] = {}
        self._failures: dict[Key, int] = {}
        self._owners: dict[str, Key] = {}
        self._sessions: dict[Key, str] = {}
        self._looking: dict[Key, asyncio.Task[Observation]] = {}
        self._workers: Workers[Key] = Workers("dashboards", self._look, workers=at_once, clock=clock, chance=chance)

    def follow(self, key: Key, target: Target) -> Observation:
        """Watch ``target`` under ``key`` from now on, and say what was seen there last. Call it in every reconcile."""
        known = self._targets.get(key)
        if known == target:
            return self._seen.get(key, UNSEEN)
        if known is not None and (known.head, known.place) != (target.head, target.place):
            self._forget(key)
        self._targets[key] = target
        self._failures.pop(key, None)
        self._workers.add(key)
        return self._seen.get(key, UNSEEN)

    def latest(self, key: Key) -> Observation:
        """What was seen last."""
        return self._seen.get(key, UNSEEN)

    def drop(self, key: Key) -> None:
        """Watch it no longer."""
        if self._targets.pop(key, None) is not None:
            self._forget(key)

    def following(self) -> Iterable[Key]:
        """The keys of all watched heads."""
        return tuple(self._targets)

    async def run(self) -> None:
        """Watch until cancelled."""
        await self._workers.run()

    async def _look(self, key: Key) -> Result:
        target = self._targets.get(key)
        if target is None:
            return DONE
        before, began = self.latest(key), self._clock.now()
        looking = asyncio.create_task(look(self._reach, target, before, lambda session: self._claim(key, session)))
        self._looking[key] = looking
        try:
            now = await looking
        except asyncio.CancelledError:
            if self._looking.get(key) is looking:
                raise
            now = UNSEEN
        if self._looking.get(key) is not looking:
            # Dropped or replaced meanwhile: what was seen is of somebody who is gone.
            return Result(0.0) if key in self._targets else DONE
        del self._looking[key]
        self._seen[key] = now
        self._failures[key] = self._failures.get(key, 0) + 1 if now.failure else 0
        if now != before:
            self._wake(key)
        settled = now.serve is None or now.serve.settled
        pace, failures = self._targets[key].pace, self._failures[key]
        pause = next_look(pace, settled=settled, failures=failures, chance=self._chance())
        return Result(rest_of(pause, self._clock.now() - began))

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
