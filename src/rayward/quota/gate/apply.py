"""Decision to writes, one after the other.

Every write names the very object that was read, so that one that comes too late is refused; and each may be sent twice.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, TypeVar

from rayward.kinds import admission, labels
from rayward.kinds.kueue import Workload, names
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayjob import RayJob
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES, WORKLOADS
from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import AlreadyExists, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import Resource
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.runtime.shield import Shield
from rayward.quota.engine import status as to
from rayward.quota.gate.grants import evicted_because
from rayward.quota.gate.state import (
    AbortUpgrade,
    CreateWorkload,
    FinishWorkload,
    PatchWorkload,
    ReleaseWorkload,
    ReportReady,
    SuspendJob,
    Unreserve,
    Write,
    WriteGrant,
)

MANAGER: Final = "rayward-gate"
GATE: Final = "gate"
"""The value of ``rayward.dev/suspended-by``."""
_QUEUED_AGAIN: Final = (names.BY_PREEMPTION, names.BY_NODE_FAILURES)

T = TypeVar("T", bound=KubeObject)


class Applier:
    """The writes of one reconcile; ``wrote`` is called with each answer."""

    def __init__(
        self, client: Client, shield: Shield, namespace: str, wrote: Callable[[Resource, KubeObject], None]
    ) -> None:
        self._client = client
        self._shield = shield
        self._namespace = namespace
        self._wrote = wrote

    async def apply(self, write: Write, cluster: RayCluster | None, now: datetime) -> None:
        match write:
            case WriteGrant(grant):
                assert cluster is not None
                await self._annotate(RAY_CLUSTERS, cluster, {labels.ADMITTED: admission.written(grant)})
            case CreateWorkload(body):
                await self._create(body)
            case PatchWorkload(workload, change):
                await self._patch(WORKLOADS, workload, change)
            case Unreserve(workload):
                await self._status(workload, requeued(workload, now))
            case ReportReady(workload):
                message = "All pods are ready"
                status = to.said(workload, workload.status, names.PODS_READY, True, names.STARTED, message, now)
                await self._status(workload, status)
            case FinishWorkload(workload, reason, message):
                await self._status(workload, to.finished(workload, reason, message, now))
            case ReleaseWorkload(workload, delete):
                await self._release(workload, delete=delete)
            case SuspendJob(name, mark):
                change: Object = {"spec": {"suspend": True}}
                if mark:
                    change["metadata"] = {"annotations": {labels.SUSPENDED_BY: GATE}}
                await self._send(RAY_JOBS, self._merge(RAY_JOBS, name, change), KubeObject)
            case AbortUpgrade(service, name, _, _):
                change = {"metadata": {"annotations": {labels.ABORT: name}}}
                await self._send(RAY_SERVICES, self._merge(RAY_SERVICES, service, change), KubeObject)

    async def resume(self, job: RayJob, *, clear: bool) -> None:
        """Resume a RayJob that the gate suspended; with ``clear`` alone, forget that it did."""
        change: Object = {"metadata": {"annotations": {labels.SUSPENDED_BY: None}}}
        if not clear:
            change["spec"] = {"suspend": False}
        await self._patch(RAY_JOBS, job, change)

    async def _create(self, body: Object) -> None:
        request = verbs.create(WORKLOADS, body, self._namespace, field_manager=MANAGER)
        try:
            await self._send(WORKLOADS, request, Workload)
        except AlreadyExists:
            name: str = body["metadata"]["name"]
            found = await self._send(WORKLOADS, verbs.get(WORKLOADS, name, self._namespace), Workload)
            asked: str = body["metadata"]["labels"][labels.CLUSTER_UID]
            if found is not None and found.metadata.label(labels.CLUSTER_UID) != asked:
                raise

    async def _release(self, workload: Workload, *, delete: bool) -> None:
        left = [one for one in workload.metadata.finalizers or () if one != labels.WORKLOAD_FINALIZER]
        if len(left) < len(workload.metadata.finalizers or ()):
            await self._patch(WORKLOADS, workload, {"metadata": {"finalizers": left}})
        if delete:
            meta = workload.metadata
            request = verbs.delete(WORKLOADS, meta.name, self._namespace, uid=meta.uid)
            await self._send(WORKLOADS, request, KubeObject)

    async def _status(self, workload: Workload, status: Any) -> None:
        body = to.apply_body(workload, status)
        body["metadata"]["resourceVersion"] = workload.metadata.resource_version
        request = verbs.apply(WORKLOADS, body, names.ADMISSION_MANAGER, force=True, subresource="status")
        await self._send(WORKLOADS, request, Workload)

    async def _annotate(self, resource: Resource, about: KubeObject, annotations: Object) -> None:
        change = {"metadata": {"uid": about.metadata.uid, "annotations": annotations}}
        await self._send(resource, self._merge(resource, about.metadata.name, change), KubeObject)

    async def _patch(self, resource: Resource, about: KubeObject, change: Object) -> None:
        meta = about.metadata
        known = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        body = {**change, "metadata": {**change.get("metadata", {}), **known}}
        await self._send(resource, self._merge(resource, meta.name, body), KubeObject)

    def _merge(self, resource: Resource, name: str, change: Object) -> Request:
        return verbs.patch(resource, name, change, PatchType.MERGE, self._namespace, field_manager=MANAGER)

    async def _send(self, resource: Resource, request: Request, kind: type[T]) -> T | None:
        """None where the object is gone."""
        try:
            answer = await self._shield(self._client.send_as(request, kind))
        except NotFound:
            if request.method == "POST":
                raise
            return None
        self._wrote(resource, answer)
        return answer


def requeued(workload: Workload, now: datetime) -> Any:
    """The status of an evicted Workload whose pods are gone: without quota, and in its queue again if it may be."""
    evicted = workload.condition(names.EVICTED)
    message = evicted.message if evicted is not None else ""
    reason = evicted_because(workload) or names.BY_PREEMPTION
    status = to.unreserved(workload, "Pending", message, now)
    if workload.holds(names.PODS_READY):
        status = to.said(workload, status, names.PODS_READY, False, names.WAIT_FOR_START, "No pod runs", now)
    return to.said(workload, status, names.REQUEUED, reason in _QUEUED_AGAIN, reason, message, now)
