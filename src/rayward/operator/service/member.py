"""The Ray clusters of a service, as one look at the world found them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

RUNNING: Final = "RUNNING"
DEPLOY_FAILED: Final = "DEPLOY_FAILED"
UNHEALTHY: Final = "UNHEALTHY"
NOT_STARTED: Final = "NOT_STARTED"


@dataclass(frozen=True, slots=True)
class Application:
    """One Serve application, as Ray reports it."""

    name: str
    status: str
    message: str = ""
    silent: bool = False
    """It is unwell, and of one of its deployments no replica is left to answer."""


@dataclass(frozen=True, slots=True)
class ServeSeen:
    """What a cluster's Serve last answered.

    ``config`` is the hash of the config that Serve works towards, empty while it has none.
    """

    config: str
    applications: tuple[Application, ...] = ()
    refusal: str = ""
    """Why Ray does not take the config at all."""


@dataclass(frozen=True, slots=True)
class Member:
    """One Ray cluster of the service.

    What it has to remember lies in annotations of the RayCluster, so that it outlives the operator: which release
    it belongs to, whether it ever took traffic, when it may go, when it last made progress.
    """

    name: str
    cluster_hash: str
    config: str
    """The hash of the serve config that this cluster is to run."""
    good_config: str = ""
    """The hash of the last config that was seen RUNNING here."""
    created: datetime | None = None
    released: datetime | None = None
    """Since when it may run: when it was made, or last released from suspension; None while it is held."""
    deleting: bool = False
    promoted: bool = False
    """Traffic went to it once, or was about to."""
    delete_at: datetime | None = None
    progress: str = ""
    progressed_at: datetime | None = None
    suspended: bool = False
    head_ready: bool = False
    ready_pods: int = 0
    ailment: str = ""
    """What keeps its pods from running, in one line."""
    endpoints: int = 0
    """Ready addresses behind its own serve service."""
    in_flight: bool = False
    """The proxy still waits for answers of pods that take no new requests."""
    serve: ServeSeen | None = None
    unreachable: str = ""
    """Why the last look at its dashboard failed, if it did."""
    unhealthy_since: datetime | None = None
    heals: int = 0
    applications: frozenset[str] = field(default_factory=frozenset[str])
    """The names of the applications in its config."""
