"""What the operator measures: controller-runtime's names, KubeRay's for clusters and services, ours for upgrades."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster, RayClusterStatus
from rayward.kinds.rayservice import RayService
from rayward.kube.client.request import Request
from rayward.kube.core.meta import is_true, parse_time
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.metrics import ControllerMetrics, Metrics
from rayward.kube.runtime.reflector import Reflector
from rayward.operator.cluster.conditions import PROVISIONED
from rayward.operator.service.conditions import READY, UPGRADE, phase_of

_WHOSE: Final = ("name", "namespace", "uid")
_UPGRADE_SECONDS: Final = (1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)


class OperatorMetrics:
    """All metrics of the operator process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._metrics = Metrics(registry)
        self._clusters: list[Cache[RayCluster]] = []
        self._reflectors: list[Reflector[Any]] = []
        self._controllers: dict[str, ControllerMetrics] = {}
        self._provisioned = Gauge(
            "kuberay_cluster_provisioned_duration_seconds",
            "Seconds from the creation of a RayCluster until all its pods were ready for the first time.",
            ["name", "namespace", "uid"],
            registry=registry,
        )
        self.services = ServiceMetrics(registry)
        registry.register(_Clusters(self._clusters))

    def of_controller(self, name: str, workers: int) -> ControllerMetrics:
        """One set for each kind, however many namespaces are watched one by one."""
        if name not in self._controllers:
            self._controllers[name] = self._metrics.controller(name, workers)
        return self._controllers[name]

    def client(self, server: str) -> Callable[[Request, int], None]:
        """An observer for the requests of a client."""
        return self._metrics.client(server)

    def leadership(self, name: str) -> Callable[[bool], None]:
        """An observer for an elector."""
        return self._metrics.leadership(name)

    def follow(self, reflectors: Iterable[Reflector[Any]], clusters: Cache[RayCluster]) -> None:
        """Show these caches too."""
        self._reflectors.extend(reflectors)
        self._clusters.append(clusters)
        clusters.subscribe(self._forget)

    def show_reflectors(self) -> None:
        """All reflectors are known: show them."""
        self._metrics.follow(self._reflectors)

    def cluster_written(self, before: RayCluster, status: RayClusterStatus) -> None:
        """A cluster's status was written."""
        if is_true(before.status.conditions, PROVISIONED) or not is_true(status.conditions, PROVISIONED):
            return
        metadata = before.metadata
        if metadata.creation_timestamp:
            seconds = (datetime.now(UTC) - parse_time(metadata.creation_timestamp)).total_seconds()
            self._provisioned.labels(metadata.name, metadata.namespace, metadata.uid).set(max(seconds, 0.0))

    def _forget(self, old: RayCluster | None, new: RayCluster | None) -> None:
        if new is None and old is not None:
            metadata = old.metadata
            self._provisioned.remove_by_labels(
                {"name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid}
            )


class ServiceMetrics:
    """What is measured of RayServices: KubeRay's metrics, and how upgrades end."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._caches: list[Cache[RayService]] = []
        self._durations = Histogram(
            "rayward_service_upgrade_duration_seconds",
            "Seconds from the edit of a RayService until its requests went to the new cluster.",
            ["name", "namespace"],
            buckets=_UPGRADE_SECONDS,
            registry=registry,
        )
        self._failures = Counter(
            "rayward_service_upgrade_failures",
            "Changes of a RayService that were given up.",
            ["name", "namespace", "reason"],
            registry=registry,
        )
        registry.register(_Services(self._caches))

    def follow(self, services: Cache[RayService]) -> None:
        """Show this cache too."""
        self._caches.append(services)
        services.subscribe(self._forget)

    def switched(self, service: RayService, seconds: float) -> None:
        """An upgrade took its requests over."""
        self._durations.labels(service.metadata.name, service.metadata.namespace).observe(max(seconds, 0.0))

    def failed(self, service: RayService, reason: str) -> None:
        """A change was given up."""
        self._failures.labels(service.metadata.name, service.metadata.namespace, reason).inc()

    def _forget(self, old: RayService | None, new: RayService | None) -> None:
        if new is None and old is not None:
            whose = {"name": old.metadata.name, "namespace": old.metadata.namespace}
            self._durations.remove_by_labels(whose)
            self._failures.remove_by_labels(whose)


class _Services(Collector):
    def __init__(self, caches: list[Cache[RayService]]) -> None:
        self._caches = caches

    def collect(self) -> Iterable[GaugeMetricFamily]:
        info = GaugeMetricFamily("kuberay_service_info", "RayServices there are.", labels=_WHOSE)
        ready = GaugeMetricFamily(
            "kuberay_service_condition_ready", "Whether a RayService takes requests.", labels=[*_WHOSE, "condition"]
        )
        upgrading = GaugeMetricFamily(
            "kuberay_service_condition_upgrade_in_progress",
            "Whether a new cluster is made ready beside the one that serves.",
            labels=[*_WHOSE, "condition"],
        )
        phase = GaugeMetricFamily(
            "rayward_service_phase", "What a RayService is doing, in one word.", labels=[*_WHOSE, "phase"]
        )
        for cache in self._caches:
            for service in cache:
                metadata, found = service.metadata, service.status.conditions
                whose = [metadata.name, metadata.namespace, metadata.uid]
                info.add_metric(whose, 1)
                ready.add_metric([*whose, str(is_true(found, READY)).lower()], 1)
                upgrading.add_metric([*whose, str(is_true(found, UPGRADE)).lower()], 1)
                phase.add_metric([*whose, phase_of(found)], 1)
        return info, ready, upgrading, phase


class _Clusters(Collector):
    def __init__(self, caches: list[Cache[RayCluster]]) -> None:
        self._caches = caches

    def collect(self) -> Iterable[GaugeMetricFamily]:
        info = GaugeMetricFamily(
            "kuberay_cluster_info", "RayClusters there are.", labels=["name", "namespace", "uid", "owner_kind"]
        )
        provisioned = GaugeMetricFamily(
            "kuberay_cluster_condition_provisioned",
            "Whether all pods of a RayCluster were ready once.",
            labels=["name", "namespace", "uid", "condition"],
        )
        for cache in self._caches:
            for cluster in cache:
                metadata = cluster.metadata
                whose = [metadata.name, metadata.namespace, metadata.uid]
                info.add_metric([*whose, metadata.label(labels.ORIGIN_KIND) or "None"], 1)
                provisioned.add_metric([*whose, str(is_true(cluster.status.conditions, PROVISIONED)).lower()], 1)
        return info, provisioned
