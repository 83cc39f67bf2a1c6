"""Reads one RayCluster, its Workloads and its pods from the caches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rayward.kinds import labels
from rayward.kinds.admission import Queueing, is_acknowledged, read_grant
from rayward.kinds.kueue import (
    AdmissionCheck,
    ClusterQueue,
    Cohort,
    LocalQueue,
    ResourceFlavor,
    Workload,
    WorkloadPriorityClass,
    names,
)
from rayward.kinds.managedby import is_managed_here
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayjob import DeploymentStatus, RayJob
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_JOBS, RAY_SERVICES
from rayward.kinds.shapes import submitter_spec
from rayward.kube.core.meta import controller_of, is_true
from rayward.kube.core.objects import Key, KubeObject, Slim
from rayward.kube.core.pod import SchedulingGate
from rayward.kube.core.poddefaults import LimitRange, RuntimeClass
from rayward.kube.core.resource import PODS
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.runtime.cache import Cache, by_label
from rayward.kube.runtime.registry import Informers, Source
from rayward.quota.checks import UNSUPPORTED, unsupported_check
from rayward.quota.gate.demand import Terms, counted
from rayward.quota.gate.state import PodUse, State
from rayward.quota.sources import (
    ALL_CHECKS,
    ALL_CLUSTER_QUEUES,
    ALL_COHORTS,
    ALL_FLAVORS,
    ALL_LIMIT_RANGES,
    ALL_LOCAL_QUEUES,
    ALL_NAMESPACES,
    ALL_PRIORITIES,
    ALL_RUNTIME_CLASSES,
    ALL_WORKLOADS,
    BY_CLUSTER,
    BY_ORIGIN,
)

BASE: Final = "base"
READY: Final = "Ready"
"""The condition of a RayCluster."""
SURGE: Final = "surge"
_TERMINAL: Final = ("Succeeded", "Failed")
_ENDED: Final = (DeploymentStatus.COMPLETE, DeploymentStatus.FAILED)
"""RayJobs that run no more: suspending one would do nothing for the cluster that it left behind."""


class _Phase(Slim, frozen=True, gc=False):
    phase: str = ""


class _Gates(Slim, frozen=True, gc=False):
    scheduling_gates: tuple[SchedulingGate, ...] = ()


_NO_PHASE: Final = _Phase()
_NO_GATES: Final = _Gates()


class GatePod(KubeObject, frozen=True, gc=False):
    """A pod, by whether it uses anything, and whether it may be scheduled."""

    spec: _Gates = _NO_GATES
    status: _Phase = _NO_PHASE


_by_cluster = by_label(labels.CLUSTER)
_by_origin = by_label(labels.ORIGIN_NAME)
SUBMITTER_PODS: Final = f"{labels.ORIGIN_KIND}={RAY_JOBS.kind},!{labels.CLUSTER}"
"""Selects the submitters of all RayJobs."""
_SUBMITTERS: Final = Source(
    PODS,
    GatePod,
    {"label_selector": SUBMITTER_PODS},
    indexes={BY_ORIGIN: _by_origin},
)


@dataclass(frozen=True)
class Shared:
    """What the operator watches too: one watch and one copy serve both."""

    clusters: Source[RayCluster]
    pods: Source[Any]
    """Of RayClusters, as far as ``GatePod`` at least."""
    jobs: Source[RayJob]
    services: Source[RayService]


@dataclass(frozen=True)
class Caches:
    """What the gate reads."""

    clusters: Cache[RayCluster]
    workloads: Cache[Workload]
    """All of them, others' too."""
    pods: Cache[Any]
    submitters: Cache[GatePod]
    jobs: Cache[RayJob]
    services: Cache[RayService]
    flavors: Cache[ResourceFlavor]
    cluster_queues: Cache[ClusterQueue]
    local_queues: Cache[LocalQueue]
    cohorts: Cache[Cohort]
    checks: Cache[AdmissionCheck]
    priorities: Cache[WorkloadPriorityClass]
    limit_ranges: Cache[LimitRange]
    runtime_classes: Cache[RuntimeClass]
    namespaces: Cache[KubeObject]


