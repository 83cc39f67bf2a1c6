"""Says of every Ingress that nothing here serves it: the object is stored, and nobody would notice otherwise."""

from __future__ import annotations

from typing import Final, Never

from rayward.kube.core.meta import controller_of
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import INGRESSES
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.events import EventRecorder, ObjectReference, reference

REASON: Final = "IngressNotServed"


class IngressWarnings:
    """One Warning on the Ingress, and one on whatever made it, which is what users look at."""

    def __init__(self, ingresses: Cache[KubeObject], events: EventRecorder, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._ingresses = ingresses
        self._events = events
        self._told: dict[Key, str] = {}
        self._controller = Controller("ingress warnings", self._reconcile, workers=1, clock=clock)
        self._controller.watch(ingresses)

    async def run(self) -> Never:
        await self._controller.run()

    async def _reconcile(self, key: Key) -> Result:
        found = self._ingresses.get(key)
        if found is None:
            self._told.pop(key, None)
            return DONE
        uid = found.metadata.uid
        if self._told.get(key) != uid:
            self._told[key] = uid
            for about in warned(found):
                self._events.record(about, "Warning", REASON, message(found))
        return DONE


def warned(ingress: KubeObject) -> list[ObjectReference]:
    owner = controller_of(ingress)
    about = [reference(INGRESSES, ingress)]
    if owner is not None:
        about.append(
            ObjectReference(
                api_version=owner.api_version,
                kind=owner.kind,
                namespace=ingress.metadata.namespace,
                name=owner.name,
                uid=owner.uid,
            )
        )
    return about


def message(ingress: KubeObject) -> str:
    """What is so, and what to run instead."""
    return (
        f"Ingress {ingress.metadata.name} has no effect here: no ingress controller runs on this machine. "
        "Run rayward get services, which shows the addresses that answer in your shell"
    )
