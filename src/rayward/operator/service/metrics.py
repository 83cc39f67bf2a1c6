"""Metrics of RayServices: KubeRay's, and how upgrades end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from rayward.kinds.rayservice import RayService
from rayward.kube.core.meta import condition_of, is_true
from rayward.kube.runtime.cache import Cache
from rayward.operator.service.conditions import READY, STALLED, UPGRADE, phase_of

_WHOSE: Final = ("name", "namespace", "uid")
_UPGRADE_SECONDS: Final = (1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)


class ServiceMetrics:
    """Metrics of RayServices: KubeRay's, and how upgrades end."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._caches: list[Cache[RayService]] = []
        self._durations = Histogram(
            "rayward_service_upgrade_duration_seconds",
            "Seconds from the edit of a RayService until traffic was switched to the new RayCluster.",
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
        services.subscribe(self._changed)

    def switched(self, service: RayService, seconds: float) -> None:
        """An upgrade took its requests over."""
        self._durations.labels(service.metadata.name, service.metadata.namespace).observe(max(seconds, 0.0))

    def failed(self, service: RayService, reason: str) -> None:
        """A change was given up."""
        self._failures.labels(service.metadata.name, service.metadata.namespace, reason).inc()

    def _changed(self, old: RayService | None, new: RayService | None) -> None:
        if new is not None:
            # An observation that makes its series is no increase to Prometheus: there has to be a zero before it.
            self._durations.labels(new.metadata.name, new.metadata.namespace)
        elif old is not None:
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
        stalled = GaugeMetricFamily(
            "rayward_service_stalled",
            "1 while a RayService cannot reach its spec without another edit, with the reason.",
            labels=[*_WHOSE, "reason"],
        )
        clusters = GaugeMetricFamily(
            "rayward_service_cluster_info",
            "RayClusters of a RayService: the one that serves, and the one that is made ready.",
            labels=[*_WHOSE, "ray_cluster", "role"],
        )
        for cache in self._caches:
            for service in cache:
                metadata, found = service.metadata, service.status.conditions
                whose = [metadata.name, metadata.namespace, metadata.uid]
                info.add_metric(whose, 1)
                ready.add_metric([*whose, str(is_true(found, READY)).lower()], 1)
                upgrading.add_metric([*whose, str(is_true(found, UPGRADE)).lower()], 1)
                phase.add_metric([*whose, phase_of(found)], 1)
                stuck = condition_of(found or (), STALLED)
                is_stuck = stuck is not None and stuck.status == "True"
                stalled.add_metric([*whose, stuck.reason if stuck is not None and is_stuck else ""], int(is_stuck))
                status = service.status
                for role, cluster in (
                    ("active", status.active_service_status),
                    ("pending", status.pending_service_status),
                ):
                    if cluster is not None and cluster.ray_cluster_name:
                        clusters.add_metric([*whose, cluster.ray_cluster_name, role], 1)
        return info, ready, upgrading, phase, stalled, clusters
