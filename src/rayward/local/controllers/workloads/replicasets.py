"""The loop of replica sets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final, Never

from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError
from rayward.kube.core.meta import controller_of
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import PODS, REPLICA_SETS
from rayward.kube.machinery.selectors import labels as selectors
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.events import EventRecorder, reference
from rayward.local.controllers.pods import SeenPod
from rayward.local.controllers.workloads.common import ORPHANS, claim
from rayward.local.controllers.workloads.replicaset import Decision, SeenReplicaSet, decide, pod_of, with_failure
from rayward.local.controllers.workloads.writer import Writer, every, is_ending

OWNER: Final = "owner"


class ReplicaSetController:
    """Keeps as many pods as a replica set asks for; ``pods`` needs the indexes ``OWNER`` and ``ORPHANS``."""

    def __init__(
        self,
        client: Client,
        sets: Cache[SeenReplicaSet],
        pods: Cache[SeenPod],
        events: EventRecorder,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._sets = sets
        self._pods = pods
        self._events = events
        self._clock = clock
        self._controller = Controller("replicaset", self._reconcile, workers=8, clock=clock)
        self._controller.watch(sets)
        self._controller.watch(pods, self._sets_of_pod)
        self._writer = Writer(client, self._controller)

    async def run(self) -> Never:
        await self._controller.run()

    def _sets_of_pod(self, old: SeenPod | None, new: SeenPod | None) -> Iterable[Key]:
        return owners_of(old, new, "ReplicaSet", self._sets)

    async def _reconcile(self, key: Key) -> Result:
        owner = self._sets.get(key)
        if owner is None:
            return DONE
        orphans = (pod for pod in self._pods.find(ORPHANS, key.namespace) if not pod.over)
        claimed = claim(owner, owner.spec.selector, self._pods.find(OWNER, owner.metadata.uid), orphans)
        await self._writer.settle(key, self._pods, (owner, REPLICA_SETS), claimed)
        decision = decide(owner, claimed.owned, self._clock.utc())
        await self._apply(key, owner, decision)
        return Result(requeue_after=decision.again_after)

    async def _apply(self, key: Key, owner: SeenReplicaSet, decision: Decision) -> None:
        await every(self._delete(key, owner, pod) for pod in decision.delete)
        error = await self._create(key, owner, decision.create)
        problem = None if error is None else ("FailedCreate", error.message)
        status = with_failure(decision.status, problem, self._clock.utc())
        if status != owner.status:
            await self._writer.update_status(key, self._sets, key, status)
        if error is not None:
            raise error

    async def _create(self, key: Key, owner: SeenReplicaSet, count: int) -> ApiError | None:
        """Make pods, twice as many at once each time, until one is refused; returns why."""
        made, batch = 0, 1
        while made < count:
            some = min(batch, count - made)
            errors = [
                error for error in await asyncio.gather(*(self._create_one(key, owner) for _ in range(some))) if error
            ]
            if errors:
                return errors[0]
            made, batch = made + some, batch * 2
        return None

    async def _create_one(self, key: Key, owner: SeenReplicaSet) -> ApiError | None:
        about = reference(REPLICA_SETS, owner)
        try:
            made = await self._writer.send(key, self._pods, verbs.create(PODS, pod_of(owner), key.namespace))
        except ApiError as error:
            if not is_ending(error):
                self._events.record(about, "Warning", "FailedCreate", f"Error creating: {error.message}")
            return error
        self._events.record(about, "Normal", "SuccessfulCreate", f"Created pod: {made.metadata.name}")
        return None

    async def _delete(self, key: Key, owner: SeenReplicaSet, pod: SeenPod) -> None:
        if await self._writer.delete(key, self._pods, pod):
            message = f"Deleted pod: {pod.metadata.name}"
            self._events.record(reference(REPLICA_SETS, owner), "Normal", "SuccessfulDelete", message)


def owners_of(old: KubeObject | None, new: KubeObject | None, kind: str, owners: Cache[SeenReplicaSet]) -> set[Key]:
    """The owners of one kind that a change concerns: those that a pod had and has, and any that may adopt it."""
    keys: set[Key] = set()
    for found in (old, new):
        owner = controller_of(found) if found is not None else None
        if found is not None and owner is not None and owner.kind == kind:
            keys.add(Key(found.metadata.namespace, owner.name))
    if new is not None and controller_of(new) is None:
        for candidate in owners.in_namespace(new.metadata.namespace):
            if selectors.from_object(candidate.spec.selector).matches(new.metadata.labels):
                keys.add(candidate.key)
    return keys
