"""A RayService and its clusters, as the caches and the dashboards show them. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from rayward.kinds import labels, names
from rayward.kinds.admission import QUOTA_RESERVED
from rayward.kinds.hashing import VERSION, hash_version, is_hash_of, release_hash
from rayward.kinds.raycluster import RayCluster, RayClusterSpec
from rayward.kinds.rayservice import RayService
from rayward.kinds.rayversion import at_least
from rayward.kinds.resources import RAY_SERVICES
from rayward.kinds.shapes import desired_workers, min_workers
from rayward.kube.client.options import Selectors
from rayward.kube.core.meta import condition_of, is_controlled_by, parse_time
from rayward.kube.core.objects import Key
from rayward.kube.core.resource import ENDPOINT_SLICES
from rayward.kube.core.service import EndpointSlice, Service
from rayward.kube.runtime.cache import Cache, by_label
from rayward.kube.runtime.predicates import controller_key
from rayward.kube.runtime.registry import Informers, Source
from rayward.operator.cluster import conditions as cluster_conditions
from rayward.operator.cluster.observe import BY_CLUSTER, BY_OWNER
from rayward.operator.cluster.observe import Caches as ClusterCaches
from rayward.operator.cluster.observe import caches_of as cluster_caches_of
from rayward.operator.cluster.pod import RayPod
from rayward.operator.cluster.status import STARTING
from rayward.operator.ray import answers
from rayward.operator.ray.observation import Observation, Routes
from rayward.operator.service.annotations import ClusterAnnotations, read_annotations
from rayward.operator.service.backends import Backends, backends_of, busy_pods
from rayward.operator.service.children import serve_service_name
from rayward.operator.service.diagnosis import message_of, waits_for
from rayward.operator.service.routing import required_routes, serve_pod
from rayward.operator.service.serveconfig import (
    application_names,
    code_behind_routes,
    config_hash,
    is_deployed,
    user_configs,
)
from rayward.operator.service.state import DEPLOY_FAILED, DEPLOYING, DESERTION, Application, ChildCluster, ServeState
from rayward.operator.service.surge import LIMITS

BY_SERVICE: Final = "service"
SLICE_SELECTOR: Final[Selectors] = {"label_selector": labels.SERVE}
"""EndpointSlices carry the labels of their Service."""
_SERVICE_NAME: Final = "kubernetes.io/service-name"
_OWNER: Final = controller_key(RAY_SERVICES)
_SURGES_SINCE: Final = (2, 60)
"""The Ray that knows ``max_surge_percent``; another one rejects a config with it."""
_NO_PROBLEM: Final = (STARTING, "ScalingDown", "Suspended")
"""Reasons of a RayCluster that is not Ready and needs nothing but time, or its user."""

RAY_SERVICES_WHOLE: Final = Source(RAY_SERVICES, RayService, keep_raw=True)
_SLICES: Final = Source(ENDPOINT_SLICES, EndpointSlice, SLICE_SELECTOR, indexes={BY_SERVICE: by_label(_SERVICE_NAME)})


@dataclass(frozen=True, slots=True)
class Caches:
    """What decisions about RayServices are made from, and which of them a change concerns."""

    services: Cache[RayService]
    slices: Cache[EndpointSlice]
    clusters: ClusterCaches

    def owned_clusters(self, service: RayService) -> list[RayCluster]:
        """Its RayClusters, those being deleted included."""
        found = self.clusters.clusters.find(BY_OWNER, service.metadata.uid)
        return sorted(found, key=lambda cluster: cluster.metadata.name)

    def owned_services(self, service: RayService) -> list[Service]:
        """The Services that it owns itself, not through a RayCluster."""
        return self.clusters.services.find(BY_OWNER, service.metadata.uid)

    def endpoints(self, key: Key) -> frozenset[str]:
        """The uids of the ready pods behind a Service."""
        return frozenset(
            endpoint.target_ref.uid if endpoint.target_ref else endpoint.addresses[0]
            for found in self.slices.find(BY_SERVICE, str(key))
            for endpoint in found.endpoints or ()
            if endpoint.conditions.ready is not False and endpoint.addresses
        )

    def keys_of_pod(self, old: RayPod | None, new: RayPod | None) -> Iterable[Key]:
        """The RayService of a pod's RayCluster."""
        found = new or old
        return self.keys_of_cluster(found.metadata.namespace, found.metadata.label(labels.CLUSTER)) if found else ()

    def keys_of_service(self, old: Service | None, new: Service | None) -> Iterable[Key]:
        """The RayService that owns a Service, itself or through a RayCluster."""
        found = new or old
        if found is None:
            return ()
        cluster = found.metadata.label(labels.ORIGIN_NAME)
        return (*_OWNER(None, found), *self.keys_of_cluster(found.metadata.namespace, cluster))

    def keys_of_slice(self, old: EndpointSlice | None, new: EndpointSlice | None) -> Iterable[Key]:
        """The RayService behind whose Service endpoints changed."""
        found = new or old
        if found is None:
            return ()
        service = self.clusters.services.get(Key(found.metadata.namespace, found.metadata.label(_SERVICE_NAME)))
        return self.keys_of_service(None, service)

    def keys_of_cluster(self, namespace: str, name: str) -> Iterable[Key]:
        """The RayService of a RayCluster."""
        return _OWNER(None, self.clusters.clusters.get(Key(namespace, name)))


