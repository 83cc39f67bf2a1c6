"""What is measured of RayJobs, under KubeRay's names where it has them."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.kinds.rayjob import RayJob, RayJobStatus
from rayward.kube.runtime.cache import Cache
from rayward.operator.job.annotations import moment


class JobMetrics:
    """Which jobs there are, how long they took, and how their attempts ended."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._caches: list[Cache[RayJob]] = []
        self._attempts = Counter(
            "rayward_job_attempts",
            "Attempts of RayJobs that ended, by reason.",
            ["namespace", "reason"],
            registry=registry,
        )
        registry.register(_Jobs(self._caches))

    def follow(self, jobs: Cache[RayJob]) -> None:
        """Show this cache too."""
        self._caches.append(jobs)

    def status_written(self, before: RayJob, status: RayJobStatus) -> None:
        """A job's status was written."""
        known = {row.number for row in before.status.attempts or ()}
        for row in status.attempts or ():
            if row.number not in known:
                self._attempts.labels(before.metadata.namespace, row.reason).inc()


class _Jobs(Collector):
    def __init__(self, caches: list[Cache[RayJob]]) -> None:
        self._caches = caches

    def collect(self) -> Iterable[GaugeMetricFamily]:
        whose = ["name", "namespace", "uid"]
        info = GaugeMetricFamily("kuberay_job_info", "RayJobs there are.", labels=whose)
        phase = GaugeMetricFamily(
            "kuberay_job_deployment_status", "Where each RayJob is.", labels=[*whose, "deployment_status"]
        )
        took = GaugeMetricFamily(
            "kuberay_job_execution_duration_seconds",
            "Seconds from the start of a RayJob's last attempt to its end.",
            labels=[*whose, "job_deployment_status", "retry_count"],
        )
        for job in (each for cache in self._caches for each in cache):
            metadata, status = job.metadata, job.status
            its = [metadata.name, metadata.namespace, metadata.uid]
            info.add_metric(its, 1)
            phase.add_metric([*its, status.job_deployment_status], 1)
            began, ended = moment(status.start_time), moment(status.end_time)
            if (
                began is not None
                and ended is not None
                and status.job_deployment_status in (Phase.COMPLETE, Phase.FAILED)
            ):
                failed = status.failed or 0
                retries = failed - 1 if status.job_deployment_status == Phase.FAILED and failed else failed
                took.add_metric([*its, status.job_deployment_status, str(retries)], (ended - began).total_seconds())
        return info, phase, took
