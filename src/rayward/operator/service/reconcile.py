"""The controller of RayServices: what wakes a run, and what it works with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.client.api import Client
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import Resource
from rayward.kube.core.service import EndpointSlice, Service
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.workers import WorkersObserver
from rayward.operator.cluster.pod import RayPod
from rayward.operator.ray.poller import Poller
from rayward.operator.ray.reach import Reach
from rayward.operator.service.observe import Caches, service_of_cluster
from rayward.operator.service.outcomes import ChangeObserver
from rayward.operator.service.pursuit import Known, Pursuit
from rayward.operator.service.tools import Tools
from rayward.operator.unbroken import DRAIN_SECONDS, Unbroken
from rayward.operator.writing import WORKERS

NAME: Final = "rayservice"

_OURS: Final = (None, "", "ray.io/kuberay-operator")


class ServiceReconciler:
    """Makes the RayServices in ``caches`` true; ``poller`` has to run beside the controller."""

    def __init__(
        self,
        client: Client,
        caches: Caches,
        recorder: EventRecorder,
        reach: Reach,
        *,
        workers: int = WORKERS,
        observer: WorkersObserver | None = None,
        clock: Clock = SYSTEM_CLOCK,
        changes: ChangeObserver | None = None,
    ) -> None:
        self.controller = Controller(NAME, self._reconcile, workers=workers, observer=observer, clock=clock)
        self.poller = Poller(reach, self._dashboard_changed, clock=clock)
        self._caches = caches
        self._unbroken = Unbroken()
        self._tools = Tools(client, caches, recorder, self.poller, clock, self._wrote, self._unbroken, changes)
        self._known: dict[Key, Known] = {}
        self.controller.watch(caches.services, _spec_changed)
        self.controller.watch(caches.clusters.clusters, service_of_cluster)
        self.controller.watch(caches.clusters.services, self._services_of_service)
        self.controller.watch(caches.clusters.pods, self._services_of_pod)
        self.controller.watch(caches.slices, self._services_of_slice)
        caches.clusters.clusters.subscribe(self._cluster_changed)

    async def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Wait for the answers to what was sent: the next leader must not begin before the server has acted."""
        await self._unbroken.drain(seconds)

    def _cluster_changed(self, old: RayCluster | None, new: RayCluster | None) -> None:
        """A cluster that is gone is watched no longer, whether its service is still there or not."""
        if new is None and old is not None:
            self.poller.drop(old.key)

    def _dashboard_changed(self, cluster: Key) -> None:
        for key in service_of_cluster(None, self._caches.clusters.clusters.get(cluster)):
            self.controller.add(key)

    async def _reconcile(self, key: Key) -> Result:
        service = self._caches.services.get(key)
        if service is None:
            self._known.pop(key, None)
            return DONE
        if service.spec.managed_by not in _OURS:
            return DONE
        known = self._known.get(key)
        if known is None or known.uid != service.metadata.uid:
            known = self._known[key] = Known(service.metadata.uid)
        return await Pursuit(self._tools, service, known).run()

    def _wrote(self, writer: Key, resource: Resource, answer: KubeObject) -> None:
        cache = self._caches.services if resource is RAY_SERVICES else self._caches.clusters.of(resource)
        self.controller.wrote(writer, cache, answer)

    def _services_of_pod(self, old: RayPod | None, new: RayPod | None) -> Iterable[Key]:
        found = new or old
        return self._service_of(found.metadata.namespace, found.metadata.label(labels.CLUSTER)) if found else ()

    def _services_of_service(self, old: Service | None, new: Service | None) -> Iterable[Key]:
        """A service's own, and those of its clusters."""
        found = new or old
        if found is None:
            return ()
        its_cluster = found.metadata.label(labels.ORIGIN_NAME)
        return (*service_of_cluster(None, found), *self._service_of(found.metadata.namespace, its_cluster))

    def _services_of_slice(self, old: EndpointSlice | None, new: EndpointSlice | None) -> Iterable[Key]:
        """The service behind whose Service, or whose cluster's Service, something changed."""
        found = new or old
        if found is None:
            return ()
        namespace = found.metadata.namespace
        service = self._caches.clusters.services.get(Key(namespace, found.metadata.label("kubernetes.io/service-name")))
        return self._services_of_service(None, service)

    def _service_of(self, namespace: str, cluster: str) -> Iterable[Key]:
        return service_of_cluster(None, self._caches.clusters.clusters.get(Key(namespace, cluster)))


def _spec_changed(old: RayService | None, new: RayService | None) -> Iterable[Key]:
    """Its own status, which the loop writes, is no news to it."""
    found = new or old
    if found is None:
        return ()
    if old is not None and new is not None:
        before, after = old.metadata, new.metadata
        if before == msgspec.structs.replace(after, resource_version=before.resource_version):
            return ()
    return (found.metadata.key,)
