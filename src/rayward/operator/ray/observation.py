"""What is to be watched, and what was seen there."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from rayward.operator.ray.answers import Serve
from rayward.operator.ray.reach import Place
from rayward.operator.ray.schedule import Pace


@dataclass(frozen=True, slots=True)
class Deploy:
    """A Serve configuration to send.

    ``key`` names it: each session of a head gets it once. Where nothing was sent yet, as after a restart of the
    operator, it is sent only if the head does not hold it, or if it is ``anew``: the same configuration sent again
    begins a build that is under way from its start.
    """

    key: str
    config: bytes = field(repr=False)
    anew: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """One head to watch.

    ``head`` is the uid of its pod: with another one nothing that was seen before counts. ``session``, where it is
    known, is the only session that is listened to.
    """

    place: Place
    head: str = ""
    token: str = field(default="", repr=False)
    pace: Pace = Pace.IDLE
    deploy: Deploy | None = None
    session: str = ""


class Failure(msgspec.Struct, frozen=True):
    """Why the last look failed: the name of a RayError, and its words."""

    reason: str
    message: str


class Observation(msgspec.Struct, frozen=True):
    """The latest news of a head.

    ``serve`` outlives failed looks, but not the session it came from. ``deployed`` is the key of the configuration
    that this session took; with ``refusal`` it is the one that Ray will not take, and why.
    """

    session: str = ""
    ray_version: str = ""
    serve: Serve | None = None
    deployed: str = ""
    refusal: str = ""
    failure: Failure | None = None

    @property
    def reachable(self) -> bool:
        """Whether the last look went well."""
        return bool(self.session) and self.failure is None


UNSEEN = Observation()
