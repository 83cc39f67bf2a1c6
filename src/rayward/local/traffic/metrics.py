"""What passed, in Prometheus' words, on loopback."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from rayward.local.traffic.route import Route
from rayward.local.traffic.sessions import Sessions

_LABELS = ("namespace", "service", "port", "pod")


class TrafficCollector(Collector):
    """What passed, by service, port and pod."""

    def __init__(self, routes: Iterable[Route], sessions: Sessions) -> None:
        self._routes = routes
        self._sessions = sessions

    def collect(self) -> Iterable[Metric]:
        """The counts of now."""
        requests = CounterMetricFamily("rayward_traffic_requests", "Requests or connections begun.", labels=_LABELS)
        failures = CounterMetricFamily("rayward_traffic_failures", "Those that a backend failed.", labels=_LABELS)
        in_flight = GaugeMetricFamily("rayward_traffic_in_flight", "Requests or connections now.", labels=_LABELS)
        answers = CounterMetricFamily("rayward_traffic_answers", "Whole HTTP answers.", labels=(*_LABELS, "code"))
        seconds = HistogramMetricFamily(
            "rayward_traffic_answer_seconds", "Seconds from a request to the end of its answer.", labels=_LABELS
        )
        refused = CounterMetricFamily("rayward_traffic_refused", "Those that found no backend.", labels=_LABELS[:3])
        clients = GaugeMetricFamily("rayward_traffic_clients", "Connections of clients.", value=len(self._sessions))
        for route in self._routes:
            namespace, _, service = route.service.partition("/")
            here = (namespace, service, route.port)
            refused.add_metric(here, route.refused)
            for member in route.members:
                labels = (*here, member.target.pod)
                requests.add_metric(labels, member.served)
                failures.add_metric(labels, member.failed)
                in_flight.add_metric(labels, member.in_flight)
                if route.http:
                    for digit, count in member.answers.codes.items():
                        answers.add_metric((*labels, f"{digit}xx"), count)
                    seconds.add_metric(labels, member.answers.buckets(), member.answers.seconds)
        return requests, failures, in_flight, answers, seconds, refused, clients


class MetricsPage:
    """The application behind ``/metrics``."""

    def __init__(self, routes: Iterable[Route], sessions: Sessions) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(TrafficCollector(routes, sessions))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        found = scope["path"] == "/metrics" and scope["method"] == "GET"
        body = generate_latest(self._registry) if found else b"ask for /metrics\n"
        kind = b"text/plain; version=0.0.4; charset=utf-8"
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200 if found else 404, "headers": headers})
        await send({"type": "http.response.body", "body": body})
