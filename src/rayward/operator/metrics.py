"""What the operator measures: controller-runtime's names, and KubeRay's for clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster, RayClusterStatus
from rayward.kube.client.request import Request
from rayward.kube.core.meta import is_true, parse_time
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.metrics import ControllerMetrics, Metrics
from rayward.kube.runtime.reflector import Reflector
from rayward.operator.cluster.conditions import PROVISIONED


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
