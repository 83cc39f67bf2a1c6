"""Metrics under controller-runtime's and client-go's names, so that existing dashboards work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from rayward.kube.client.request import Request
from rayward.kube.runtime.reflector import Reflector

T = TypeVar("T")

_RECONCILE_BUCKETS: Final = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5,
    1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
)  # fmt: skip
_QUEUE_BUCKETS: Final = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000)


class Metrics:
    """All metrics of one process, in ``registry``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, labels, registry=registry)

        def gauge(name: str, text: str, *labels: str) -> Gauge:
            return Gauge(name, text, labels, registry=registry)

        def histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(name, text, labels, buckets=buckets, registry=registry)

        runtime, queue = "controller_runtime", ("name", "controller")
        self.registry = registry
        self.reconciles = counter(f"{runtime}_reconcile", "Runs of a controller by result.", "controller", "result")
        self.reconcile_errors = counter(f"{runtime}_reconcile_errors", "Runs that failed.", "controller")
        self.reconcile_seconds = histogram(
            f"{runtime}_reconcile_time_seconds", "How long runs took.", _RECONCILE_BUCKETS, "controller"
        )
        self.max_workers = gauge(f"{runtime}_max_concurrent_reconciles", "Workers there may be.", "controller")
        self.active_workers = gauge(f"{runtime}_active_workers", "Workers there are.", "controller")
        self.depth = gauge("workqueue_depth", "Keys that wait.", *queue)
        self.adds = counter("workqueue_adds", "Keys that came in.", *queue)
        self.waited = histogram("workqueue_queue_duration_seconds", "How long keys waited.", _QUEUE_BUCKETS, *queue)
        self.worked = histogram("workqueue_work_duration_seconds", "How long keys took.", _QUEUE_BUCKETS, *queue)
        self.retries = counter("workqueue_retries", "Keys that came in after a failure.", *queue)
        self.requests = counter("rest_client_requests", "API requests.", "code", "method", "host")
        self.leading = gauge("leader_election_master_status", "1 while this process leads.", "name")
        self._controllers: dict[str, ControllerMetrics] = {}
        self._kinds: dict[str, Any] = {}

    def controller(self, name: str, workers: int) -> ControllerMetrics:
        """The metrics of one controller, present from the start with zeros; one set for all its namespaces."""
        if name not in self._controllers:
            self._controllers[name] = ControllerMetrics(self, name, workers)
        return self._controllers[name]

    def of_kind(self, name: str, make: Callable[[CollectorRegistry], T]) -> T:
        """What a kind measures beside its controller, made once for all its namespaces."""
        if name not in self._kinds:
            self._kinds[name] = make(self.registry)
        return self._kinds[name]

    def client(self, server: str) -> Callable[[Request, int], None]:
        """An observer for the requests of a client."""
        host = urlsplit(server).netloc

        def observe(request: Request, status: int) -> None:
            self.requests.labels(str(status), request.method, host).inc()

        return observe

    def leadership(self, name: str) -> Callable[[bool], None]:
        """An observer for an elector."""
        gauge = self.leading.labels(name)
        gauge.set(0)
        return lambda leading: gauge.set(1 if leading else 0)

    def follow(self, reflectors: Sequence[Reflector[Any]]) -> None:
        """Show how fresh caches are and how much they hold; of a list also what is added to it later."""
        self.registry.register(_Reflectors(reflectors))


class ControllerMetrics:
    """The metrics of one controller and its queue."""

    def __init__(self, metrics: Metrics, name: str, workers: int) -> None:
        self._results = {
            result: metrics.reconciles.labels(name, result)
            for result in ("success", "requeue_after", "requeue", "error")
        }
        self._errors = metrics.reconcile_errors.labels(name)
        self._seconds = metrics.reconcile_seconds.labels(name)
        self._active = metrics.active_workers.labels(name)
        metrics.max_workers.labels(name).set(workers)
        self.queue = QueueMetrics(metrics, name)

    def begun(self) -> None:
        """A worker took a key."""
        self._active.inc()

    def ended(self, result: str, seconds: float) -> None:
        """It gave the key back."""
        self._active.dec()
        self._results[result].inc()
        self._seconds.observe(seconds)
        if result == "error":
            self._errors.inc()


class QueueMetrics:
    """The metrics of one queue."""

    def __init__(self, metrics: Metrics, name: str) -> None:
        self._depth = metrics.depth.labels(name, name)
        self._adds = metrics.adds.labels(name, name)
        self._waited = metrics.waited.labels(name, name)
        self._worked = metrics.worked.labels(name, name)
        self._retries = metrics.retries.labels(name, name)

    def added(self) -> None:
        """A key came in."""
        self._adds.inc()
        self._depth.inc()

    def started(self, waited: float) -> None:
        """A key was handed out."""
        self._depth.dec()
        self._waited.observe(waited)

    def finished(self, worked: float) -> None:
        """A key was given back."""
        self._worked.observe(worked)

    def retried(self) -> None:
        """A key came in after a failure."""
        self._retries.inc()


class _Reflectors(Collector):
    def __init__(self, reflectors: Sequence[Reflector[Any]]) -> None:
        self._reflectors = reflectors

    def collect(self) -> Iterable[GaugeMetricFamily]:
        def family(name: str, text: str) -> GaugeMetricFamily:
            return GaugeMetricFamily(name, text, labels=["resource"])

        age = family("rayward_reflector_last_sync_age_seconds", "Seconds since the server was last heard of.")
        held = family("rayward_cache_objects", "Objects in the cache.")
        unreadable = family("rayward_cache_unreadable_objects", "Objects that are not of the shape we read.")
        # Several caches may hold parts of one collection: of each namespace, or of a kind that was defined later.
        by_resource: dict[str, list[Reflector[Any]]] = {}
        for reflector in self._reflectors:
            by_resource.setdefault(str(reflector.cache.resource), []).append(reflector)
        for name, reflectors in by_resource.items():
            held.add_metric([name], sum(len(each.cache) for each in reflectors))
            unreadable.add_metric([name], sum(len(each.unreadable) for each in reflectors))
            ages = [each.last_sync_age for each in reflectors if each.last_sync_age is not None]
            if ages:
                age.add_metric([name], max(ages))
        return age, held, unreadable