def caches_of(informers: Informers) -> Caches:
    """The caches that decisions about RayServices read, those of RayClusters among them."""
    return Caches(
        services=informers.cache(RAY_SERVICES_WHOLE),
        slices=informers.cache(_SLICES),
        clusters=cluster_caches_of(informers),
    )


@dataclass(frozen=True, slots=True)
class ObservedCluster:
    """One RayCluster of the service: what decisions read of it, and what writes need."""

    cluster: RayCluster
    child: ChildCluster
    annotations: ClusterAnnotations
    head: RayPod | None
    observation: Observation
    pods: tuple[RayPod, ...] = ()
    """Those that are not being deleted."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A RayService and everything that belongs to it."""

    clusters: Mapping[str, ObservedCluster]
    serving: str
    """The cluster that gets the traffic; empty while none does."""
    owned_services: tuple[Service, ...]
    serve_services: tuple[Service, ...]
    """Those of them that lead to the applications; first the one that the spec names, if it exists."""
    endpoints: int
    """Ready addresses behind the serve Service."""
    backends: Backends
    """Whose they are."""

    @property
    def children(self) -> tuple[ChildCluster, ...]:
        """What decisions read of the clusters."""
        return tuple(found.child for found in self.clusters.values())

    def silent(self, now: datetime) -> tuple[str, ...]:
        """The applications of the cluster that serves which have no replica, and will have none in a moment."""
        found = self.clusters.get(self.serving)
        if found is None or found.child.serve is None:
            return ()
        child, serve = found.child, found.child.serve
        late = child.deserted_since is not None and now - child.deserted_since >= DESERTION
        silent = {app.name for app in serve.applications if app.silent or app.unscheduled or (late and app.deserted)}
        if serve.config == child.config:
            silent |= child.applications - {app.name for app in serve.applications}
        if child.served is not None:
            # One that a changed config adds has never answered: that it does not yet takes nothing from anybody.
            silent &= child.served
        return tuple(sorted(silent))


def observe(caches: Caches, service: RayService, latest: Callable[[Key], Observation]) -> Observed:
    """Read one RayService; ``latest`` is what was last seen at a cluster's dashboard."""
    namespace = service.metadata.namespace
    owned = tuple(caches.owned_services(service))
    serve_services = _serve_services(service, owned)
    busy = busy_pods(serve_services)
    clusters = caches.owned_clusters(service)
    active = service.status.active_service_status
    promoted = active.ray_cluster_name if active else ""
    serving = next((_selected(found) for found in serve_services if not found.deleting and _selected(found)), "")
    if not serving and any(cluster.metadata.name == promoted and not cluster.deleting for cluster in clusters):
        # Somebody deleted the Service: it is created again, and selects what it selected.
        serving = promoted
    observed: dict[str, ObservedCluster] = {}
    pods_of: dict[str, Sequence[RayPod]] = {}
    wanted = service.spec.ray_cluster_config
    for cluster in clusters:
        name = cluster.metadata.name
        # A cluster that was deleted a moment ago may have had the same name, and its pods may still terminate.
        pods = [
            pod
            for pod in caches.clusters.pods.find(BY_CLUSTER, f"{namespace}/{name}")
            if is_controlled_by(pod, cluster)
        ]
        pods_of[name] = pods
        ready = caches.endpoints(Key(namespace, names.serve_service(name)))
        observation = latest(cluster.key)
        noted = read_annotations(cluster.metadata.annotations or {})
        endpoints = [pod for pod in pods if pod.metadata.uid in ready]
        child = _child(cluster, noted, pods, observation, wanted=wanted, endpoints=endpoints, busy=busy)
        if name in (promoted, serving):
            # Created by another operator, which writes no such annotation.
            child = replace(child, promoted=True)
        live = tuple(pod for pod in pods if not pod.deleting)
        head = next((pod for pod in live if pod.is_head), None)
        observed[name] = ObservedCluster(cluster, child, noted, head, observation, live)
    ready = frozenset(uid for found in serve_services[:1] for uid in caches.endpoints(found.key))
    return Observed(observed, serving, owned, serve_services, len(ready), backends_of(serve_services, ready, pods_of))


