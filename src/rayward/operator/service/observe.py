"""One service and its clusters, as one look at the caches and the dashboards found them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import msgspec
import orjson

from rayward.kinds import labels, names
from rayward.kinds.hashing import release_hash
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.client.options import Selectors
from rayward.kube.core.meta import condition_of, is_controlled_by, parse_time
from rayward.kube.core.objects import Key
from rayward.kube.core.resource import ENDPOINT_SLICES
from rayward.kube.core.service import EndpointSlice, Service
from rayward.kube.machinery.jsonvalue import entries, is_object
from rayward.kube.runtime.cache import Cache, by_label
from rayward.kube.runtime.registry import Informers, Source
from rayward.operator.cluster import conditions as cluster_conditions
from rayward.operator.cluster.observe import BY_CLUSTER, BY_OWNER
from rayward.operator.cluster.observe import Caches as ClusterCaches
from rayward.operator.cluster.observe import caches_of as cluster_caches_of
from rayward.operator.cluster.pod import RayPod
from rayward.operator.ray.observation import Observation
from rayward.operator.service.children import serve_service_name
from rayward.operator.service.member import Application, Member, ServeSeen
from rayward.operator.service.memory import Memory, config_hash, remembered

BY_SERVICE: Final = "service"
SERVING: Final = "rayward.dev/serving"
"""On a Service: pods that take requests, as the proxy in front of it tells."""
DRAINING: Final = "rayward.dev/draining"
"""On a Service: pods that take no new requests and still owe answers, as the proxy in front of it tells."""
SLICE_SELECTOR: Final[Selectors] = {"label_selector": labels.SERVE}
"""EndpointSlices carry the labels of their Service."""
_SERVICE_NAME: Final = "kubernetes.io/service-name"


class Caches(msgspec.Struct, frozen=True):
    """What decisions about services are made from."""

    services: Cache[RayService]
    slices: Cache[EndpointSlice]
    clusters: ClusterCaches

    def owned_clusters(self, service: RayService) -> list[RayCluster]:
        """The Ray clusters of a service, those being deleted included."""
        found = self.clusters.clusters.find(BY_OWNER, service.metadata.uid)
        return sorted(found, key=lambda cluster: cluster.metadata.name)

    def owned_services(self, service: RayService) -> list[Service]:
        """The Services that a service owns itself."""
        return self.clusters.services.find(BY_OWNER, service.metadata.uid)

    def endpoints(self, key: Key) -> frozenset[str]:
        """The uids of the pods that take requests behind a Service."""
        return frozenset(
            endpoint.target_ref.uid if endpoint.target_ref else endpoint.addresses[0]
            for found in self.slices.find(BY_SERVICE, str(key))
            for endpoint in found.endpoints or ()
            if endpoint.conditions.ready is not False and endpoint.addresses
        )


RAY_SERVICES_WHOLE: Final = Source(RAY_SERVICES, RayService, keep_raw=True)
_SLICES: Final = Source(ENDPOINT_SLICES, EndpointSlice, SLICE_SELECTOR, indexes={BY_SERVICE: by_label(_SERVICE_NAME)})


def caches_of(informers: Informers) -> Caches:
    """The caches that decisions about services read, those of the clusters among them."""
    return Caches(
        services=informers.cache(RAY_SERVICES_WHOLE),
        slices=informers.cache(_SLICES),
        clusters=cluster_caches_of(informers),
    )


@dataclass(frozen=True, slots=True)
class ClusterSeen:
    """One Ray cluster of the service, with what the loop needs to act on it."""

    cluster: RayCluster
    member: Member
    memory: Memory
    head: RayPod | None
    observation: Observation


@dataclass(frozen=True, slots=True)
class Look:
    """A service and everything that belongs to it."""

    clusters: Mapping[str, ClusterSeen]
    serving: str
    serve_services: tuple[Service, ...]
    """Its ways to the applications; the first is the one that the spec names, if that is there."""
    endpoints: int

    @property
    def silent(self) -> tuple[str, ...]:
        """The applications of the cluster that serves which have nobody left to answer."""
        seen = self.clusters.get(self.serving)
        if seen is None or seen.member.serve is None:
            return ()
        member, serve = seen.member, seen.member.serve
        silent = {app.name for app in serve.applications if app.silent}
        if serve.config == member.config:
            silent |= member.applications - {app.name for app in serve.applications}
        return tuple(sorted(silent))


def observe(caches: Caches, service: RayService, latest: Callable[[Key], Observation]) -> Look:
    """Look at one service; ``latest`` says what was last seen at a cluster's dashboard."""
    namespace = service.metadata.namespace
    owned = caches.owned_services(service)
    wanted = names.serve_label(service.metadata.name)
    current = serve_service_name(service)
    serve_services = tuple(
        sorted(
            (found for found in owned if found.metadata.label(labels.SERVE) == wanted),
            key=lambda found: (found.metadata.name != current, found.metadata.name),
        )
    )
    # Until the proxy has heard of a switch, it goes on sending requests to pods that it calls serving.
    busy = {
        pod
        for found in serve_services
        for name in (SERVING, DRAINING)
        for pod in found.metadata.annotation(name).split(",")
        if pod
    }
    active = service.status.active_service_status
    promoted = active.ray_cluster_name if active else ""
    clusters = caches.owned_clusters(service)
    serving = next((_selected(found) for found in serve_services if not found.deleting and _selected(found)), "")
    if not serving and any(cluster.metadata.name == promoted and not cluster.deleting for cluster in clusters):
        # Somebody took the Service away: it is made again, and leads where it led.
        serving = promoted
    seen: dict[str, ClusterSeen] = {}
    for cluster in clusters:
        name = cluster.metadata.name
        # A cluster that was deleted a moment ago may have had the same name, and its pods be on their way out.
        pods = [
            pod
            for pod in caches.clusters.pods.find(BY_CLUSTER, f"{namespace}/{name}")
            if is_controlled_by(pod, cluster)
        ]
        taking = caches.endpoints(Key(namespace, names.serve_service(name)))
        observation = latest(cluster.key)
        memory = remembered(cluster.metadata.annotations or {})
        endpoints = len(taking.intersection(pod.metadata.uid for pod in pods))
        member = _member(cluster, memory, pods, observation, endpoints=endpoints, busy=busy)
        if name in (promoted, serving):
            # Made by another operator, which keeps no such mark.
            member = replace(member, promoted=True)
        head = next((pod for pod in pods if pod.is_head and not pod.deleting), None)
        seen[name] = ClusterSeen(cluster, member, memory, head, observation)
    endpoints = sum(len(caches.endpoints(found.key)) for found in serve_services[:1])
    return Look(seen, serving, serve_services, endpoints)


