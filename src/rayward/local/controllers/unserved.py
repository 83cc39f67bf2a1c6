"""Says of every object of some kinds that nothing here acts on it: it is stored, and nobody would notice otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Never

from rayward.kube.core.meta import controller_of
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import INGRESSES, NETWORK_POLICIES, Resource
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.events import EventRecorder, ObjectReference, reference


@dataclass(frozen=True, slots=True)
class Unserved:
    """A kind that this server stores, and nothing else."""

    resource: Resource
    reason: str
    why: str
    """What is so, and what to do instead."""

    def message(self, name: str) -> str:
        """About one object."""
        return f"{self.resource.kind} {name} has no effect here: {self.why}"


UNSERVED: Final = (
    Unserved(
        INGRESSES,
        "IngressNotServed",
        "no ingress controller runs on this machine. "
        "Run rayward get services, which shows the addresses that answer in your shell",
    ),
    Unserved(
        NETWORK_POLICIES,
        "NetworkPolicyNotEnforced",
        "pods of this machine reach each other whatever it says. Try it on a cluster whose network enforces policies",
    ),
)


class UnservedWarnings:
    """One Warning on the object, and one on whatever made it, which is what users look at."""

    def __init__(
        self, kind: Unserved, found: Cache[KubeObject], events: EventRecorder, *, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._kind = kind
        self._found = found
        self._events = events
        self._told: dict[Key, str] = {}
        self._controller = Controller(f"{kind.resource.plural} warnings", self._reconcile, workers=1, clock=clock)
        self._controller.watch(found)

    async def run(self) -> Never:
        await self._controller.run()

    async def _reconcile(self, key: Key) -> Result:
        found = self._found.get(key)
        if found is None:
            self._told.pop(key, None)
            return DONE
        uid = found.metadata.uid
        if self._told.get(key) != uid:
            self._told[key] = uid
            for about in warned(self._kind.resource, found):
                self._events.record(about, "Warning", self._kind.reason, self._kind.message(found.metadata.name))
        return DONE


def warned(resource: Resource, found: KubeObject) -> list[ObjectReference]:
    """The object, and who made it."""
    owner = controller_of(found)
    about = [reference(resource, found)]
    if owner is not None:
        about.append(
            ObjectReference(
                api_version=owner.api_version,
                kind=owner.kind,
                namespace=found.metadata.namespace,
                name=owner.name,
                uid=owner.uid,
            )
        )
    return about
