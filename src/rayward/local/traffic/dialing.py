"""Reaching a backend: one that refuses is not asked again, and a gap between backends is waited out."""

from __future__ import annotations

import asyncio
import socket
from typing import Final

from rayward.local.traffic.place import connect
from rayward.local.traffic.route import Member, Route

_CONNECT_SECONDS: Final = 2.0
_REACH_SECONDS: Final = 6.0
_PAUSE_SECONDS: Final = 0.1


class UnreachableError(Exception):
    """No backend could be reached; the text says why, for the user."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


async def reach(
    route: Route, client: str, tried: set[Member], *, patient: bool, first: Member | None = None
) -> tuple[Member, socket.socket]:
    """A connected backend, already counted as having something in flight; ``first`` if it was picked already.

    Raises:
        UnreachableError: There is none; a ``patient`` caller hears that only after a while.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _REACH_SECONDS
    failure = ""
    status = 502
    while True:
        member, first = first or route.pick(tried, client), None
        if member is None:
            left = deadline - loop.time()
            if not patient or left <= 0 or (not failure and not tried and not route.in_gap):
                route.refused += 1
                if failure:
                    raise UnreachableError(status, failure)
                raise UnreachableError(503, "it has no ready endpoint")
            # Whoever refused may be going away, and its successor not be known yet.
            await route.wait_for_news(min(left, _PAUSE_SECONDS))
            tried.clear()
            continue
        member.begin()
        try:
            target = member.target
            return member, await connect(target.place, "tcp", target.address, target.port, _CONNECT_SECONDS)
        except OSError as error:
            late = isinstance(error, TimeoutError)
            status = 504 if late else 502
            what = "no answer in time" if late else error.strerror or str(error)
            failure = f"{member.target.pod} ({member.target.address}:{member.target.port}): {what}"
            member.failed += 1
            tried.add(member)
            member.end()
        except BaseException:
            member.end()
            raise
