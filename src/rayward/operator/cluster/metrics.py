"""What is measured of RayClusters, under KubeRay's names."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster, RayClusterStatus
from rayward.kube.core.meta import is_true, parse_time
from rayward.kube.runtime.cache import Cache
from rayward.operator.cluster.conditions import PROVISIONED


class ClusterMetrics:
    """How many clusters there are, and how long they took."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._caches: list[Cache[RayCluster]] = []
        self._provisioned = Gauge(
            "kuberay_cluster_provisioned_duration_seconds",
            "Seconds from the creation of a RayCluster until all its pods were ready for the first time.",
            ["name", "namespace", "uid"],
            registry=registry,
        )
        registry.register(_Clusters(self._caches))

    def follow(self, clusters: Cache[RayCluster]) -> None:
        """Show this cache too."""
        self._caches.append(clusters)
        clusters.subscribe(self._forget)

    def status_written(self, before: RayCluster, status: RayClusterStatus) -> None:
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
