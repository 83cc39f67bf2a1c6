"""One port of one service: who is behind it now, what they have to do, and who is next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Final, Protocol

import msgspec

from rayward.local.traffic.answers import Answers
from rayward.local.traffic.choice import least_busy, take_turn
from rayward.local.traffic.place import Place

_MOST_REMEMBERED: Final = 4096
# Ray's pods are looked at every five seconds: one look that fails must not cost a request.
_GAP_SECONDS: Final = 6.0


class Idle(Protocol):
    """A connection to a backend that waits for its next request."""

    def close(self) -> None: ...


class Target(msgspec.Struct, frozen=True):
    """A backend as it should be."""

    pod: str
    """The pod's name, or the address where no pod is behind it."""
    address: str
    port: int
    place: Place


class Member:
    """A backend as it is."""

    __slots__ = ("answers", "current", "failed", "idle", "in_flight", "route", "served", "target")

    def __init__(self, route: Route, target: Target) -> None:
        self.route = route
        self.target = target
        self.current = True
        """Whether it may get something new."""
        self.in_flight = 0
        self.served = 0
        self.failed = 0
        self.answers = Answers()
        """Of HTTP alone."""
        self.idle: list[Idle] = []

    def begin(self) -> None:
        """A request or connection is its."""
        self.in_flight += 1
        self.served += 1

    def end(self) -> None:
        self.in_flight -= 1
        if not self.in_flight and not self.current:
            self.route.forget(self)

    def leave(self) -> None:
        """Take nothing new; what is in flight goes on."""
        self.current = False
        while self.idle:
            self.idle.pop().close()


class Group(msgspec.Struct, frozen=True):
    """Backends that share a weight."""

    weight: int
    targets: tuple[Target, ...]


class Route:
    """The way from a port of a service to its backends."""

    def __init__(self, service: str, port: str, changed: Callable[[], None], now: Callable[[], float]) -> None:
        self.service = service
        self.port = port
        self.sticky_seconds = 0
        """How long a client stays with a backend; 0 if it need not."""
        self.http = False
        """Whether requests are moved, not connections."""
        self._changed = changed
        self._now = now
        self._members: dict[Target, Member] = {}
        self._groups: list[list[Member]] = []
        self._weights: list[int] = []
        self._credits: list[int] = []
        self._turn = 0
        self._stuck: dict[str, tuple[Member, float]] = {}
        self._emptied = -_GAP_SECONDS
        self._news: asyncio.Future[None] | None = None
        self.refused = 0
        """How many found nobody."""

    def __str__(self) -> str:
        return f"{self.service} port {self.port}"

    @property
    def members(self) -> Collection[Member]:
        """All backends, those that left with something in flight included."""
        return self._members.values()

    @property
    def empty(self) -> bool:
        """Whether nobody is there."""
        return not any(self._groups)

    @property
    def in_gap(self) -> bool:
        """Whether the last backend left only a moment ago: its successor may not be known yet."""
        return self._now() - self._emptied < _GAP_SECONDS

    def update(self, groups: Sequence[Group]) -> None:
        """Have these backends from now on."""
        had_some = not self.empty
        # One that gets nothing new has left, and is to be drained like any other.
        groups = [group for group in groups if group.weight > 0]
        wanted = {target for group in groups for target in group.targets}
        changed = False
        for target, member in list(self._members.items()):
            if target not in wanted and member.current:
                changed = True
                member.leave()
                if not member.in_flight:
                    del self._members[target]
        for target in wanted:
            found = self._members.get(target)
            if found is None:
                self._members[target] = Member(self, target)
            changed |= found is None or not found.current
            self._members[target].current = True
        self._groups = [[self._members[target] for target in group.targets] for group in groups]
        weights = [group.weight for group in groups]
        if weights != self._weights:
            self._weights, self._credits = weights, [0] * len(weights)
        if had_some and self.empty:
            self._emptied = self._now()
        if changed:
            self._changed()
            if self._news is not None and not self._news.done():
                self._news.set_result(None)

    def forget(self, member: Member) -> None:
        """A backend that left has nothing in flight any more."""
        if self._members.get(member.target) is member:
            del self._members[member.target]
        self._changed()

    def pick(self, tried: Collection[Member], client: str) -> Member | None:
        """The next backend, none of ``tried``; None if nobody is left."""
        if self.sticky_seconds:
            found = self._stuck.get(client)
            if found is not None and found[1] > self._now() and found[0].current and found[0] not in tried:
                self._stick(client, found[0])
                return found[0]
        groups = self._groups
        if len(groups) == 1:
            members = groups[0]
        else:
            weights = [
                weight if any(member not in tried for member in group) else 0
                for weight, group in zip(self._weights, groups, strict=True)
            ]
            turn = take_turn(weights, self._credits)
            if turn is None:
                return None
            members = groups[turn]
        self._turn += 1
        if tried:
            busy = [None if member in tried else member.in_flight for member in members]
        else:
            busy = [member.in_flight for member in members]
        chosen = least_busy(busy, self._turn)
        if chosen is None:
            return None
        if self.sticky_seconds:
            self._stick(client, members[chosen])
        return members[chosen]

    async def wait_for_news(self, seconds: float) -> None:
        """Until the backends change, or so long."""
        if self._news is None or self._news.done():
            self._news = asyncio.get_running_loop().create_future()
        await asyncio.wait((self._news,), timeout=seconds)

    def _stick(self, client: str, member: Member) -> None:
        self._stuck.pop(client, None)
        if len(self._stuck) >= _MOST_REMEMBERED:
            self._stuck.pop(next(iter(self._stuck)))
        self._stuck[client] = (member, self._now() + self.sticky_seconds)