def _serve_services(service: RayService, owned: Iterable[Service]) -> tuple[Service, ...]:
    wanted, current = names.serve_label(service.metadata.name), serve_service_name(service)
    found = (each for each in owned if each.metadata.label(labels.SERVE) == wanted)
    return tuple(sorted(found, key=lambda each: (each.metadata.name != current, each.metadata.name)))


def _child(
    cluster: RayCluster,
    noted: ClusterAnnotations,
    pods: Iterable[RayPod],
    observation: Observation,
    *,
    wanted: RayClusterSpec,
    endpoints: Sequence[RayPod],
    busy: frozenset[str],
) -> ChildCluster:
    metadata = cluster.metadata
    pods = [pod for pod in pods if not pod.deleting]
    head = next((pod for pod in pods if pod.is_head), None)
    required = required_routes(noted)
    child = ChildCluster(
        name=metadata.name,
        cluster_hash=_release_hash(cluster, wanted),
        config=config_hash(noted.config),
        service=cluster.metadata.label(labels.ORIGIN_NAME),
        good_config=config_hash(noted.good_config),
        created=parse_time(metadata.creation_timestamp) if metadata.creation_timestamp else None,
        released=_released(cluster),
        deleting=cluster.deleting,
        promoted=noted.promoted,
        delete_at=noted.delete_at,
        progress=noted.progress,
        progressed_at=noted.progressed_at,
        suspended=bool(cluster.spec.suspend) or _waits_for_quota(cluster),
        quota=condition_of(cluster.status.conditions, QUOTA_RESERVED),
        head_ready=head is not None and head.ready,
        ready_pods=sum(pod.ready for pod in pods),
        problem=_problem(cluster),
        failing=_problem(cluster, starting=False),
        endpoints=len(endpoints),
        unrouted=_unrouted(endpoints, observation, promoted=noted.promoted),
        pods=tuple(serve_pod(pod, observation, required) for pod in pods),
        deployed=observation.deployed,
        refreshed=noted.refreshed,
        in_flight=any(pod.metadata.name in busy for pod in pods),
        rolling_since=_rolling_since(cluster, noted, pods),
        missing=(missing := _missing_workers(cluster, pods)),
        resizing=_is_resizing(cluster, noted, missing),
        deserted_since=noted.deserted_since,
        unhealthy_since=noted.unhealthy_since,
        remedies=noted.remedies,
        applications=application_names(noted.config),
        served=application_names(noted.good_config) if noted.good_config else None,
        code=code_behind_routes(noted.good_config or noted.config),
        started_in=noted.started_in,
        user_configs=user_configs(noted.good_config),
        surges=noted.surges,
        unreachable=observation.failure.message if observation.failure else "",
    )
    if head is None or not observation.session or observation.serve is None:
        return child
    serve = _serve_state(child, observation)
    return replace(child, serve=serve, lone=_lone(observation), crowded_out=observation.crowded_out)


def _unrouted(endpoints: Iterable[RayPod], observation: Observation, *, promoted: bool) -> tuple[str, ...]:
    """Endpoints whose proxy does not lead to the applications; before the first traffic each has to say that it does.

    Later a worker that joins is not asked before it takes requests: its readiness probe has done so.
    """
    found = ((pod, observation.routes.get(pod.incarnation)) for pod in endpoints)
    missing = (pod for pod, routes in found if routes is Routes.MISSING or (routes is None and not promoted))
    return tuple(sorted(pod.metadata.name for pod in missing))


def _serve_state(child: ChildCluster, observation: Observation) -> ServeState:
    assert observation.serve is not None
    applications = tuple(
        Application(
            name,
            app.status,
            _message(app, observation, name),
            app.silent,
            app.deserted,
            observation.unscheduled.get(name, ""),
            app.reconfiguring,
            datetime.fromtimestamp(app.last_deployed_time_s, UTC) if app.last_deployed_time_s else None,
        )
        for name, app in sorted(observation.serve.applications.items())
    )
    surges = child.surges.get(child.config, frozenset())
    sent = child.config if is_deployed(observation.deployed, child.config, child.remedies, surges) else ""
    return ServeState(sent, applications, observation.refusal)


