"""What is to be watched, and what was seen there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import msgspec

from rayward.operator.ray.answers import Serve
from rayward.operator.ray.reach import Place
from rayward.operator.ray.schedule import Pace


@dataclass(frozen=True, slots=True)
class Deploy:
    """A Serve configuration to send.

    ``key`` names it: each session of a head gets it once. Where nothing was sent yet, as after a restart of the
    operator, it is sent only if the head does not hold it, or if it is ``anew``: the same configuration sent again
    begins a build that is under way from its start. Of ``surged`` deployments, by application and name, another replica
    may wait for a node while one answers.
    """

    key: str
    config: bytes = field(repr=False)
    anew: bool = False
    surged: frozenset[tuple[str, str]] = frozenset()


class Routes(Enum):
    """What a pod's own Serve proxy answered when it was asked for its routes."""

    ALL = "all"
    """It leads to every application asked for."""
    MISSING = "missing"
    SILENT = "silent"
    """Nothing that can be read came back."""


@dataclass(frozen=True, slots=True)
class ProxyPod:
    """A pod on which Serve may have a proxy; ``incarnation`` changes with its Ray container."""

    incarnation: str
    place: Place


@dataclass(frozen=True, slots=True)
class Target:
    """One head to watch.

    ``head`` is the uid of its pod: with another one nothing that was seen before counts. ``session``, where it is
    known, is the only session that is listened to. Each of ``proxies`` is asked for its routes until it leads to all
    of ``routed``, which are names of applications.
    """

    place: Place
    head: str = ""
    token: str = field(default="", repr=False)
    pace: Pace = Pace.IDLE
    deploy: Deploy | None = None
    session: str = ""
    proxies: tuple[ProxyPod, ...] = ()
    routed: frozenset[str] = frozenset()


_NO_ROUTES: Final[Mapping[str, Routes]] = {}


class Unanswered(msgspec.Struct, frozen=True):
    """A proxy that does not answer, in a row."""

    times: int
    skip: int
    """Looks that pass before it is asked again."""


_NOT_ASKED: Final[Mapping[str, Unanswered]] = {}
_NO_PROBLEMS: Final[Mapping[str, str]] = {}


class Failure(msgspec.Struct, frozen=True):
    """Why the last look failed: the name of a RayError, and its words."""

    reason: str
    message: str


class Observation(msgspec.Struct, frozen=True):
    """The latest news of a head.

    ``serve`` outlives failed looks, but not the session it came from. ``deployed`` is the key of the configuration
    that this session took; with ``refusal`` it is the one that Ray will not take, and why. ``starting`` is a session
    that had no application when it was first seen, until all of them run: no pod of it has a route before. ``routes``
    tells what each pod's proxy answered, by the pod's incarnation.
    """

    session: str = ""
    ray_version: str = ""
    serve: Serve | None = None
    deployed: str = ""
    refusal: str = ""
    failure: Failure | None = None
    starting: bool = False
    routes: Mapping[str, Routes] = _NO_ROUTES
    routed: frozenset[str] = frozenset()
    """The applications that ``routes`` speaks of."""
    unanswered: Mapping[str, Unanswered] = _NOT_ASKED
    """Of proxies that did not answer, how often, by the pod's incarnation."""
    unscheduled: Mapping[str, str] = _NO_PROBLEMS
    """Why no node has room for replicas of an application that has none, by its name."""
    crowded_out: frozenset[tuple[str, str]] = frozenset()
    """Application and name of each deployment of which a replica finds no node, whether others answer or not."""
    tracebacks: Mapping[str, str] = _NO_PROBLEMS
    """The last message with a traceback of each application that does not run, since this configuration was sent."""
    former: frozenset[str] = frozenset()
    """Messages that applications had when this configuration was sent: they speak of the one before, and Ray shows
    them until it has built the new one."""


UNSEEN = Observation()
