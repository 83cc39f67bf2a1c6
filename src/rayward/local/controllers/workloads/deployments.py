"""The loop of deployments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Never

import msgspec

from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import AlreadyExists, ApiError
from rayward.kube.core.meta import controller_of, is_controlled_by
from rayward.kube.core.objects import Key
from rayward.kube.core.resource import DEPLOYMENTS, REPLICA_SETS
from rayward.kube.machinery.selectors import labels as selectors
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.events import EventRecorder, reference
from rayward.local.controllers.pods import SeenPod
from rayward.local.controllers.workloads.common import ORPHANS, claim
from rayward.local.controllers.workloads.deployment import REVISION, DeploymentStatus, SeenDeployment
from rayward.local.controllers.workloads.progress import PROGRESSING, with_condition
from rayward.local.controllers.workloads.replicaset import SeenReplicaSet
from rayward.local.controllers.workloads.replicasets import OWNER
from rayward.local.controllers.workloads.rollout import Change, Decision, decide
from rayward.local.controllers.workloads.writer import Writer, every, is_ending


class DeploymentController:
    """Rolls out; ``sets`` and ``pods`` need the indexes ``OWNER`` and ``ORPHANS``."""

    def __init__(
        self,
        client: Client,
        deployments: Cache[SeenDeployment],
        sets: Cache[SeenReplicaSet],
        pods: Cache[SeenPod],
        events: EventRecorder,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._deployments = deployments
        self._sets = sets
        self._pods = pods
        self._events = events
        self._clock = clock
        self._controller = Controller("deployment", self._reconcile, workers=8, clock=clock)
        self._controller.watch(deployments)
        self._controller.watch(sets, self._of_set)
        self._controller.watch(pods, self._of_pod)
        self._writer = Writer(client, self._controller)

    async def run(self) -> Never:
        await self._controller.run()

    def _of_set(self, old: SeenReplicaSet | None, new: SeenReplicaSet | None) -> Iterable[Key]:
        keys: set[Key] = set()
        for found in (old, new):
            owner = controller_of(found) if found is not None else None
            if found is not None and owner is not None and owner.kind == "Deployment":
                keys.add(Key(found.metadata.namespace, owner.name))
        if new is not None and controller_of(new) is None:
            for each in self._deployments.in_namespace(new.metadata.namespace):
                if selectors.from_object(each.spec.selector).matches(new.metadata.labels):
                    keys.add(each.key)
        return keys

    def _of_pod(self, old: SeenPod | None, new: SeenPod | None) -> Iterable[Key]:
        # Who recreates waits for the last old pod to be gone; all else is in the status of replica sets.
        if new is not None or old is None:
            return ()
        owner = controller_of(old)
        found = self._sets.get(Key(old.metadata.namespace, owner.name)) if owner is not None else None
        return self._of_set(found, None)

    async def _reconcile(self, key: Key) -> Result:
        owner = self._deployments.get(key)
        if owner is None:
            return DONE
        own = self._sets.find(OWNER, owner.metadata.uid)
        claimed = claim(owner, owner.spec.selector, own, self._sets.find(ORPHANS, key.namespace))
        await self._writer.settle(key, self._sets, (owner, DEPLOYMENTS), claimed)
        sets: tuple[SeenReplicaSet, ...] = claimed.owned
        decision = decide(owner, sets, self._clock.utc(), busy=self._busy(owner, sets))
        await self._apply(key, owner, decision)
        return Result(requeue_after=decision.again_after)

    def _busy(self, owner: SeenDeployment, sets: Iterable[SeenReplicaSet]) -> set[str]:
        if owner.spec.rolls:
            return set()
        pods = self._pods
        return {each.metadata.name for each in sets if any(not pod.over for pod in pods.find(OWNER, each.metadata.uid))}

    async def _apply(self, key: Key, owner: SeenDeployment, decision: Decision) -> None:
        about = reference(DEPLOYMENTS, owner)
        status = decision.status
        if decision.create is not None:
            collided = await self._create(key, owner, decision)
            if collided is not None:
                await self._write_status(key, owner, collided, None)
                return
        await every(self._change(key, change) for change in decision.change)
        for event in decision.events:
            self._events.record(about, event.kind, event.reason, event.message)
        await every(self._writer.delete(key, self._sets, each) for each in decision.delete)
        await self._write_status(key, owner, status, decision.revision)

    async def _create(self, key: Key, owner: SeenDeployment, decision: Decision) -> DeploymentStatus | None:
        """Make the new replica set; a status if there was another of its name, which gives it another one."""
        assert decision.create is not None
        try:
            await self._writer.send(key, self._sets, verbs.create(REPLICA_SETS, decision.create, key.namespace))
        except AlreadyExists:
            name = decision.create["metadata"]["name"]
            found = self._sets.get(Key(key.namespace, name))
            if found is not None and is_controlled_by(found, owner):
                raise
            return msgspec.structs.replace(owner.status, collision_count=(owner.status.collision_count or 0) + 1)
        except ApiError as error:
            if not is_ending(error):
                text = f'Failed to create new replica set "{decision.create["metadata"]["name"]}": {error.message}'
                self._events.record(reference(DEPLOYMENTS, owner), "Warning", "ReplicaSetCreateError", text)
                status = with_condition(
                    owner.status, PROGRESSING, "False", "ReplicaSetCreateError", text, self._clock.utc()
                )
                await self._write_status(key, owner, status, None)
            raise
        return None

    async def _change(self, key: Key, change: Change) -> None:
        whole = self._sets.whole(Key(key.namespace, change.name))
        if whole is None:
            return
        whole["spec"]["replicas"] = change.replicas
        whole["spec"]["minReadySeconds"] = change.min_ready_seconds
        whole["metadata"]["annotations"] = change.annotations
        await self._writer.update(key, self._sets, whole)

    async def _write_status(
        self, key: Key, owner: SeenDeployment, status: DeploymentStatus, revision: str | None
    ) -> None:
        annotations = owner.metadata.annotations or {}
        marked = revision is None or annotations.get(REVISION) == revision
        whole = self._deployments.whole(key)
        if whole is None or (status == owner.status and marked):
            return
        whole["status"] = msgspec.to_builtins(status)
        if revision is not None:
            whole["metadata"]["annotations"] = {**annotations, REVISION: revision}
        await self._writer.update(key, self._deployments, whole, "status")
