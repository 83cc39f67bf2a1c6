"""Every query of the Grafana dashboard asks for metrics and labels that the operator has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.metrics import Metrics
from rayward.operator.cluster.metrics import ClusterMetrics
from rayward.operator.service.metrics import ServiceMetrics

_DASHBOARD: Final = Path(__file__).parents[2] / "charts" / "grafana" / "rayward-services.json"
_metric: Final = re.compile(r"\b([a-z_]+_[a-z_]+)\b(?=[{\[)]|$)").findall
_label: Final = re.compile(r"([a-z_]+)=\"").findall
_by: Final = re.compile(r"by \(([^)]*)\)").findall


def _queries() -> list[str]:
    dashboard: dict[str, Any] = json.loads(_DASHBOARD.read_text())
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


@pytest.fixture(scope="module")
def samples() -> dict[str, set[str]]:
    """The labels of each series of an operator that has seen a service and its cluster."""
    registry = CollectorRegistry()
    metrics, of_clusters, of_services = Metrics(registry), ClusterMetrics(registry), ServiceMetrics(registry)
    for name in ("raycluster", "rayservice"):
        observer = metrics.controller(name, 1)
        observer.begun()
        observer.ended("error", 1.0)
    metadata = {"name": "a", "namespace": "b", "uid": "c", "resourceVersion": "1"}
    services: Cache[RayService] = Cache(RAY_SERVICES, RayService)
    clusters: Cache[RayCluster] = Cache(RAY_CLUSTERS, RayCluster)
    service = msgspec.convert({"metadata": metadata}, RayService)
    services.put(service, b"{}")
    clusters.put(msgspec.convert({"metadata": metadata}, RayCluster), b"{}")
    of_clusters.follow(clusters)
    of_services.follow(services)
    of_services.switched(service, 3.0)
    of_services.failed(service, "ServeDeployFailed")
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


@pytest.mark.parametrize("query", _queries())
def test_a_query_finds_something(query: str, samples: dict[str, set[str]]) -> None:
    (name,) = _metric(query)
    assert name in samples
    wanted = {label.strip() for group in _by(query) for label in group.split(",")} | set(_label(query))
    assert wanted <= samples[name]