def caches_of(informers: Informers, shared: Shared) -> Caches:
    cache = informers.cache
    clusters, pods = cache(shared.clusters), cache(shared.pods)
    clusters.add_index(BY_ORIGIN, _by_origin)
    pods.add_index(BY_CLUSTER, _by_cluster)
    return Caches(
        clusters=clusters,
        workloads=cache(ALL_WORKLOADS),
        pods=pods,
        submitters=cache(_SUBMITTERS),
        jobs=cache(shared.jobs),
        services=cache(shared.services),
        flavors=cache(ALL_FLAVORS),
        cluster_queues=cache(ALL_CLUSTER_QUEUES),
        local_queues=cache(ALL_LOCAL_QUEUES),
        cohorts=cache(ALL_COHORTS),
        checks=cache(ALL_CHECKS),
        priorities=cache(ALL_PRIORITIES),
        limit_ranges=cache(ALL_LIMIT_RANGES),
        runtime_classes=cache(ALL_RUNTIME_CLASSES),
        namespaces=cache(ALL_NAMESPACES),
    )


@dataclass(frozen=True, slots=True)
class LivePods:
    """Pods of one RayCluster's name, and submitters of the RayJob that made it."""

    pods: Iterable[GatePod] = ()
    submitters: Iterable[GatePod] = ()


def observe(caches: Caches, key: Key, queueing: Queueing, stopped: str = "", live: LivePods | None = None) -> State:
    """What there is; how it stands in its queue is told by who knows the queues.

    ``live`` are pods as the server has them, where what the caches know may be too old.
    """
    text = str(key)
    mine = (one for one in caches.workloads.find(BY_CLUSTER, text) if one.metadata.label(labels.CLUSTER_UID))
    workloads = sorted(mine, key=lambda one: (one.metadata.creation_timestamp or "", one.metadata.name))
    pods: dict[str, list[PodUse]] = {}
    lingering: set[str] = set()
    for pod in caches.pods.find(BY_CLUSTER, text) if live is None else live.pods:
        if not _runs(pod):
            continue
        if pod.metadata.label(labels.NODE_TYPE) == labels.REDIS_CLEANUP:
            lingering.add("")
            continue
        owner = controller_of(pod)
        uid = owner.uid if owner is not None else ""
        pods.setdefault(uid, []).append(_use(pod))
    cluster = caches.clusters.get(key)
    if cluster is None:
        submitters = _submitters(caches, key.namespace, job_of(workloads)) if live is None else live.submitters
        lingering |= {pod.metadata.annotation(labels.WORKLOAD) for pod in submitters if _runs(pod)}
        return State(workloads=tuple(workloads), pods=_by_uid(pods), lingering=frozenset(lingering))
    queue = queueing.queue_of(cluster.metadata) if is_managed_here(cluster.spec.managed_by) else ""
    job = cluster.metadata.label(labels.ORIGIN_NAME) if _of_job(cluster) else ""
    found = caches.jobs.get(Key(key.namespace, job)) if job else None
    demand, problem = counted(cluster, _submitter(cluster, found)) if queue else (None, None)
    priority, unknown = _priority(caches, cluster)
    if any(one.metadata.label(labels.CLUSTER_UID) == cluster.metadata.uid and not one.finished for one in workloads):
        # the priority was read when the Workload was made; a class that goes away takes nothing from it
        unknown = None
    grant = read_grant(cluster)
    return State(
        cluster=cluster,
        terms=Terms(queue, role_of(caches, cluster), *priority) if queue else None,
        demand=demand,
        problem=problem or ((unknown or _foreign(caches, Key(key.namespace, queue))) if queue else None),
        stopped=stopped or ("spec.suspend is true" if cluster.spec.suspend else ""),
        grant=grant,
        acknowledged=is_acknowledged(grant, cluster.status.conditions),
        ready=is_true(cluster.status.conditions, READY),
        workloads=tuple(workloads),
        pods=_by_uid(pods),
        lingering=frozenset(lingering),
        prebuilt=_prebuilt(caches, cluster),
        flavors={one.metadata.name: one for one in caches.flavors},
        job=job if found is not None and found.status.job_deployment_status not in _ENDED else "",
        job_suspended=found is not None and bool(found.spec.suspend),
    )


def _prebuilt(caches: Caches, cluster: RayCluster) -> tuple[Workload, ...] | None:
    meta = cluster.metadata
    if not meta.label(labels.MULTICLUSTER):
        return None
    found = caches.workloads.in_namespace(meta.namespace)
    return tuple(one for one in found if is_prebuilt(one) and _same_origin(one, cluster))


