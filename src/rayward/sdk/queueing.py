"""Whether a Ray object would get quota, asked of the objects that a server has: operations of both clients."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from rayward.changes import writing
from rayward.changes.refs import Ref
from rayward.changes.steps import Operation, Send
from rayward.kinds import labels
from rayward.kinds.admission import Admission, Queueing
from rayward.kinds.hashing import release_hash
from rayward.kinds.kueue import ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Workload
from rayward.kinds.raycluster import RayCluster, RayClusterSpec
from rayward.kinds.rayjob import submission_mode
from rayward.kinds.resources import (
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    RAY_CLUSTERS,
    RAY_JOBS,
    RAY_SERVICES,
    RESOURCE_FLAVORS,
    WORKLOADS,
)
from rayward.kinds.shapes import submitter_spec, with_sidecar
from rayward.kube.client import verbs
from rayward.kube.client.errors import Forbidden, NotFound
from rayward.kube.core.objects import KubeObject, ObjectMeta
from rayward.kube.core.poddefaults import LimitRange, RuntimeClass
from rayward.kube.core.resource import LIMIT_RANGES, NAMESPACES, RUNTIME_CLASSES, Resource
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.quota.gate.demand import counted
from rayward.quota.ledger import Ledger, Objects, Verdict, proposed

T = TypeVar("T", bound=KubeObject)

_EMBEDDED = Queueing(Admission.EMBEDDED)
_SPECS = {
    RAY_CLUSTERS.kind: ("spec",),
    RAY_SERVICES.kind: ("spec", "rayClusterConfig"),
    RAY_JOBS.kind: ("spec", "rayClusterSpec"),
}


class UncountableError(ValueError):
    """Nobody can tell what an object asks for, because its spec is not valid."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a queue would say about one object."""

    object: str
    verdict: Verdict

    def line(self) -> str:
        verdict = self.verdict
        if verdict.is_blocked:
            return f"{self.object}: {verdict.message}"
        return f"{self.object}: {'fits now' if verdict.fits_now else 'waits'}. {verdict.message}"

    def document(self) -> Object:
        verdict = self.verdict
        answer = "never" if verdict.is_blocked else "now" if verdict.fits_now else "later"
        return {
            "object": self.object,
            "clusterQueue": verdict.cluster_queue,
            "fits": answer,
            "need": dict(verdict.need),
            "have": dict(verdict.have),
            "most": dict(verdict.most),
            "heldBy": [{"owner": who, "resources": dict(what)} for who, what in verdict.held_by],
            "message": verdict.message,
        }


def read_ledger() -> Operation[Ledger]:
    """The queues of a server; empty where it has none of Kueue's kinds, or may not be asked."""
    flavors = yield from _list(RESOURCE_FLAVORS, ResourceFlavor)
    cohorts = yield from _list(COHORTS, Cohort)
    cluster_queues = yield from _list(CLUSTER_QUEUES, ClusterQueue)
    local_queues = yield from _list(LOCAL_QUEUES, LocalQueue)
    workloads = yield from _list(WORKLOADS, Workload)
    limit_ranges = yield from _list(LIMIT_RANGES, LimitRange)
    runtime_classes = yield from _list(RUNTIME_CLASSES, RuntimeClass)
    namespaces = yield from _list(NAMESPACES, KubeObject)
    found = Objects(
        flavors=flavors,
        cohorts=cohorts,
        cluster_queues=cluster_queues,
        local_queues=local_queues,
        workloads=workloads,
        pod_defaults=(*limit_ranges, *runtime_classes),
        namespaces={one.metadata.name: one.metadata.labels or {} for one in namespaces},
    )
    return Ledger(found, time.time())


def is_queued(manifest: Object) -> bool:
    """Whether an object is one of Ray's and names a queue."""
    meta = msgspec.convert(section(manifest, "metadata"), ObjectMeta)
    return str(manifest.get("kind")) in _SPECS and bool(_EMBEDDED.queue_of(meta))


def refusals(manifest: Object, namespace: str) -> Operation[tuple[str, ...]]:
    """Why the queue of an object would not let it run now, for a plan; empty where it would, or where there is none."""
    try:
        if not is_queued(manifest):
            return ()
        ledger = yield from read_ledger()
        found = yield from check(ledger, manifest, namespace)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, msgspec.ValidationError):
        # a spec that validation refuses asks its queue for nothing that could be told
        return ()
    if found is None or found.verdict.fits_now:
        return ()
    verdict = found.verdict
    waits = "" if verdict.is_blocked else "waits for quota: "
    return (f"{waits}{verdict.message}",)