def deploy_key(member: Member) -> str:
    """Which sending of which config: a remedy sends the same one anew."""
    return f"{member.config}.{member.heals}"


def _member(
    cluster: RayCluster,
    memory: Memory,
    pods: Iterable[RayPod],
    observation: Observation,
    *,
    endpoints: int,
    busy: set[str],
) -> Member:
    metadata = cluster.metadata
    pods = [pod for pod in pods if not pod.deleting]
    head = next((pod for pod in pods if pod.is_head), None)
    member = Member(
        name=metadata.name,
        cluster_hash=_hash(cluster),
        config=config_hash(memory.config),
        good_config=config_hash(memory.good_config),
        created=parse_time(metadata.creation_timestamp) if metadata.creation_timestamp else None,
        released=_released(cluster),
        deleting=cluster.deleting,
        promoted=memory.promoted,
        delete_at=memory.delete_at,
        progress=memory.progress,
        progressed_at=memory.progressed_at,
        suspended=bool(cluster.spec.suspend),
        head_ready=head is not None and head.ready,
        ready_pods=sum(pod.ready for pod in pods),
        ailment=_ailment(cluster),
        endpoints=endpoints,
        in_flight=any(pod.metadata.name in busy for pod in pods),
        unhealthy_since=memory.unhealthy_since,
        heals=memory.heals,
        applications=application_names(memory.config),
        unreachable=observation.failure.message if observation.failure else "",
    )
    if head is None or not observation.session or observation.serve is None:
        return member
    return replace(member, serve=_serve(member, observation))


def _serve(member: Member, observation: Observation) -> ServeSeen:
    assert observation.serve is not None
    applications = tuple(
        Application(name, app.status, _message(app.message, app.deployments), app.silent)
        for name, app in sorted(observation.serve.applications.items())
    )
    sent = member.config if observation.deployed == deploy_key(member) else ""
    return ServeSeen(sent, applications, observation.refusal)


def _message(message: str, deployments: Mapping[str, Any]) -> str:
    """What an application says, else what its deployments say: a replica that never starts is told only there."""
    said = [found.message for found in deployments.values() if found.message]
    return message or "; ".join(said)


def _hash(cluster: RayCluster) -> str:
    """Of which release it is; for a cluster that another operator made, by what it is."""
    noted = cluster.metadata.annotation(labels.SPEC_HASH)
    return noted if noted.startswith("v1-") else release_hash(cluster.spec)


def _released(cluster: RayCluster) -> datetime | None:
    made = cluster.metadata.creation_timestamp
    held = condition_of(cluster.status.conditions, cluster_conditions.SUSPENDED)
    if cluster.spec.suspend or not made or (held is not None and held.status == "True"):
        return None
    since = held.last_transition_time if held is not None else None
    return max(parse_time(made), parse_time(since)) if since else parse_time(made)


def _ailment(cluster: RayCluster) -> str:
    ready = condition_of(cluster.status.conditions, cluster_conditions.READY)
    return ready.message if ready is not None and ready.status == "False" else ""


def _selected(found: Service) -> str:
    return (found.spec.selector or {}).get(labels.CLUSTER, "")


@lru_cache(maxsize=1024)
def application_names(config: str) -> frozenset[str]:
    """The applications that a config asks for."""
    try:
        whole: Any = orjson.loads(config) if config else {}
    except orjson.JSONDecodeError:
        return frozenset()
    found = entries(whole, "applications") if is_object(whole) else []
    return frozenset(str(app.get("name", "default")) for app in found if is_object(app))