def is_prebuilt(workload: Workload) -> bool:
    """Whether a manager cluster made it, and no RayCluster runs by it yet."""
    meta = workload.metadata
    fresh = not (meta.label(labels.CLUSTER_UID) or workload.deleting or workload.finished)
    return fresh and bool(meta.label(labels.MULTICLUSTER))


def _same_origin(one: KubeObject, other: KubeObject) -> bool:
    return all(
        one.metadata.label(name) == other.metadata.label(name) for name in (labels.ORIGIN_KIND, labels.ORIGIN_NAME)
    )


def _by_uid(pods: Mapping[str, Sequence[PodUse]]) -> dict[str, tuple[PodUse, ...]]:
    return {uid: tuple(found) for uid, found in pods.items()}


def role_of(caches: Caches, cluster: RayCluster) -> str:
    """``surge`` for a cluster of a RayService that is to replace one that serves."""
    if is_promoted(cluster):
        return BASE
    return SURGE if any(is_promoted(one) for one in siblings(caches, cluster)) else BASE


def is_promoted(cluster: RayCluster) -> bool:
    """Whether a RayService has sent, or was about to send, requests to it."""
    return bool(cluster.metadata.annotation(labels.PROMOTED))


def siblings(caches: Caches, cluster: RayCluster) -> list[RayCluster]:
    """The other RayClusters of its RayService."""
    meta = cluster.metadata
    if meta.label(labels.ORIGIN_KIND) != RAY_SERVICES.kind:
        return []
    found = caches.clusters.find(BY_ORIGIN, f"{meta.namespace}/{meta.label(labels.ORIGIN_NAME)}")
    return [
        one
        for one in found
        if one.metadata.uid != meta.uid and one.metadata.label(labels.ORIGIN_KIND) == RAY_SERVICES.kind
    ]


def submitting(caches: Caches, namespace: str, job: str) -> bool:
    """Whether a submitter of a RayJob still runs."""
    return any(_runs(pod) for pod in _submitters(caches, namespace, job))


def _submitters(caches: Caches, namespace: str, job: str) -> Iterable[GatePod]:
    return caches.submitters.find(BY_ORIGIN, f"{namespace}/{job}") if job else ()


def _runs(pod: GatePod) -> bool:
    return pod.status.phase not in _TERMINAL


def job_of(workloads: Iterable[Workload]) -> str:
    """The RayJob whose clusters Workloads are for; empty where it is none."""
    return next((one.metadata.label(labels.ORIGIN_NAME) for one in workloads if _of_job(one)), "")


def keys_of_job(caches: Caches, namespace: str, job: str) -> Iterable[Key]:
    """The RayClusters of a RayJob, those too of which only Workloads are left."""
    clusters = (one.key for one in caches.clusters.find(BY_ORIGIN, f"{namespace}/{job}") if _of_job(one))
    left = (
        Key(namespace, one.metadata.label(labels.CLUSTER))
        for one in caches.workloads.find(BY_ORIGIN, f"{namespace}/{job}")
        if _of_job(one) and one.metadata.label(labels.CLUSTER_UID)
    )
    return {*clusters, *left}


def _of_job(found: KubeObject) -> bool:
    return found.metadata.label(labels.ORIGIN_KIND) == RAY_JOBS.kind


def _use(pod: GatePod) -> PodUse:
    head = pod.metadata.label(labels.NODE_TYPE) == labels.HEAD
    group = labels.HEAD_GROUP if head else pod.metadata.label(labels.GROUP)
    return PodUse(group, pod.metadata.annotation(labels.WORKLOAD), pod.deleting)


def _submitter(cluster: RayCluster, job: RayJob | None) -> Object | None:
    template = job.spec.submitter_pod_template if job is not None else None
    return submitter_spec(cluster.metadata.label(labels.SUBMISSION_MODE), template)


def _foreign(caches: Caches, queue: Key) -> tuple[str, str] | None:
    found = unsupported_check(queue, caches.local_queues, caches.cluster_queues, caches.checks)
    return (UNSUPPORTED, found) if found else None


def _priority(caches: Caches, cluster: RayCluster) -> tuple[tuple[int, str], tuple[str, str] | None]:
    name = cluster.metadata.label(names.PRIORITY_CLASS)
    if not name:
        return (0, ""), None
    found = caches.priorities.get(Key("", name))
    if found is None:
        return (0, ""), ("PriorityClassNotFound", f"WorkloadPriorityClass {name} does not exist")
    return (found.value, name), None
