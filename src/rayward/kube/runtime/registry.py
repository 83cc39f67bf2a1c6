"""The registry of a process: one entry for each kind that it reconciles.

An entry names what its controller needs (caches, rights, metrics) and builds it. Whoever starts a process composes
entries of several rooms; nothing else in the process names a kind. Caches are shared: two entries that name one
``Source`` read one cache.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from prometheus_client import CollectorRegistry

from rayward.kube.client.api import Client
from rayward.kube.client.metadata import metadata_client
from rayward.kube.client.options import Selectors
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.rbac import PolicyRule
from rayward.kube.core.resource import Resource
from rayward.kube.runtime.cache import Cache, Index
from rayward.kube.runtime.clock import Clock
from rayward.kube.runtime.controller import Controller
from rayward.kube.runtime.events import ComponentRecorder
from rayward.kube.runtime.reflector import Reflector
from rayward.kube.runtime.shield import DRAIN_SECONDS
from rayward.kube.runtime.workers import WorkersObserver

T = TypeVar("T", bound=KubeObject)


@dataclass(frozen=True, eq=False)
class Source(Generic[T]):
    """A collection to watch, and how much of it to keep; compared by identity."""

    resource: Resource
    kind: type[T]
    selectors: Selectors = field(default_factory=lambda: Selectors())
    keep_raw: bool = False
    metadata_only: bool = False
    """The server sends metadata alone: nothing else of the object is ever read."""
    indexes: Mapping[str, Index[T]] = field(default_factory=dict[str, Index[T]])
    optional: bool = False
    """Whether controllers work without it where the server forbids it: rights grow later than programs."""


class Informers:
    """The caches of one namespace, or of all, each filled by one reflector."""

    def __init__(self, client: Client, namespace: str | None, clock: Clock) -> None:
        self._client = client
        self._metadata_client = metadata_client(client)
        self._namespace = namespace
        self._clock = clock
        self._caches: dict[Source[Any], Cache[Any]] = {}
        self.reflectors: list[Reflector[Any]] = []

    def cache(self, source: Source[T]) -> Cache[T]:
        """The cache of ``source``; asking for it is what makes it be filled."""
        found = self._caches.get(source)
        if found is None:
            found = Cache(source.resource, source.kind, keep_raw=source.keep_raw, indexes=source.indexes)
            self._caches[source] = found
            client = self._metadata_client if source.metadata_only else self._client
            made = Reflector(
                client,
                found,
                namespace=self._namespace,
                selectors=source.selectors,
                optional=source.optional,
                clock=self._clock,
            )
            self.reflectors.append(made)
        return found


@dataclass(frozen=True)
class Environment:
    """What a controller is built on."""

    client: Client
    informers: Informers
    recorder: ComponentRecorder
    clock: Clock
    workers: int
    observer: WorkersObserver | None = None


class Running(Protocol):
    """A controller as the manager runs it."""

    @property
    def controller(self) -> Controller:
        """Runs when every cache is filled."""
        ...

    @property
    def background(self) -> Sequence[Callable[[], Awaitable[Any]]]:
        """Runs beside it, from the start."""
        ...

    async def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Wait for the answers to what was sent."""
        ...


@dataclass(frozen=True)
class Registration:
    name: str
    """Of the controller, in logs and metrics: ``raycluster``."""
    resource: Resource
    """What it reconciles; where the server has no such kind, the process does not start unless it is ``optional``."""
    component: str
    """Who its events come from: ``raycluster-controller``."""
    rules: tuple[PolicyRule, ...]
    """The least it must be allowed to do."""
    build: Callable[[Environment, Any], Running]
    """Makes the controller of one namespace, or of all; the second argument is what ``metrics`` made."""
    decisions: frozenset[str] = frozenset()
    """Reasons of its events that are neither dropped nor joined: what it decided, and its answers to users."""
    metrics: Callable[[CollectorRegistry], Any] = lambda registry: None
    """The metrics of this kind, made once for a process."""
    optional: bool = False
    """Whether the process does without this kind until somebody defines it."""
    workers: int = 0
    """How many keys at once, where that is not what the process has for all."""
