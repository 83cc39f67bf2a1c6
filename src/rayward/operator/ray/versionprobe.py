"""Which Ray a head runs: it is asked until it has answered once, for it cannot change while the head lives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rayward.kube.runtime.backoff import Backoff
from rayward.operator.ray.dashboard import Dashboard
from rayward.operator.ray.errors import RayError
from rayward.operator.ray.poller import Claim
from rayward.operator.ray.reach import Place, Reach

_SECONDS: Final = 5.0
_BACKOFF: Final = Backoff(5.0, 60.0)
_MOST_LOOKS: Final = 4
"""A head that nobody here can reach, or that asks for a token, is left alone."""


@dataclass(frozen=True, slots=True)
class VersionTarget:
    """A head's dashboard, and which life of the head it is."""

    place: Place
    head: str


class VersionProbe:
    """Asks for the version alone; until it is known, the observation is an empty text."""

    unseen = ""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def look(self, target: VersionTarget, before: str, claim: Claim) -> str:
        """The version, or what was known ``before``."""
        try:
            version = await Dashboard(self._reach, target.place, seconds=_SECONDS).version()
        except RayError:
            return before
        # An address may by now be another pod's.
        return version.ray_version if claim(version.session_name) else before

    def has_failed(self, seen: str) -> bool:
        """Whether it is still unknown."""
        return not seen

    def pause(self, target: VersionTarget, seen: str, failures: int, chance: float, heads: int) -> float | None:
        """None once it is known, or was asked for often enough."""
        return None if seen or failures >= _MOST_LOOKS else _BACKOFF.after(failures, chance)
