"""What every reconciler does around its own steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from rayward.kube.client.options import WriteOptions
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import Resource
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.predicates import not_only_status
from rayward.kube.runtime.registry import Environment, Source
from rayward.kube.runtime.shield import DRAIN_SECONDS, Shield
from rayward.kube.runtime.writer import Writer

T = TypeVar("T", bound=KubeObject)
L = TypeVar("L")


class Reconciler(ABC, Generic[T, L]):
    """Reconciles the objects of one source.

    ``L`` is the local state of an object: what this process knows beyond the API. It is made anew for each uid, and
    losing it costs a request or a repeated event, never a decision.
    """

    def __init__(
        self, name: str, environment: Environment, source: Source[T], options: WriteOptions, local: Callable[[], L]
    ) -> None:
        self._environment = environment
        self.client = environment.client
        self.clock = environment.clock
        self.recorder = environment.recorder
        self.resource = source.resource
        self.objects: Cache[T] = environment.informers.cache(source)
        self.controller = Controller(
            name,
            self._reconcile,
            workers=environment.workers,
            observer=environment.observer,
            clock=environment.clock,
        )
        self.controller.watch(self.objects, not_only_status)
        self.background: Sequence[Callable[[], Awaitable[Any]]] = ()
        self._options = options
        self._new_local = local
        self._locals: dict[Key, tuple[str, L]] = {}
        self._shield = Shield()

    @abstractmethod
    async def reconcile(self, found: T, local: L) -> Result:
        """Make one object true."""

    @abstractmethod
    def caches(self) -> Mapping[Resource, Cache[Any]]:
        """Where what is written shows, by collection; what is in none of them is not waited for."""

    def manages(self, found: T) -> bool:
        """Whether the object is this controller's; others' are left alone."""
        return True

    def forget(self, key: Key) -> None:
        """An object is gone, and no reconcile of it is under way: let go of what was kept for it."""
        return

    def writer(self, found: T) -> Writer:
        """For the writes of this object's reconcile."""
        key, caches = found.metadata.key, self.caches()

        def wrote(resource: Resource, answer: KubeObject) -> None:
            cache = caches.get(resource)
            if cache is not None:
                self.controller.wrote(key, cache, answer)

        return Writer(self.client, key.namespace, self._options, self._shield, wrote)

    async def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Wait for the answers to what was sent: the next leader must not begin before the server has acted."""
        await self._shield.drain(seconds)

    def local(self, key: Key) -> L | None:
        """The local state of an object that was reconciled before."""
        return self._locals.get(key, ("", None))[1]

    async def _reconcile(self, key: Key) -> Result:
        found = self.objects.get(key)
        if found is None:
            self._locals.pop(key, None)
            self.forget(key)
            return DONE
        if not self.manages(found):
            return DONE
        uid, local = self._locals.get(key, ("", None))
        if local is None or uid != found.metadata.uid:
            local = self._new_local()
            self._locals[key] = (found.metadata.uid, local)
        return await self.reconcile(found, local)
