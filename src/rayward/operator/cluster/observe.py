"""Reads one cluster, its pods and its children from the caches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rayward.kinds import labels, names
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.options import Selectors
from rayward.kube.core.job import Job
from rayward.kube.core.meta import controller_of
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import (
    INGRESSES,
    JOBS,
    NETWORK_POLICIES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    Resource,
)
from rayward.kube.core.service import Service
from rayward.kube.runtime.cache import Cache, by_label, by_owner
from rayward.kube.runtime.registry import Informers, Source
from rayward.operator.cluster.local import LocalState
from rayward.operator.cluster.pod import RayPod
from rayward.operator.cluster.state import Observed

BY_CLUSTER: Final = "cluster"
BY_OWNER: Final = "owner"

POD_SELECTOR: Final[Selectors] = {
    "label_selector": f"{labels.NODE_TYPE} in ({labels.HEAD},{labels.WORKER},{labels.REDIS_CLEANUP})"
}
JOB_SELECTOR: Final[Selectors] = {"label_selector": f"{labels.NODE_TYPE}={labels.REDIS_CLEANUP}"}
CHILD_SELECTOR: Final[Selectors] = {"label_selector": labels.CLUSTER}
CHILDREN: Final = (
    SECRETS,
    SERVICE_ACCOUNTS,
    ROLES,
    ROLE_BINDINGS,
    INGRESSES,
    PERSISTENT_VOLUME_CLAIMS,
    NETWORK_POLICIES,
)
"""Of these only the metadata is watched: no secret is ever read."""


@dataclass(frozen=True, slots=True)
class Caches:
    """What decisions about clusters are made from."""

    clusters: Cache[RayCluster]
    pods: Cache[RayPod]
    services: Cache[Service]
    jobs: Cache[Job]
    children: Mapping[Resource, Cache[KubeObject]]

    @property
    def of_children(self) -> Iterable[Cache[KubeObject]]:
        """Every cache of objects that a cluster owns, but for its pods."""
        return (self.services, self.jobs, *self.children.values())  # pyright: ignore[reportReturnType]

    @property
    def by_resource(self) -> Mapping[Resource, Cache[Any]]:
        own: dict[Resource, Cache[Any]] = {
            PODS: self.pods,
            SERVICES: self.services,
            JOBS: self.jobs,
            RAY_CLUSTERS: self.clusters,
        }
        return {**self.children, **own}


CLUSTERS: Final = Source(RAY_CLUSTERS, RayCluster, indexes={BY_OWNER: by_owner})
RAY_PODS: Final = Source(PODS, RayPod, POD_SELECTOR, indexes={BY_CLUSTER: by_label(labels.CLUSTER)})
ALL_SERVICES: Final = Source(SERVICES, Service, indexes={BY_OWNER: by_owner})
_CLEANUP_JOBS: Final = Source(JOBS, Job, JOB_SELECTOR, indexes={BY_OWNER: by_owner})
_CHILDREN: Final = {
    resource: Source(resource, KubeObject, CHILD_SELECTOR, metadata_only=True, indexes={BY_OWNER: by_owner})
    for resource in CHILDREN
}


def caches_of(informers: Informers) -> Caches:
    """The caches that decisions about clusters read."""
    return Caches(
        clusters=informers.cache(CLUSTERS),
        pods=informers.cache(RAY_PODS),
        services=informers.cache(ALL_SERVICES),
        jobs=informers.cache(_CLEANUP_JOBS),
        children={resource: informers.cache(source) for resource, source in _CHILDREN.items()},
    )


def pods_of(caches: Caches, key: Key) -> Iterable[RayPod]:
    """The pods that carry a cluster's name, whoever owns them."""
    return caches.pods.find(BY_CLUSTER, f"{key.namespace}/{key.name}")


def observe(caches: Caches, cluster: RayCluster, local: LocalState, now: float) -> Observed:
    """What exists of one cluster; of its own writes what the caches do not show yet is added from ``local``."""
    metadata = cluster.metadata
    uid = metadata.uid
    mine: list[RayPod] = []
    predecessors: list[RayPod] = []
    for pod in pods_of(caches, metadata.key):
        if not (pod.is_head or pod.is_worker):
            continue
        owner = controller_of(pod)
        if owner is None or owner.uid == uid:
            mine.append(local.with_deletion(pod))
        elif owner.kind == RAY_CLUSTERS.kind:
            predecessors.append(pod)
    mine += local.unseen(caches.pods)
    services = tuple(caches.services.find(BY_OWNER, uid))
    jobs = caches.jobs.find(BY_OWNER, uid)
    owned: dict[tuple[Resource, str], KubeObject] = {(SERVICES, found.metadata.name): found for found in services}
    for resource, cache in caches.children.items():
        for found in cache.find(BY_OWNER, uid):
            owned[resource, found.metadata.name] = found
    claim = caches.children[PERSISTENT_VOLUME_CLAIMS].get(Key(metadata.namespace, names.storage_claim(metadata.name)))
    return Observed(
        pods=tuple(mine),
        predecessor_pods=tuple(predecessors),
        owned=owned,
        services=services,
        claim=claim,
        cleanup_job=jobs[0] if jobs else None,
        logs=local.logs,
        warnings=local.warnings,
        waited=None if local.progress_at is None else now - local.progress_at,
    )
