"""Decision to writes, one after the other, on the manager cluster and on worker clusters.

Every write names the very object that was read, so that one that comes too late is refused; and each may be sent twice.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, TypeVar

from rayward.kinds import labels
from rayward.kinds.kueue import Workload, names
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_SERVICES, WORKLOADS
from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import AlreadyExists, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.core.meta import rfc3339
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import Resource
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.shield import Shield
from rayward.quota.engine import status as to
from rayward.quota.gate.apply import requeued
from rayward.quota.gate.demand import recounted
from rayward.quota.multicluster.claims import twin_body
from rayward.quota.multicluster.remote import Remote, Remotes
from rayward.quota.multicluster.state import (
    ActivateTwin,
    AnswerCheck,
    BindClaim,
    CreateClaim,
    CreateTwin,
    DeleteService,
    DeleteTwin,
    FinishClaim,
    Forward,
    Pin,
    RecountClaim,
    RecountTwin,
    ReleaseClaim,
    RequeueClaim,
    SetFinalizer,
    Write,
)

MANAGER: Final = "rayward-multicluster"

T = TypeVar("T", bound=KubeObject)

Wrote = Callable[[Cache[Any], KubeObject], None]
"""Called with each answer, and the cache that has to show it."""


class Applier:
    """The writes of one reconcile."""

    def __init__(
        self,
        client: Client,
        remotes: Remotes,
        shield: Shield,
        caches: dict[Resource, Cache[Any]],
        wrote: Wrote,
    ) -> None:
        """``caches`` are those of the manager cluster."""
        self._client = client
        self._remotes = remotes
        self._shield = shield
        self._caches = caches
        self._wrote = wrote

    async def apply(self, write: Write, service: RayService | None, now: datetime) -> None:
        match write:
            case SetFinalizer(present):
                assert service is not None
                await self._patch(RAY_SERVICES, service, {"metadata": {"finalizers": _finalizers(service, present)}})
            case Pin(worker):
                assert service is not None
                await self._patch(RAY_SERVICES, service, {"metadata": {"annotations": {labels.WORKER_CLUSTER: worker}}})
            case CreateClaim(body):
                await self._create(self._client, self._caches[WORKLOADS], WORKLOADS, body)
            case BindClaim(claim, uid):
                await self._patch(WORKLOADS, claim, {"metadata": {"labels": {labels.CLUSTER_UID: uid}}})
            case AnswerCheck():
                await self._answer(write, now)
            case RequeueClaim(claim):
                await self._status(claim, requeued(claim, now))
            case RecountClaim(claim, counts):
                await self._patch(WORKLOADS, claim, recounted(claim, counts))
            case FinishClaim(claim, reason, message):
                await self._status(claim, to.finished(claim, reason, message, now))
            case ReleaseClaim(claim):
                await self._release(claim)
            case CreateTwin(worker, claim):
                remote = self._remote(worker)
                await self._create(remote.client, remote.workloads, WORKLOADS, twin_body(claim))
            case DeleteTwin(worker, twin):
                remote = self._remote(worker)
                await self._delete(remote.client, remote.workloads, WORKLOADS, twin.metadata)
            case ActivateTwin(worker, twin, active):
                await self._patch_twin(worker, twin, {"spec": {"active": active}})
            case RecountTwin(worker, twin, counts):
                await self._patch_twin(worker, twin, recounted(twin, counts))
            case Forward(worker, goal):
                await self._forward(self._remote(worker), goal.body)
            case DeleteService(worker, uid):
                assert service is not None
                remote = self._remote(worker)
                request = verbs.delete(RAY_SERVICES, service.metadata.name, service.metadata.namespace, uid=uid)
                await self._send(remote.client, remote.services, request)

    def _remote(self, name: str) -> Remote:
        remote = self._remotes.get(name)
        assert remote is not None, "decided on a worker cluster that was read"
        return remote

    async def _forward(self, remote: Remote, body: Object) -> None:
        """Created where there is none, so that another's RayService of that name is never taken over."""
        meta: Object = body["metadata"]
        found = remote.services.get(Key(meta["namespace"], meta["name"]))
        if found is None:
            await self._send(remote.client, remote.services, verbs.create(RAY_SERVICES, body, meta["namespace"]))
            return
        known = {"uid": found.metadata.uid}
        request = verbs.apply(RAY_SERVICES, {**body, "metadata": {**meta, **known}}, MANAGER, force=True)
        await self._send(remote.client, remote.services, request)

    async def _answer(self, write: AnswerCheck, now: datetime) -> None:
        meta = write.claim.metadata
        check = {
            "name": write.check,
            "state": write.answer,
            "message": write.message,
            "lastTransitionTime": rfc3339(now),
        }
        known = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        body: Object = {
            "apiVersion": WORKLOADS.api_version,
            "kind": WORKLOADS.kind,
            "metadata": {"name": meta.name, "namespace": meta.namespace, **known},
            "status": {"admissionChecks": [check]},
        }
        request = verbs.apply(WORKLOADS, body, MANAGER, force=True, subresource="status")
        await self._send(self._client, self._caches[WORKLOADS], request)

    async def _status(self, claim: Workload, status: Any) -> None:
        body = to.apply_body(claim, status)
        body["metadata"]["resourceVersion"] = claim.metadata.resource_version
        request = verbs.apply(WORKLOADS, body, names.ADMISSION_MANAGER, force=True, subresource="status")
        await self._send(self._client, self._caches[WORKLOADS], request)

    async def _release(self, claim: Workload) -> None:
        left = [one for one in claim.metadata.finalizers or () if one != labels.WORKLOAD_FINALIZER]
        if len(left) < len(claim.metadata.finalizers or ()):
            await self._patch(WORKLOADS, claim, {"metadata": {"finalizers": left}})
        if not claim.deleting:
            await self._delete(self._client, self._caches[WORKLOADS], WORKLOADS, claim.metadata)

    async def _create(self, client: Client, cache: Cache[Any], resource: Resource, body: Object) -> None:
        try:
            await self._send(client, cache, verbs.create(resource, body, body["metadata"]["namespace"]))
        except AlreadyExists:
            # Its name says what it is: an earlier try whose answer was lost.
            name, namespace = body["metadata"]["name"], body["metadata"]["namespace"]
            await self._send(client, cache, verbs.get(resource, name, namespace))

    async def _delete(self, client: Client, cache: Cache[Any], resource: Resource, meta: Any) -> None:
        await self._send(client, cache, verbs.delete(resource, meta.name, meta.namespace, uid=meta.uid))

    async def _patch(self, resource: Resource, about: KubeObject, change: Object) -> None:
        await self._send(self._client, self._caches[resource], _merge(resource, about, _exactly(about, change)))

    async def _patch_twin(self, worker: str, twin: Workload, change: Object) -> None:
        remote = self._remote(worker)
        await self._send(remote.client, remote.workloads, _merge(WORKLOADS, twin, _exactly(twin, change)))

    async def _send(self, client: Client, cache: Cache[Any], request: Request) -> None:
        try:
            answer = await self._shield(client.send_as(request, KubeObject))
        except NotFound:
            if request.method == "POST":
                raise
            return
        self._wrote(cache, answer)


def _finalizers(service: RayService, present: bool) -> list[str]:
    others = [one for one in service.metadata.finalizers or () if one != labels.MULTICLUSTER]
    return [*others, labels.MULTICLUSTER] if present else others


def _exactly(about: KubeObject, change: Object) -> Object:
    known = {"uid": about.metadata.uid, "resourceVersion": about.metadata.resource_version}
    return {**change, "metadata": {**change.get("metadata", {}), **known}}


def _merge(resource: Resource, about: KubeObject, change: Object) -> Request:
    meta = about.metadata
    return verbs.patch(resource, meta.name, change, PatchType.MERGE, meta.namespace, field_manager=MANAGER)