def _lone(observation: Observation) -> frozenset[tuple[str, str]]:
    """The deployments of one replica of which Ray can start another one before that one ends."""
    if observation.serve is None or not at_least(observation.ray_version, *_SURGES_SINCE):
        return frozenset()
    return frozenset(
        (app, name)
        for app, application in observation.serve.applications.items()
        for name, found in application.deployments.items()
        if found.target_num_replicas == 1
        and found.placed_freely
        and (found.per_node is None or found.per_node in LIMITS)
    )


def _message(app: answers.Application, observation: Observation, name: str) -> str:
    texts = (app.message, *_messages(app.deployments))
    if app.status != DEPLOY_FAILED:
        # What was said of the former config is not held against this one.
        texts = tuple("" if text in observation.former else text for text in texts)
    found = message_of(texts[0], (*texts[1:], *_earlier(observation, name)))
    return found or (waits_for(app) if app.status == DEPLOYING else "")


def _earlier(observation: Observation, application: str) -> tuple[str, ...]:
    """What an application reported before Ray replaced it by the words that it failed."""
    found = observation.tracebacks.get(application, "")
    return (found,) if found else ()


def _messages(deployments: Mapping[str, Any]) -> list[str]:
    return [found.message for found in deployments.values() if found.message]


def _release_hash(cluster: RayCluster, wanted: RayClusterSpec) -> str:
    """The recorded one; of a cluster that another operator created, that of its spec.

    A hash that an older Rayward recorded is told in today's version: that of the spec asked for, if it is its hash, and
    else that of the cluster's own, which somebody may have written back in another spelling.
    """
    recorded = cluster.metadata.annotation(labels.SPEC_HASH)
    if hash_version(recorded) == VERSION:
        return recorded
    return release_hash(wanted if is_hash_of(recorded, wanted) else cluster.spec)


def _released(cluster: RayCluster) -> datetime | None:
    created = cluster.metadata.creation_timestamp
    suspended = condition_of(cluster.status.conditions, cluster_conditions.SUSPENDED)
    if (
        cluster.spec.suspend
        or _waits_for_quota(cluster)
        or not created
        or (suspended is not None and suspended.status == "True")
    ):
        return None
    admitted = condition_of(cluster.status.conditions, QUOTA_RESERVED)
    since = (found.last_transition_time for found in (suspended, admitted) if found is not None)
    return max(parse_time(each) for each in (created, *since) if each)


def _waits_for_quota(cluster: RayCluster) -> bool:
    found = condition_of(cluster.status.conditions, QUOTA_RESERVED)
    return found is not None and found.status == "False"


def _rolling_since(cluster: RayCluster, noted: ClusterAnnotations, pods: Iterable[RayPod]) -> datetime | None:
    """A worker that became ready is progress, and one that replaces another is younger than the roll."""
    if cluster.status.observed_generation >= noted.rolled_generation:
        return None
    ready = (pod.metadata.creation_timestamp for pod in pods if pod.is_worker and pod.ready)
    times = [parse_time(each) for each in (cluster.metadata.creation_timestamp, *ready) if each]
    return max([*times, *([noted.progressed_at] if noted.progressed_at else ())], default=None)


def _is_resizing(cluster: RayCluster, noted: ClusterAnnotations, missing: str) -> bool:
    """Whether the sizes that an edit asked for are not there; an autoscaler's are its own, but for the least."""
    if cluster.status.observed_generation >= noted.resized_generation:
        return False
    return bool(missing) or not cluster.spec.enable_in_tree_autoscaling


def _missing_workers(cluster: RayCluster, pods: Sequence[RayPod]) -> str:
    """Of an autoscaled cluster only the least that it asks for: the rest is the autoscaler's to decide."""
    autoscaled = bool(cluster.spec.enable_in_tree_autoscaling)
    missing: list[str] = []
    for group in cluster.groups:
        wanted = min_workers(group) if autoscaled else desired_workers(group)
        running = sum(pod.running for pod in pods if pod.is_worker and pod.group == group.group_name)
        if running < wanted:
            missing.append(f"{running} of {wanted} pods of worker group {group.group_name} are running")
    why = _problem(cluster) if missing else ""
    return "; ".join((*missing, *([why] if why else ())))


def _problem(cluster: RayCluster, *, starting: bool = True) -> str:
    ready = condition_of(cluster.status.conditions, cluster_conditions.READY)
    if ready is None or ready.status != "False" or (not starting and ready.reason in _NO_PROBLEM):
        return ""
    return ready.message


def _selected(found: Service) -> str:
    return (found.spec.selector or {}).get(labels.CLUSTER, "")
