"""The loop of stateful sets."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from typing import Never

import msgspec

from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import AlreadyExists, ApiError, Conflict, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.meta import controller_of
from rayward.kube.core.objects import Key, KubeObject, OwnerReference
from rayward.kube.core.resource import CONTROLLER_REVISIONS, PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS
from rayward.kube.machinery.selectors import labels as selectors
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.events import EventRecorder, reference
from rayward.local.controllers.pods import SeenPod
from rayward.local.controllers.workloads.common import ORPHANS, claim
from rayward.local.controllers.workloads.ordering import (
    Decision,
    Make,
    Revisions,
    Wanted,
    decide,
    find_revisions,
    superfluous,
)
from rayward.local.controllers.workloads.replicasets import OWNER
from rayward.local.controllers.workloads.statefulset import (
    SeenRevision,
    SeenStatefulSet,
    claim_name,
    claim_owners,
    claims_of,
    ordinal,
    pod_of,
    revision_data,
    revision_of,
)
from rayward.local.controllers.workloads.writer import Writer, every, is_ending


class StatefulSetController:
    """Keeps numbered pods and their claims; ``pods`` and ``revisions`` need the indexes ``OWNER`` and ``ORPHANS``."""

    def __init__(
        self,
        client: Client,
        sets: Cache[SeenStatefulSet],
        revisions: Cache[SeenRevision],
        pods: Cache[SeenPod],
        claims: Cache[KubeObject],
        events: EventRecorder,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._sets = sets
        self._revisions = revisions
        self._pods = pods
        self._claims = claims
        self._events = events
        self._clock = clock
        self._controller = Controller("statefulset", self._reconcile, workers=8, clock=clock)
        self._controller.watch(sets)
        self._controller.watch(pods, self._of_child)
        self._controller.watch(revisions, self._of_child)
        self._writer = Writer(client, self._controller)

    async def run(self) -> Never:
        await self._controller.run()

    def _of_child(self, old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
        keys: set[Key] = set()
        for found in (old, new):
            owner = controller_of(found) if found is not None else None
            if found is not None and owner is not None and owner.kind == STATEFUL_SETS.kind:
                keys.add(Key(found.metadata.namespace, owner.name))
        if new is not None and controller_of(new) is None:
            for each in self._sets.in_namespace(new.metadata.namespace):
                if selectors.from_object(each.spec.selector).matches(new.metadata.labels):
                    keys.add(each.key)
        return keys

    async def _reconcile(self, key: Key) -> Result:
        owner = self._sets.get(key)
        if owner is None:
            return DONE
        orphans = (pod for pod in self._pods.find(ORPHANS, key.namespace) if ordinal(owner, pod) is not None)
        claimed = claim(owner, owner.spec.selector, self._pods.find(OWNER, owner.metadata.uid), orphans)
        await self._writer.settle(key, self._pods, (owner, STATEFUL_SETS), claimed)
        known = await self._known_revisions(key, owner)
        revisions = find_revisions(owner, known)
        if isinstance(revisions, Wanted):
            # The cache will show it, and then this is looked at again.
            await self._write_revision(key, owner, revisions)
            return DONE
        pods: tuple[SeenPod, ...] = claimed.owned
        await self._own_claims(key, owner, pods)
        decision = decide(owner, pods, revisions, self._clock.utc())
        await self._apply(key, owner, decision, revisions)
        await every(
            self._writer.delete(key, self._revisions, each) for each in superfluous(owner, known, revisions, pods)
        )
        return Result(requeue_after=decision.again_after)

    async def _known_revisions(self, key: Key, owner: SeenStatefulSet) -> Sequence[SeenRevision]:
        own = self._revisions.find(OWNER, owner.metadata.uid)
        orphans = self._revisions.find(ORPHANS, key.namespace)
        claimed = claim(owner, owner.spec.selector, own, orphans)
        await self._writer.settle(
            key, self._revisions, (owner, STATEFUL_SETS), msgspec.structs.replace(claimed, release=())
        )
        return claimed.owned

    async def _write_revision(self, key: Key, owner: SeenStatefulSet, wanted: Wanted) -> None:
        if wanted.again is not None:
            whole = self._revisions.whole(wanted.again.key)
            if whole is not None:
                whole["revision"] = wanted.number
                await self._writer.update(key, self._revisions, whole)
            return
        collisions = owner.status.collision_count or 0
        body = revision_of(owner, wanted.number, collisions)
        try:
            await self._writer.send(key, self._revisions, verbs.create(CONTROLLER_REVISIONS, body, key.namespace))
        except AlreadyExists:
            found = self._revisions.get(Key(key.namespace, body["metadata"]["name"]))
            if found is None or found.data == revision_data(owner):
                raise
            status = msgspec.structs.replace(owner.status, collision_count=collisions + 1)
            await self._writer.update_status(key, self._sets, key, status)

    async def _own_claims(self, key: Key, owner: SeenStatefulSet, pods: Iterable[SeenPod]) -> None:
        """Let claims go with whom the retention policy says; before a pod is deleted, whose end may be theirs."""
        changes: list[Awaitable[None]] = []
        for pod in pods:
            number = ordinal(owner, pod)
            for template in owner.spec.volume_claim_templates or () if number is not None else ():
                assert number is not None
                found = self._claims.get(Key(key.namespace, claim_name(owner, template, number)))
                wanted = claim_owners(owner, pod, number)
                present = found.metadata.owner_references or () if found is not None else ()
                ours = [each for each in present if each.kind in ("StatefulSet", "Pod")]
                if found is not None and ours != list(wanted):
                    changes.append(self._own_claim(key, found, wanted))
        await every(changes)

    async def _own_claim(self, key: Key, claim: KubeObject, owners: Sequence[OwnerReference]) -> None:
        about = claim.metadata
        kept = [each for each in about.owner_references or () if each.kind not in ("StatefulSet", "Pod")]
        change = {"metadata": {"uid": about.uid, "ownerReferences": msgspec.to_builtins([*kept, *owners])}}
        request = verbs.patch(PERSISTENT_VOLUME_CLAIMS, about.name, change, PatchType.MERGE, about.namespace)
        try:
            await self._writer.send(key, self._claims, request)
        except (NotFound, Conflict):
            return

    async def _apply(self, key: Key, owner: SeenStatefulSet, decision: Decision, revisions: Revisions) -> None:
        templates = {each.metadata.name: each.template for each in (revisions.current, revisions.update)}
        try:
            await every(self._delete(key, owner, pod) for pod in decision.delete)
            await every(self._make(key, owner, make, templates[make.revision]) for make in decision.make)
        finally:
            if decision.status != owner.status:
                await self._writer.update_status(key, self._sets, key, decision.status)

    async def _make(self, key: Key, owner: SeenStatefulSet, make: Make, template: dict[str, object]) -> None:
        name = f"{owner.metadata.name}-{make.number}"
        for body in claims_of(owner, make.number):
            if Key(key.namespace, body["metadata"]["name"]) in self._claims:
                continue
            what = f"Create Claim {body['metadata']['name']} Pod {name} in StatefulSet {owner.metadata.name}"
            request = verbs.create(PERSISTENT_VOLUME_CLAIMS, body, key.namespace)
            try:
                await self._writer.send(key, self._claims, request)
            except AlreadyExists:
                continue
            except ApiError as error:
                self._tell_failure(owner, f"{what} failed error: {error.message}", error)
                raise
            self._tell(owner, "SuccessfulCreate", f"{what} success")
        what = f"Create Pod {name} in StatefulSet {owner.metadata.name}"
        body = pod_of(owner, template, make.revision, make.number)
        try:
            await self._writer.send(key, self._pods, verbs.create(PODS, body, key.namespace))
        except ApiError as error:
            self._tell_failure(owner, f"{what} failed error: {error.message}", error)
            raise
        self._tell(owner, "SuccessfulCreate", f"{what} successful")

    async def _delete(self, key: Key, owner: SeenStatefulSet, pod: SeenPod) -> None:
        if await self._writer.delete(key, self._pods, pod):
            what = f"Delete Pod {pod.metadata.name} in StatefulSet {owner.metadata.name}"
            self._tell(owner, "SuccessfulDelete", f"{what} successful")

    def _tell(self, owner: SeenStatefulSet, reason: str, message: str) -> None:
        self._events.record(reference(STATEFUL_SETS, owner), "Normal", reason, message)

    def _tell_failure(self, owner: SeenStatefulSet, message: str, error: ApiError) -> None:
        if not is_ending(error):
            self._events.record(reference(STATEFUL_SETS, owner), "Warning", "FailedCreate", message)
