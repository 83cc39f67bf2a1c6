"""Decision to writes, in one place.

The stages of a decision are sent one after the other, and no stage after a failure. Within a stage everything is sent
at once but for pods: the head before its workers. Each write may be sent twice: names and uids make the second one
harmless.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections.abc import Iterable, Sequence
from typing import Final

from rayward.kinds import labels, names, shapes
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.errors import AlreadyExists, ApiError, Conflict, Forbidden, Invalid, NotFound
from rayward.kube.core.meta import is_controlled_by
from rayward.kube.core.resource import PODS, SECRETS, Resource
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.runtime.writer import Writer
from rayward.net.errors import NetworkError
from rayward.operator.cluster import children
from rayward.operator.cluster.desired import HEAD, group_path
from rayward.operator.cluster.events import Outcome
from rayward.operator.cluster.gate import OPEN, Gate
from rayward.operator.cluster.local import LocalState, Slot
from rayward.operator.cluster.ownership import NameConflict, resolve_conflict
from rayward.operator.cluster.pod import RayPod
from rayward.operator.cluster.state import (
    Create,
    CreatePod,
    CreateSecret,
    Decision,
    Delete,
    Patch,
    SetFinalizers,
    Write,
)

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Kubernetes' own choice for generated names: no words can be spelled with them."""
_SUFFIX: Final = 5
_WHOLE_REPLICA: Final = -1
_IMMUTABLE: Final = ("immutable", "may not change", "cannot change")


