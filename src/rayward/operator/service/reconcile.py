"""The controller of RayServices: what wakes a run, and what it works with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.core.objects import Key
from rayward.kube.core.resource import Resource
from rayward.kube.core.service import EndpointSlice, Service
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import Result
from rayward.kube.runtime.predicates import controller_key
from rayward.kube.runtime.reconciler import Reconciler
from rayward.kube.runtime.registry import Environment
from rayward.operator.base.writing import WRITE, is_managed_here
from rayward.operator.cluster.pod import RayPod
from rayward.operator.ray.poller import Poller
from rayward.operator.ray.reach import Reach
from rayward.operator.ray.serve import ServeProbe
from rayward.operator.service.metrics import ServiceMetrics
from rayward.operator.service.observe import RAY_SERVICES_WHOLE, caches_of
from rayward.operator.service.pursuit import Known, Pursuit
from rayward.operator.service.tools import Tools

_OWNER: Final = controller_key(RAY_SERVICES)
NAME: Final = "rayservice"


class ServiceReconciler(Reconciler[RayService, Known]):
    """Makes RayServices true."""

    def __init__(self, environment: Environment, metrics: ServiceMetrics, reach: Reach) -> None:
        super().__init__(NAME, environment, RAY_SERVICES_WHOLE, WRITE, Known)
        self._caches = caches = caches_of(environment.informers)
        self.poller = Poller(ServeProbe(reach), self._dashboard_changed, clock=self.clock)
        self.background = (self.poller.run,)
        self._tools = Tools(self.client, caches, self.recorder, self.poller, self.clock, self.writer, metrics)
        metrics.follow(caches.services)
        self.controller.watch(caches.clusters.clusters, controller_key(RAY_SERVICES))
        self.controller.watch(caches.clusters.services, self._services_of_service)
        self.controller.watch(caches.clusters.pods, self._services_of_pod)
        self.controller.watch(caches.slices, self._services_of_slice)
        caches.clusters.clusters.subscribe(self._cluster_changed)

    def caches(self) -> Mapping[Resource, Cache[Any]]:
        """Where its writes show."""
        return {**self._caches.clusters.by_resource, RAY_SERVICES: self._caches.services}

    def manages(self, found: RayService) -> bool:
        """Whether the service is left to this operator."""
        return is_managed_here(found.spec.managed_by)

    async def reconcile(self, found: RayService, local: Known) -> Result:
        """One run."""
        return await Pursuit(self._tools, found, local).run()

    def _cluster_changed(self, old: RayCluster | None, new: RayCluster | None) -> None:
        """A cluster that is gone is watched no longer, whether its service is still there or not."""
        if new is None and old is not None:
            self.poller.drop(old.key)

    def _dashboard_changed(self, cluster: Key) -> None:
        for key in _OWNER(None, self._caches.clusters.clusters.get(cluster)):
            self.controller.add(key)

    def _services_of_pod(self, old: RayPod | None, new: RayPod | None) -> Iterable[Key]:
        found = new or old
        return self._service_of(found.metadata.namespace, found.metadata.label(labels.CLUSTER)) if found else ()

    def _services_of_service(self, old: Service | None, new: Service | None) -> Iterable[Key]:
        """A service's own, and those of its clusters."""
        found = new or old
        if found is None:
            return ()
        its_cluster = found.metadata.label(labels.ORIGIN_NAME)
        return (*_OWNER(None, found), *self._service_of(found.metadata.namespace, its_cluster))

    def _services_of_slice(self, old: EndpointSlice | None, new: EndpointSlice | None) -> Iterable[Key]:
        """The service behind whose Service, or whose cluster's Service, something changed."""
        found = new or old
        if found is None:
            return ()
        namespace = found.metadata.namespace
        service = self._caches.clusters.services.get(Key(namespace, found.metadata.label("kubernetes.io/service-name")))
        return self._services_of_service(None, service)

    def _service_of(self, namespace: str, cluster: str) -> Iterable[Key]:
        return _OWNER(None, self._caches.clusters.clusters.get(Key(namespace, cluster)))
