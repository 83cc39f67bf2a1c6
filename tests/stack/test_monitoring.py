"""Every metric of ours that the dashboard and the alert rules ask for is one that we have."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.metrics import Metrics
from rayward.local.traffic.metrics import TrafficCollector
from rayward.local.traffic.place import Host
from rayward.local.traffic.route import Group, Route, Target
from rayward.local.traffic.sessions import Sessions
from rayward.operator.cluster.metrics import ClusterMetrics
from rayward.operator.service.metrics import ServiceMetrics
from rayward.stack import monitoring

_FOLDER: Final = Path(monitoring.__file__).parent
_metric: Final = re.compile(r"\b((?:rayward|kuberay|controller_runtime|workqueue)_[a-z_]+)").findall


def _queries() -> list[str]:
    dashboard: dict[str, Any] = json.loads((_FOLDER / monitoring.DASHBOARD).read_text())
    rules: dict[str, Any] = yaml.safe_load((_FOLDER / monitoring.ALERTS).read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    asked += [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    return [text for text in asked if _metric(text)]


@pytest.fixture(scope="module")
def samples() -> set[str]:
    """The names of the series of an operator that has seen a service and its cluster, and of the traffic."""
    registry = CollectorRegistry()
    metrics, of_clusters, of_services = Metrics(registry), ClusterMetrics(registry), ServiceMetrics(registry)
    for name in ("raycluster", "rayservice"):
        observer = metrics.controller(name, 1)
        observer.begun()
        observer.ended("error", 1.0)
    metadata = {"name": "a", "namespace": "b", "uid": "c", "resourceVersion": "1"}
    services: Cache[RayService] = Cache(RAY_SERVICES, RayService)
    clusters: Cache[RayCluster] = Cache(RAY_CLUSTERS, RayCluster)
    status = {"activeServiceStatus": {"rayClusterName": "a"}}
    service = msgspec.convert({"metadata": metadata, "status": status}, RayService)
    services.put(service, b"{}")
    clusters.put(msgspec.convert({"metadata": metadata}, RayCluster), b"{}")
    of_clusters.follow(clusters)
    of_services.follow(services)
    of_services.switched(service, 3.0)
    of_services.failed(service, "ServeDeployFailed")
    route = Route("b/a-serve-svc", "8000", lambda: None, lambda: 0.0)
    route.http = True
    route.update([Group(1, (Target("pod", "10.42.0.2", 8000, Host()),))])
    (member,) = route.members
    member.answers.add(200, 0.1)
    registry.register(TrafficCollector([route], Sessions(1)))
    families = text_string_to_metric_families(generate_latest(registry).decode())
    names = {sample.name for family in families for sample in family.samples}
    # Needs a watch that was begun.
    return names | {"rayward_reflector_last_sync_age_seconds"}


@pytest.mark.parametrize("query", _queries())
def test_a_query_asks_for_what_there_is(query: str, samples: set[str]) -> None:
    assert set(_metric(query)) <= samples
