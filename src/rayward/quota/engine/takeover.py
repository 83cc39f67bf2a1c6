"""Whether Kueue's manager is at work: two who admit would give the same quota twice.

It is looked for before anything is admitted, again now and then, and at once when its lease changes: a Kueue that is
installed later takes over, and the engine admits again when it is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from rayward.kinds.kueue import ClusterQueue
from rayward.kinds.resources import CLUSTER_QUEUES
from rayward.kube.client.api import Client
from rayward.kube.client.errors import Forbidden
from rayward.kube.client.values import as_dict, as_str
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import DEPLOYMENTS, LEASES
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import Controller, Result
from rayward.kube.runtime.registry import Environment, Source
from rayward.kube.runtime.renewal import is_renewed

LEASE: Final = "c1f6bfd2.kueue.x-k8s.io"
"""Kueue's leader election, in whichever namespace it runs."""
_SELECTOR: Final = "app.kubernetes.io/name=kueue"
_LEASES: Final = Source(
    LEASES, KubeObject, {"field_selector": f"metadata.name={LEASE}"}, metadata_only=True, optional=True
)
_LOOK: Final = Key("", LEASE)
_LOOK_AGAIN_SECONDS: Final = 60.0
"""A manager of one replica may run without a lease: then nothing but its Deployment says that it is there."""
_WHILE_THERE_SECONDS: Final = 15.0


KUEUE_IS_AT_WORK: Final = "KueueIsAtWork"


class KueueIsAliveError(Exception):
    """Kueue's manager is at work; the text says where, and what to run."""


class KueueWatch:
    """Keeps looking for Kueue's manager; ``changed`` is called when it came or went."""

    def __init__(self, environment: Environment, changed: Callable[[], None]) -> None:
        self.found: str | None = None
        """What says that Kueue is at work, and what to run; empty when nothing does, None before the first look."""
        self.controller = Controller("quota-takeover", self._look, workers=1, clock=environment.clock)
        self._client = environment.client
        self._clock = environment.clock
        self._recorder = environment.recorder
        self._changed = changed
        self._told: set[str] = set()
        """The ClusterQueues that have an event of it, by uid."""
        environment.informers.cache(_LEASES).subscribe(lambda old, new: self.controller.add(_LOOK))
        self.controller.add(_LOOK)

    @property
    def is_alone(self) -> bool:
        """Whether nobody else admits, as far as was looked."""
        return self.found == ""

    def tell(self, queues: Iterable[ClusterQueue]) -> None:
        """Say it on each queue once: whoever looks there sees why the engine admits nothing."""
        if not self.found:
            return
        present = {queue.metadata.uid: queue for queue in queues}
        for uid in present.keys() - self._told:
            text = f"Nothing is admitted: {self.found}"
            self._recorder.event(CLUSTER_QUEUES, present[uid], "Warning", KUEUE_IS_AT_WORK, text)
        self._told = set(present)

    async def _look(self, key: Key) -> Result:
        del key
        found, again = "", _LOOK_AGAIN_SECONDS
        try:
            await ensure_alone(self._client, self._clock)
        except KueueIsAliveError as error:
            found, again = str(error), _WHILE_THERE_SECONDS
        if found != self.found:
            self.found = found
            if not found:
                self._told.clear()
            self._changed()
        return Result(requeue_after=again)


async def ensure_alone(client: Client, clock: Clock = SYSTEM_CLOCK) -> None:
    """Return when nobody else admits workloads here.

    Raises:
        KueueIsAliveError: Kueue's manager does.
    """
    where = await _find(client, clock)
    if where:
        raise KueueIsAliveError(
            f"Kueue's manager is running ({where} says so), and two admission controllers would give the same quota "
            "twice: run the gate alone, without the embedded engine, or stop Kueue first: "
            "kubectl -n kueue-system scale deployment kueue-controller-manager --replicas=0"
        )


async def _find(client: Client, clock: Clock) -> str:
    try:
        for found in (await client.list(DEPLOYMENTS, None, label_selector=_SELECTOR)).items:
            if as_dict(found.get("status")).get("readyReplicas"):
                return f"Deployment {_place(found)}"
        for found in (await client.list(LEASES, None, field_selector=f"metadata.name={LEASE}")).items:
            if await is_renewed(client, found, clock):
                return f"Lease {_place(found)}"
    except Forbidden:
        # whoever may not look for it cannot be told; the rights that the engine asks for include it
        return ""
    return ""


def _place(found: Object) -> str:
    meta = as_dict(found.get("metadata"))
    return f"{as_str(meta.get('namespace'))}/{as_str(meta.get('name'))}"
