"""A real Prometheus scrapes a real upgrade: every query of the dashboard and of the alert rules returns data."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from rayward.stack import monitoring
from rayward.stack.folder import Folder
from tests.ray.prometheus import Prometheus, scraping
from tests.ray.service import HelloService
from tests.ray.stack import PATIENCE
from tests.ray.underload import asked
from tests.waiting import eventually

pytestmark = [pytest.mark.ray, pytest.mark.timeout(900)]

_threshold: Final = re.compile(r"\s(?:==|>|<)\s[0-9.]+\s*$")

_BY_RELEASE: Final = (
    "ray_serve_num_http_requests_total",
    "ray_serve_deployment_replica_healthy",
    "ray_serve_deployment_processing_latency_ms_count",
)
"""Requests, replicas and processing time: an upgrade is judged by the release before."""


def panels(folder: Path) -> list[tuple[str, str]]:
    """Title and query of everything the dashboard shows."""
    dashboard = json.loads((folder / monitoring.DASHBOARD).read_text())
    return [
        (f"{panel['title']} {target['refId']}", target["expr"])
        for panel in dashboard["panels"]
        for target in panel.get("targets", ())
    ]


def alerts(folder: Path) -> list[tuple[str, str]]:
    """Name of every alert, and what it compares with its threshold."""
    rules: Any = yaml.safe_load((folder / monitoring.ALERTS).read_text())
    found = [(rule["alert"], rule["expr"]) for group in rules["groups"] for rule in group["rules"]]
    assert all(_threshold.search(text) for _, text in found)
    return [(name, _threshold.sub("", text)) for name, text in found]


def answered(service: HelloService, path: str) -> int:
    """The status of one answer."""
    try:
        with urllib.request.urlopen(f"http://{service.address}{path}", timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_each_query_returns_data_of_a_real_upgrade(service: HelloService, tmp_path: Path) -> None:
    folder = Folder(service.stack.folder).monitoring
    old, active = service.release, service.active
    queries = panels(folder) + alerts(folder)
    with scraping(folder / monitoring.SCRAPING, tmp_path / "prometheus") as prometheus:
        eventually(lambda: _scraped(prometheus) == {"rayward": 2, "apiserver": 1, "ray": 2}, PATIENCE)
        with asked(service) as load:
            eventually(lambda: by_release(prometheus).get(active, 0.0) > 0, PATIENCE)
            service.set_release(f"{old}-scraped")
            eventually(lambda: load.tally.answered[f"{old}-scraped plain"] > 0, PATIENCE)
            service.serves(f"{old}-scraped plain")
            new = service.active

            eventually(lambda: _empty(prometheus, queries) == [], PATIENCE)
            eventually(lambda: by_release(prometheus).get(new, 0.0) > 0, PATIENCE)
            # A series that begins with its first error does not grow before the second.
            eventually(
                lambda: answered(service, "/?seconds=soon") == 500 and errors(prometheus).get(new, 0.0) > 0, PATIENCE
            )
            for name in _BY_RELEASE:
                both = prometheus.query(f"count by (ray_cluster) (count_over_time({name}[10m]))")
                assert {active, new} <= {each["metric"]["ray_cluster"] for each in both}, f"{name} of both releases"
        print(f"{len(queries)} queries of panels and alerts; requests a second by release: {by_release(prometheus)}")
        rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
        assert [rule["health"] for rule in rules] == ["ok"] * len(alerts(folder)), rules


def _scraped(prometheus: Prometheus) -> Counter[str]:
    """How many targets of each job answer."""
    targets = prometheus.get("targets")["activeTargets"]
    return Counter(each["labels"]["job"] for each in targets if each["health"] == "up")


def by_release(prometheus: Prometheus) -> dict[str, float]:
    """Requests a second as Ray Serve counts them."""
    return _values(prometheus, 'sum by (ray_cluster) (rate(ray_serve_num_http_requests_total{application!=""}[1m]))')


def errors(prometheus: Prometheus) -> dict[str, float]:
    """Errors a second as Ray Serve counts them."""
    return _values(prometheus, "sum by (ray_cluster) (rate(ray_serve_num_http_error_requests_total[1m]))")


def _values(prometheus: Prometheus, text: str) -> dict[str, float]:
    return {each["metric"]["ray_cluster"]: float(each["value"][1]) for each in prometheus.query(text)}


def _empty(prometheus: Prometheus, queries: list[tuple[str, str]]) -> list[str]:
    return [name for name, text in queries if not prometheus.query(text)]