def check(ledger: Ledger, manifest: Object, namespace: str, *, applied: bool = False) -> Operation[Answer | None]:
    """How an object would stand; None for one that is in no queue.

    An object that runs already is asked about as an upgrade of it: a RayService keeps what it holds until the new
    release serves, and every other object gives up what it holds. ``applied`` is for one that was written a moment
    ago: its RayService keeps what the RayCluster holds that serves.

    Raises:
        UncountableError: Its spec is not valid.
    """
    kind = str(manifest.get("kind"))
    meta = msgspec.convert(section(manifest, "metadata"), ObjectMeta)
    queue = _EMBEDDED.queue_of(meta)
    if kind not in _SPECS or not queue:
        return None
    spec: Any = manifest
    for part in _SPECS[kind]:
        spec = section(spec, part)
    if not spec:
        return None
    if kind == RAY_JOBS.kind:
        spec = with_sidecar(submission_mode(section(manifest, "spec")), spec)
    namespace = meta.namespace or namespace
    name = meta.name or "unnamed"
    origin = {} if kind == RAY_CLUSTERS.kind else {labels.ORIGIN_KIND: kind, labels.ORIGIN_NAME: name}
    cluster = RayCluster(
        metadata=ObjectMeta(name=name, namespace=namespace, labels={**(meta.labels or {}), **origin}),
        spec=_converted(spec),
    )
    demand, problem = counted(cluster, _submitter(kind, manifest))
    if demand is None:
        raise UncountableError(problem[1] if problem else "")
    asked = proposed(kind, namespace, name, queue, [(one.name, one.count, one.spec) for one in demand.sets])
    surges, beside = False, ""
    if kind == RAY_SERVICES.kind and applied:
        # The new release may hold quota by now, which is not kept beside it.
        beside = yield from _serves_another_release(manifest, namespace)
        surges = bool(beside)
    elif kind == RAY_SERVICES.kind:
        surges = yield from _is_another_release(manifest, namespace)
    return Answer(f"{kind} {namespace}/{name}", ledger.verdict(asked, gives_up=not surges, beside=beside))


def _converted(spec: Object) -> RayClusterSpec:
    try:
        return msgspec.convert(spec, RayClusterSpec)
    except msgspec.ValidationError as error:
        raise UncountableError(str(error)) from error


def _is_another_release(manifest: Object, namespace: str) -> Operation[bool]:
    """Whether the RayService that runs would get another cluster."""
    name = str(section(manifest, "metadata").get("name"))
    live = yield from writing.read_or_none(Ref(RAY_SERVICES.kind, name, namespace))
    if live is None:
        return False
    before, after = (section(section(one, "spec"), "rayClusterConfig") for one in (live, manifest))
    return release_hash(msgspec.convert(before, RayClusterSpec)) != release_hash(msgspec.convert(after, RayClusterSpec))


def _serves_another_release(manifest: Object, namespace: str) -> Operation[str]:
    """The RayCluster that serves, if it is of another release than a RayService asks for; else empty."""
    active = section(section(manifest, "status"), "activeServiceStatus").get("rayClusterName")
    if not active:
        return ""
    live = yield from writing.read_or_none(Ref(RAY_CLUSTERS.kind, str(active), namespace))
    if live is None:
        return ""
    before, after = section(live, "spec"), section(section(manifest, "spec"), "rayClusterConfig")
    same = release_hash(msgspec.convert(before, RayClusterSpec)) == release_hash(msgspec.convert(after, RayClusterSpec))
    return "" if same else str(active)


def _submitter(kind: str, manifest: Object) -> Object | None:
    spec = section(manifest, "spec")
    return (
        submitter_spec(submission_mode(spec), section(spec, "submitterPodTemplate")) if kind == RAY_JOBS.kind else None
    )


def _list(resource: Resource, kind: type[T]) -> Operation[list[T]]:
    try:
        found: Object = yield Send(verbs.list_(resource))
    except (NotFound, Forbidden):
        return []
    return [msgspec.convert(one, kind) for one in entries(found, "items")]
