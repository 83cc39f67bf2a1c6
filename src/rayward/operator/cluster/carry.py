"""Carries out writes. Each may be sent twice: names and uids make the second one harmless."""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections.abc import Iterable, Sequence
from typing import Final

from rayward.kinds import names, shapes
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.errors import AlreadyExists, ApiError, Conflict, Forbidden, Invalid, NotFound
from rayward.kube.core.meta import is_controlled_by
from rayward.kube.core.resource import PODS, SECRETS, Resource
from rayward.kube.runtime.writer import Writer
from rayward.net.errors import NetworkError
from rayward.operator.cluster import children
from rayward.operator.cluster.memory import Memory, Slot
from rayward.operator.cluster.namesake import Taken, deal_with
from rayward.operator.cluster.outcomes import Outcome
from rayward.operator.cluster.plan import Finalizers, Make, Mend, NewPod, NewSecret, Object, Remove, Write
from rayward.operator.cluster.pod import RayPod

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Kubernetes' own choice for generated names: no words come of them."""
_SUFFIX: Final = 5
_WHOLE_REPLICA: Final = -1
_UNCHANGEABLE: Final = ("immutable", "may not change", "cannot change")


def random_suffix() -> str:
    """The end of a pod's name."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_SUFFIX))


class Carrier:
    """The writes of one cluster's run."""

    def __init__(self, writer: Writer, cluster: RayCluster, memory: Memory) -> None:
        self._writer = writer
        self._cluster = cluster
        self._memory = memory

    async def carry_out(self, stage: Iterable[Write]) -> list[Outcome]:
        """Send what is in one stage, at once.

        A head goes before its workers, which are of no use without it where a quota lets only some in. After a refusal
        (a quota, a policy) one pod is tried before the others: a thousand that are not let in would cost a thousand
        requests each time.
        """
        # Names first: the hosts of one replica share one.
        sent = [(write, self._pod(write) if isinstance(write, NewPod) else None) for write in stage]
        others = [each for each in sent if each[1] is None]
        pods = sorted((each for each in sent if each[1] is not None), key=lambda each: not _is_head(each[0]))
        alone = bool(pods) and (self._memory.refused or _is_head(pods[0][0]))
        first, held = (pods[:1], pods[1:]) if alone else (pods, [])
        outcomes = await self._at_once([*others, *first])
        if held and not self._memory.refused:
            outcomes += await self._at_once(held)
        for outcome in outcomes:
            if isinstance(outcome.write, NewPod) and outcome.error is None:
                # From now on the replica's name is to be read from its pods.
                self._memory.forget_slot(_replica_slot(outcome.write))
        return outcomes

    async def _at_once(self, sent: Sequence[tuple[Write, Object | None]]) -> list[Outcome]:
        outcomes = await asyncio.gather(*(self._one(write, body) for write, body in sent))
        made = [outcome for outcome in outcomes if isinstance(outcome.write, NewPod)]
        if made:
            self._memory.refused = any(isinstance(outcome.error, Forbidden) for outcome in made)
        return list(outcomes)

    async def _one(self, write: Write, pod: Object | None) -> Outcome:
        if isinstance(write, NewPod):
            assert pod is not None
            name: str = pod["metadata"]["name"]
            sending = self._create_pod(write, pod)
        elif isinstance(write, Remove):
            name, sending = write.name, self._remove(write)
        elif isinstance(write, Mend):
            name, sending = write.name, self._mend(write)
        elif isinstance(write, Make):
            name, sending = write.body["metadata"]["name"], self._make(write, write.resource, write.body)
        elif isinstance(write, NewSecret):
            name, sending = write.name, self._make(write, SECRETS, self._secret())
        else:
            name, sending = self._cluster.metadata.name, self._finalize(write)
        try:
            ended = await sending
        except (ApiError, NetworkError) as error:
            return Outcome(write, name, error)
        return ended if isinstance(ended, Outcome) else Outcome(write, name, changed=ended)

    def _pod(self, new: NewPod) -> Object:
        cluster, group = self._cluster, new.group
        suffix = self._memory.suffix(new.slot, random_suffix)
        if group is None:
            return shapes.head_pod(cluster, names.pod_prefix(cluster.metadata.name) + suffix)
        name = names.pod_prefix(cluster.metadata.name, group.group_name) + suffix
        replica = new.replica_name
        if not replica and (group.num_of_hosts or 1) > 1:
            replica = names.replica(group.group_name, self._memory.suffix(_replica_slot(new), random_suffix))
        return shapes.worker_pod(cluster, group, name, shapes.ReplicaPlace(replica, new.replica, new.host))

    async def _create_pod(self, new: NewPod, body: Object) -> bool:
        try:
            pod = await self._writer.create(PODS, body, RayPod)
        except AlreadyExists:
            pod = await self._writer.get(PODS, body["metadata"]["name"], RayPod)
            if not is_controlled_by(pod, self._cluster):
                self._memory.forget_slot(new.slot)
                raise
            self._writer.seen(PODS, pod)
        self._memory.made(new.slot, pod)
        return True

    async def _remove(self, write: Remove) -> bool:
        try:
            there = await self._writer.delete(write.resource, write.name, write.uid)
        except Conflict:
            # The uid may be another's by now; but a server under pressure says Conflict for less.
            if await self._is_there(write):
                raise
            there = False
        if write.pod is not None:
            self._memory.removed(write.uid)
        return there

    async def _is_there(self, write: Remove) -> bool:
        try:
            found = await self._writer.get(write.resource, write.name)
        except NotFound:
            return False
        return found.metadata.uid == write.uid

    async def _mend(self, write: Mend) -> bool:
        try:
            return await self._writer.patch(write.resource, write.name, write.body) is not None
        except Invalid as error:
            if not write.replaceable or not any(word in error.message for word in _UNCHANGEABLE):
                raise
            # What cannot be changed is made anew in the next run.
            return await self._remove(Remove(write.resource, write.name, write.uid))

    async def _make(self, write: Make | NewSecret, resource: Resource, body: Object) -> Outcome:
        name: str = body["metadata"]["name"]
        try:
            await self._writer.create(resource, body)
        except AlreadyExists as error:
            found = await self._writer.get(resource, name)
            instead = deal_with(self._cluster, resource, body, found)
            if isinstance(instead, Taken):
                message = f"{error.message} {instead.why}"
                raise AlreadyExists(error.code, error.reason, message, error.status, None) from None
            if instead is not None:
                return Outcome(instead, name, changed=await self._mend(instead))
            # What is used and not owned never shows in the caches: it is not waited for.
            if is_controlled_by(found, self._cluster):
                self._writer.seen(resource, found)
            return Outcome(write, name, changed=False)
        return Outcome(write, name)

    async def _finalize(self, write: Finalizers) -> bool:
        return await self._writer.set_finalizers(RAY_CLUSTERS, self._cluster, write.finalizers)

    def _secret(self) -> Object:
        body = children.auth_secret(self._cluster, base64.b64encode(secrets.token_bytes(32)).decode())
        assert body is not None
        return body


def _is_head(write: Write) -> bool:
    return isinstance(write, NewPod) and write.group is None


def _replica_slot(new: NewPod) -> Slot:
    return (new.group.group_name if new.group else "", new.replica, _WHOLE_REPLICA)
