"""All controllers on one client, with the caches that they share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, Final, Never, Protocol

from rayward.kube.client.api import Client
from rayward.kube.client.options import Selectors
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import (
    CLUSTER_ROLES,
    CONFIG_MAPS,
    CONTROLLER_REVISIONS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    EVENTS,
    JOBS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    REPLICA_SETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    STATEFUL_SETS,
    Resource,
)
from rayward.kube.runtime.cache import Cache, by_owner
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.reflector import Reflector
from rayward.local.controllers import standard
from rayward.local.controllers.aggregation import ClusterRole, RoleAggregation
from rayward.local.controllers.catalogue import Catalogue
from rayward.local.controllers.claims.controller import ClaimsController, volume_cache
from rayward.local.controllers.claims.volume import CLASS, CLASSES, Claim, StorageClass, standard_class
from rayward.local.controllers.endpoints.controller import ENDPOINTS, EndpointsController, slice_cache
from rayward.local.controllers.endpoints.service import SelectingService
from rayward.local.controllers.expiry import EventExpiry, TimedEvent
from rayward.local.controllers.garbage.controller import GarbageController
from rayward.local.controllers.jobs.controller import BY_JOB, JobController, by_job
from rayward.local.controllers.jobs.job import SeenJob
from rayward.local.controllers.kept import Kept, Wanted
from rayward.local.controllers.monitors import Monitors
from rayward.local.controllers.namespaces.controller import NamespaceController
from rayward.local.controllers.namespaces.namespace import Namespace
from rayward.local.controllers.pods import SeenPod
from rayward.local.controllers.protection import ClaimProtection
from rayward.local.controllers.unserved import UNSERVED, Unserved, UnservedWarnings
from rayward.local.controllers.workloads.common import ORPHANS, by_orphaned
from rayward.local.controllers.workloads.deployment import SeenDeployment
from rayward.local.controllers.workloads.deployments import DeploymentController
from rayward.local.controllers.workloads.replicaset import SeenReplicaSet
from rayward.local.controllers.workloads.replicasets import OWNER, ReplicaSetController
from rayward.local.controllers.workloads.statefulset import SeenRevision, SeenStatefulSet
from rayward.local.controllers.workloads.statefulsets import StatefulSetController

OPTIONAL: Final = ("endpoints", "jobs", "workloads")


_OWNED: Final = {OWNER: by_owner, ORPHANS: by_orphaned}


class _Part(Protocol):
    async def run(self) -> Any: ...


class Controllers:
    """Everything in this room, on one server.

    ``authority`` is the certificate (PEM) by which the server is known; ``published`` where pods find it, if they can;
    ``claims_folder`` where claims get their folders, if they should; ``without`` names those of ``OPTIONAL`` that are
    done elsewhere or not at all.
    """

    def __init__(
        self,
        client: Client,
        *,
        authority: str,
        published: standard.Published | None = None,
        claims_folder: Path | None = None,
        without: Collection[str] = (),
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._client = client
        self._clock = clock
        self._reflectors: list[Reflector[Any]] = []
        self._monitors = Monitors(client, Catalogue(), clock=clock)
        namespaces: Cache[Namespace] = Cache(NAMESPACES, Namespace)
        events: Cache[TimedEvent] = Cache(EVENTS, TimedEvent, keep_raw=False)
        self._reflect(events)
        self._namespaces = namespaces
        self._kept = [
            self._keep_namespaces(),
            self._keep_everywhere(SERVICE_ACCOUNTS, standard.ACCOUNT, standard.account),
            self._keep_everywhere(CONFIG_MAPS, standard.AUTHORITY, lambda name: standard.authority(name, authority)),
        ]
        if published is not None:
            self._kept += [
                self._keep_in_default(SERVICES, standard.service(published)),
                self._keep_in_default(ENDPOINTS, standard.endpoints(published)),
                self._keep_in_default(ENDPOINT_SLICES, standard.endpoint_slice(published)),
            ]
        claims: Cache[Claim] = Cache(PERSISTENT_VOLUME_CLAIMS, Claim, keep_raw=False)
        pods: Cache[SeenPod] = Cache(PODS, SeenPod, keep_raw=False, indexes={BY_JOB: by_job, **_OWNED})
        self._reflect(claims)
        self._parts: list[_Part] = [
            ClaimProtection(client, claims, pods, clock=clock),
            GarbageController(client, self._monitors, clock=clock),
            NamespaceController(client, namespaces, self._monitors, clock=clock),
            EventExpiry(client, events, clock=clock),
            self._aggregation(),
            *self._kept,
        ]
        if "endpoints" not in without:
            self._parts.append(self._endpoints(pods))
        if "jobs" not in without:
            self._parts.append(self._jobs(pods))
        if "workloads" not in without:
            self._parts += self._workloads(pods)
        if claims_folder is not None:
            self._parts += [self._keep_class(), self._claims(claims, claims_folder)]
            recorder = self._recorder("unserved-warnings")
            self._parts += [self._warnings(kind, recorder) for kind in UNSERVED]
        # Last, so that every listener is there before the first change.
        self._reflect(pods)
        self._reflect(namespaces)

    async def run(self) -> Never:
        async with asyncio.TaskGroup() as tasks:
            for reflector in self._reflectors:
                tasks.create_task(reflector.run())
            tasks.create_task(self._monitors.run())
            for reflector in self._reflectors:
                await reflector.wait_synced()
            for part in self._parts:
                tasks.create_task(part.run())
        raise AssertionError("controllers run until they are cancelled")

    def _reflect(self, cache: Cache[Any], *, namespace: str | None = None, selectors: Selectors | None = None) -> None:
        self._reflectors.append(
            Reflector(self._client, cache, namespace=namespace, selectors=selectors, clock=self._clock)
        )

    def _named(self, resource: Resource, name: str, namespace: str | None = None) -> Cache[KubeObject]:
        cache: Cache[KubeObject] = Cache(resource, KubeObject)
        self._reflect(cache, namespace=namespace, selectors={"field_selector": f"metadata.name={name}"})
        return cache

    def _endpoints(self, pods: Cache[SeenPod]) -> EndpointsController:
        services: Cache[SelectingService] = Cache(SERVICES, SelectingService, keep_raw=False)
        nodes: Cache[KubeObject] = Cache(NODES, KubeObject, keep_raw=False)
        slices = slice_cache()
        endpoints: Cache[KubeObject] = Cache(ENDPOINTS, KubeObject)
        for cache in (services, nodes, slices, endpoints):
            self._reflect(cache)
        return EndpointsController(
            self._client,
            services=services,
            pods=pods,
            nodes=nodes,
            slices=slices,
            endpoints=endpoints,
            clock=self._clock,
        )

    def _aggregation(self) -> RoleAggregation:
        roles: Cache[ClusterRole] = Cache(CLUSTER_ROLES, ClusterRole, keep_raw=False)
        self._reflect(roles)
        return RoleAggregation(self._client, roles, clock=self._clock)

    def _claims(self, claims: Cache[Claim], folder: Path) -> ClaimsController:
        volumes = volume_cache()
        classes: Cache[StorageClass] = Cache(CLASSES, StorageClass, keep_raw=False)
        self._reflect(volumes)
        self._reflect(classes)
        return ClaimsController(
            self._client,
            folder,
            claims=claims,
            volumes=volumes,
            classes=classes,
            events=self._recorder("persistentvolume-controller"),
            clock=self._clock,
        )

    def _warnings(self, kind: Unserved, recorder: EventRecorder) -> UnservedWarnings:
        found: Cache[KubeObject] = Cache(kind.resource, KubeObject, keep_raw=False)
        self._reflect(found)
        return UnservedWarnings(kind, found, recorder, clock=self._clock)

    def _recorder(self, component: str) -> EventRecorder:
        events = EventRecorder(self._client, component, clock=self._clock)
        self._parts.append(events)
        return events

    def _jobs(self, pods: Cache[SeenPod]) -> JobController:
        jobs: Cache[SeenJob] = Cache(JOBS, SeenJob)
        self._reflect(jobs)
        return JobController(self._client, jobs, pods, self._recorder("job-controller"), clock=self._clock)

    def _workloads(self, pods: Cache[SeenPod]) -> list[_Part]:
        deployments: Cache[SeenDeployment] = Cache(DEPLOYMENTS, SeenDeployment)
        sets: Cache[SeenReplicaSet] = Cache(REPLICA_SETS, SeenReplicaSet, indexes=_OWNED)
        stateful: Cache[SeenStatefulSet] = Cache(STATEFUL_SETS, SeenStatefulSet)
        revisions: Cache[SeenRevision] = Cache(CONTROLLER_REVISIONS, SeenRevision, indexes=_OWNED)
        claims: Cache[KubeObject] = Cache(PERSISTENT_VOLUME_CLAIMS, KubeObject, keep_raw=False)
        client, clock = self._client, self._clock
        parts: list[_Part] = [
            DeploymentController(client, deployments, sets, pods, self._recorder("deployment-controller"), clock=clock),
            ReplicaSetController(client, sets, pods, self._recorder("replicaset-controller"), clock=clock),
            StatefulSetController(
                client, stateful, revisions, pods, claims, self._recorder("statefulset-controller"), clock=clock
            ),
        ]
        for cache in (deployments, sets, stateful, revisions, claims):
            self._reflect(cache)
        return parts

    def _keep(self, cache: Cache[Any], wanted: Wanted) -> Kept:
        return Kept(f"standard {cache.resource}", self._client, cache, wanted, clock=self._clock)

    def _keep_namespaces(self) -> Kept:
        names = standard.SYSTEM_NAMESPACES
        kept = self._keep(self._namespaces, lambda key: standard.namespace(key.name) if key.name in names else None)
        kept.look_at(Key("", name) for name in names)
        return kept

    def _keep_class(self) -> Kept:
        wanted = standard_class()
        kept = self._keep(self._named(CLASSES, CLASS), lambda key: wanted if key.name == CLASS else None)
        kept.look_at([Key("", CLASS)])
        return kept

    def _keep_everywhere(self, resource: Resource, name: str, make: Callable[[str], standard.Object]) -> Kept:
        def wanted(key: Key) -> dict[str, Any] | None:
            namespace = self._namespaces.get(Key("", key.namespace))
            alive = namespace is not None and not namespace.deleting
            return make(key.namespace) if alive and key.name == name else None

        def keys(old: Namespace | None, new: Namespace | None) -> Iterable[Key]:
            return () if new is None else (Key(new.metadata.name, name),)

        kept = self._keep(self._named(resource, name), wanted)
        kept.follow(self._namespaces, keys)
        return kept

    def _keep_in_default(self, resource: Resource, wanted: dict[str, Any]) -> Kept:
        place = standard.SERVICE
        kept = self._keep(
            self._named(resource, place.name, place.namespace), lambda key: wanted if key == place else None
        )
        kept.follow(self._namespaces, lambda old, new: (place,) if new and new.metadata.name == place.namespace else ())
        return kept