def random_suffix() -> str:
    """The end of a pod's name."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_SUFFIX))


async def apply(
    writer: Writer, cluster: RayCluster, local: LocalState, decision: Decision, gate: Gate = OPEN
) -> list[Outcome]:
    """Send the writes of a decision; what came of each that was sent."""
    applier = Applier(writer, cluster, local, gate)
    outcomes: list[Outcome] = []
    for stage in decision.stages:
        outcomes += await applier.send(stage)
        if any(outcome.error is not None for outcome in outcomes):
            break
    return outcomes


class Applier:
    """The writes of one reconcile of a cluster."""

    def __init__(self, writer: Writer, cluster: RayCluster, local: LocalState, gate: Gate = OPEN) -> None:
        self._writer = writer
        self._cluster = cluster
        self._local = local
        self._gate = gate

    async def send(self, stage: Iterable[Write]) -> list[Outcome]:
        """Send the writes of one stage.

        A head goes before its workers, which are of no use without it where a quota admits only some. After a pod was
        forbidden (a quota, a policy) one is tried before the others: a thousand that are not admitted would cost a
        thousand requests each time.
        """
        # Names first: the hosts of one replica share one.
        sent = [(write, self._pod(write) if isinstance(write, CreatePod) else None) for write in stage]
        others = [each for each in sent if each[1] is None]
        pods = sorted((each for each in sent if each[1] is not None), key=lambda each: not _is_head(each[0]))
        alone = bool(pods) and (self._local.pods_forbidden or _is_head(pods[0][0]))
        first, held = (pods[:1], pods[1:]) if alone else (pods, [])
        outcomes = await self._send_all([*others, *first])
        if held and not self._local.pods_forbidden:
            outcomes += await self._send_all(held)
        for outcome in outcomes:
            if isinstance(outcome.write, CreatePod) and outcome.error is None:
                # From now on the replica's name is read from its pods.
                self._local.forget_slot(_replica_slot(outcome.write))
        return outcomes

    async def _send_all(self, sent: Sequence[tuple[Write, Object | None]]) -> list[Outcome]:
        outcomes = await asyncio.gather(*(self._one(write, body) for write, body in sent))
        made = [outcome for outcome in outcomes if isinstance(outcome.write, CreatePod)]
        if made:
            self._local.pods_forbidden = any(isinstance(outcome.error, Forbidden) for outcome in made)
        return list(outcomes)

    async def _one(self, write: Write, pod: Object | None) -> Outcome:
        if isinstance(write, CreatePod):
            assert pod is not None
            name: str = pod["metadata"]["name"]
            sending = self._create_pod(write, pod)
        elif isinstance(write, Delete):
            name, sending = write.name, self._delete(write)
        elif isinstance(write, Patch):
            name, sending = write.name, self._patch(write)
        elif isinstance(write, Create):
            name, sending = write.body["metadata"]["name"], self._create(write, write.resource, write.body)
        elif isinstance(write, CreateSecret):
            name, sending = write.name, self._create(write, SECRETS, self._secret())
        else:
            name, sending = self._cluster.metadata.name, self._set_finalizers(write)
        try:
            ended = await sending
        except (ApiError, NetworkError) as error:
            return Outcome(write, name, error)
        return ended if isinstance(ended, Outcome) else Outcome(write, name, changed=ended)

    def _pod(self, new: CreatePod) -> Object:
        cluster, group = self._cluster, new.group
        suffix = self._local.suffix(new.slot, random_suffix)
        desired = self._local.desired(cluster)
        if group is None:
            name = names.pod_prefix(cluster.metadata.name) + suffix
            head = shapes.head_pod(cluster, name, release=desired.release, record=desired.records[HEAD])
            return self._gate.mark(labels.HEAD_GROUP, head)
        name = names.pod_prefix(cluster.metadata.name, group.group_name) + suffix
        replica = new.replica_name
        if not replica and (group.num_of_hosts or 1) > 1:
            replica = names.replica(group.group_name, self._local.suffix(_replica_slot(new), random_suffix))
        place = shapes.ReplicaPlace(replica, new.replica, new.host)
        record = desired.records[group_path(group.group_name)]
        return self._gate.mark(group.group_name, shapes.worker_pod(cluster, group, name, place, record=record))

    async def _create_pod(self, new: CreatePod, body: Object) -> bool:
        try:
            pod = await self._writer.create(PODS, body, RayPod)
        except AlreadyExists:
            pod = await self._writer.get(PODS, body["metadata"]["name"], RayPod)
            if not is_controlled_by(pod, self._cluster):
                self._local.forget_slot(new.slot)
                raise
            self._writer.seen(PODS, pod)
        self._local.pod_created(new.slot, pod)
        return True

    async def _delete(self, write: Delete) -> bool:
        try:
            there = await self._writer.delete(write.resource, write.name, write.uid)
        except Conflict:
            # The name may be another object's by now; but a server under pressure answers Conflict for less.
            if await self._exists(write):
                raise
            there = False
        if write.pod is not None:
            self._local.pod_deleted(write.uid)
        return there

    async def _exists(self, write: Delete) -> bool:
        try:
            found = await self._writer.get(write.resource, write.name)
        except NotFound:
            return False
        return found.metadata.uid == write.uid

    async def _patch(self, write: Patch) -> bool:
        try:
            return await self._writer.patch(write.resource, write.name, write.body) is not None
        except Invalid as error:
            if not write.replaceable or not any(word in error.message for word in _IMMUTABLE):
                raise
            # The next reconcile creates it again.
            return await self._delete(Delete(write.resource, write.name, write.uid))

    async def _create(self, write: Create | CreateSecret, resource: Resource, body: Object) -> Outcome:
        name: str = body["metadata"]["name"]
        try:
            await self._writer.create(resource, body)
        except AlreadyExists as error:
            found = await self._writer.get(resource, name)
            instead = resolve_conflict(self._cluster, resource, body, found)
            if isinstance(instead, NameConflict):
                message = f"{error.message} {instead.reason}"
                raise AlreadyExists(error.code, error.reason, message, error.status, None) from None
            if instead is not None:
                return Outcome(instead, name, changed=await self._patch(instead))
            # What is used and not owned is in no cache: it is not waited for.
            if is_controlled_by(found, self._cluster):
                self._writer.seen(resource, found)
            return Outcome(write, name, changed=False)
        return Outcome(write, name)

    async def _set_finalizers(self, write: SetFinalizers) -> bool:
        return await self._writer.set_finalizers(RAY_CLUSTERS, self._cluster, write.finalizers)

    def _secret(self) -> Object:
        body = children.auth_secret(self._cluster, base64.b64encode(secrets.token_bytes(32)).decode())
        assert body is not None
        return body


def _is_head(write: Write) -> bool:
    return isinstance(write, CreatePod) and write.group is None


def _replica_slot(new: CreatePod) -> Slot:
    return (new.group.group_name if new.group else "", new.replica, _WHOLE_REPLICA)
