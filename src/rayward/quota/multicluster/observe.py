"""Reads one RayService, its claims, and what worker clusters have of it, from the caches."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from rayward.kinds import labels, managedby
from rayward.kinds.admission import Queueing
from rayward.kinds.hashing import release_hash
from rayward.kinds.kueue import (
    AdmissionCheck,
    ClusterQueue,
    LocalQueue,
    MultiKueueConfig,
    Workload,
    WorkloadPriorityClass,
    names,
)
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import MULTI_KUEUE_CONFIGS, RAY_SERVICES, WORKLOADS
from rayward.kinds.validation import listed, service_problems
from rayward.kube.core.objects import Key, ObjectMeta
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.kube.machinery.quantity import QuantityError
from rayward.kube.runtime.cache import Cache, by_label
from rayward.kube.runtime.registry import Informers, Source
from rayward.quota.checks import UNSUPPORTED, unsupported_check
from rayward.quota.gate.demand import demand_of
from rayward.quota.multicluster.claims import ORIGIN
from rayward.quota.multicluster.remote import BY_SERVICE, Remotes
from rayward.quota.multicluster.state import Goal, RemoteService, State, Worker
from rayward.quota.sources import ALL_CHECKS, ALL_CLUSTER_QUEUES, ALL_LOCAL_QUEUES, ALL_PRIORITIES

_NOT_FORWARDED: Final = frozenset({"kubectl.kubernetes.io/last-applied-configuration", labels.WORKER_CLUSTER})
_CLAIMS: Final = Source(
    WORKLOADS, Workload, {"label_selector": labels.RELEASE}, indexes={BY_SERVICE: by_label(labels.ORIGIN_NAME)}
)
_CONFIGS: Final = Source(MULTI_KUEUE_CONFIGS, MultiKueueConfig)
_encoder: Final = msgspec.json.Encoder(order="deterministic")


@dataclass(frozen=True)
class Caches:
    """Of the manager cluster."""

    services: Cache[RayService]
    """Whole: their specs are forwarded as they were written."""
    claims: Cache[Workload]
    checks: Cache[AdmissionCheck]
    configs: Cache[MultiKueueConfig]
    priorities: Cache[WorkloadPriorityClass]
    cluster_queues: Cache[ClusterQueue]
    local_queues: Cache[LocalQueue]


def caches_of(informers: Informers, services: Source[RayService]) -> Caches:
    """The caches of the manager cluster; its worker clusters have their own."""
    cache = informers.cache
    return Caches(
        services=cache(services),
        claims=cache(_CLAIMS),
        checks=cache(ALL_CHECKS),
        configs=cache(_CONFIGS),
        priorities=cache(ALL_PRIORITIES),
        cluster_queues=cache(ALL_CLUSTER_QUEUES),
        local_queues=cache(ALL_LOCAL_QUEUES),
    )


def our_checks(caches: Caches) -> list[AdmissionCheck]:
    """The AdmissionChecks that are answered here."""
    return [one for one in caches.checks if one.spec.controller_name == labels.MULTICLUSTER]


def workers_of(caches: Caches, check: AdmissionCheck) -> tuple[str, ...]:
    """The worker clusters that a check may choose from."""
    parameters = check.spec.parameters
    config = caches.configs.get(Key("", parameters.name)) if parameters is not None else None
    return config.spec.clusters if config is not None else ()


def observe(caches: Caches, remotes: Remotes, key: Key, queueing: Queueing) -> State:
    """What there is of one RayService, here and on worker clusters."""
    service = caches.services.get(key)
    claims = sorted(
        caches.claims.find(BY_SERVICE, str(key)),
        key=lambda one: (one.metadata.creation_timestamp or "", bool(one.replaces), one.metadata.name),
    )
    checks = our_checks(caches)
    allowed = dict.fromkeys(name for check in checks for name in workers_of(caches, check))
    state = State(
        service=service,
        claims=tuple(claims),
        checks=frozenset(one.metadata.name for one in checks),
        allowed=tuple(allowed),
        workers={name: _worker(remotes, name, key, service) for name in dict.fromkeys((*allowed, *remotes.names()))},
        pinned=service.metadata.annotation(labels.WORKER_CLUSTER) if service is not None else "",
    )
    if service is None or service.deleting:
        return state
    goal, problem = goal_of(service, caches.services.whole(key) or {})
    found, unknown = _priority(caches, service)
    queue = queueing.queue_of(service.metadata)
    foreign = unsupported_check(Key(key.namespace, queue), caches.local_queues, caches.cluster_queues, caches.checks)
    refused = problem or unknown or foreign
    return dataclasses.replace(
        state,
        goal=None if refused else goal,
        problem=("InvalidSpec" if problem or unknown else UNSUPPORTED, refused) if refused else None,
        queue=queue,
        priority=found,
    )


def is_dispatched(service: RayService, queueing: Queueing) -> bool:
    """Whether a RayService is to run on a worker cluster, by its ``managedBy`` and its queue."""
    return service.spec.managed_by == managedby.MULTIKUEUE and bool(queueing.queue_of(service.metadata))


def goal_of(service: RayService, whole: Object) -> tuple[Goal | None, str]:
    """What a RayService asks for, or why that cannot be had."""
    problems = service_problems(service)
    if problems:
        return None, listed(problems)
    meta = service.metadata
    annotations = {name: text for name, text in (meta.annotations or {}).items() if name not in _NOT_FORWARDED}
    found = {**(meta.labels or {}), labels.MULTICLUSTER: ORIGIN}
    child = RayCluster(
        metadata=ObjectMeta(name=meta.name, namespace=meta.namespace, labels=found, annotations=annotations),
        spec=service.spec.ray_cluster_config,
    )
    try:
        demand = demand_of(child)
    except QuantityError as error:
        return None, str(error)
    spec = {name: value for name, value in section(whole, "spec").items() if name != "managedBy"}
    body: Object = {
        "apiVersion": RAY_SERVICES.api_version,
        "kind": RAY_SERVICES.kind,
        "metadata": {
            "name": meta.name,
            "namespace": meta.namespace,
            "labels": found,
            "annotations": {**annotations, labels.MULTICLUSTER_UID: meta.uid},
        },
        "spec": spec,
    }
    digest = hashlib.sha256(_encoder.encode(body)).hexdigest()[:16]
    body["metadata"]["annotations"][labels.FORWARDED] = digest
    return Goal(release_hash(service.spec.ray_cluster_config), demand, body, digest), ""


def _worker(remotes: Remotes, name: str, key: Key, service: RayService | None) -> Worker:
    remote = remotes.get(name)
    if remote is None:
        return Worker(name, connected=False)
    found = remote.services.get(key)
    return Worker(
        name,
        connected=not remotes.problem(name),
        service=None if found is None else _remote_service(found, service),
        workloads=_sorted(remote.workloads.find(BY_SERVICE, str(key))),
        clusters=tuple(remote.clusters.find(BY_SERVICE, str(key))),
    )


def _remote_service(found: RayService, service: RayService | None) -> RemoteService:
    origin = found.metadata.annotation(labels.MULTICLUSTER_UID)
    return RemoteService(
        uid=found.metadata.uid,
        ours=bool(origin) and (service is None or origin == service.metadata.uid),
        release=release_hash(found.spec.ray_cluster_config),
        forwarded=found.metadata.annotation(labels.FORWARDED),
        deleting=found.deleting,
    )


def _sorted(workloads: Iterable[Workload]) -> tuple[Workload, ...]:
    return tuple(sorted(workloads, key=lambda one: (one.metadata.creation_timestamp or "", one.metadata.name)))


def _priority(caches: Caches, service: RayService) -> tuple[tuple[int, str], str]:
    name = service.metadata.label(names.PRIORITY_CLASS)
    if not name:
        return (0, ""), ""
    found = caches.priorities.get(Key("", name))
    if found is None:
        return (0, ""), f"WorkloadPriorityClass {name} does not exist"
    return (found.value, name), ""
