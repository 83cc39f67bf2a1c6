from __future__ import annotations

from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, generate_latest

from rayward.kinds.rayjob import AttemptStatus, RayJob, RayJobStatus
from rayward.kinds.resources import RAY_JOBS
from rayward.kube.runtime.cache import Cache
from rayward.operator.job.metrics import JobMetrics


def _job(**status: Any) -> RayJob:
    metadata = {"name": "j", "namespace": "n", "uid": "u", "resourceVersion": "1"}
    return msgspec.convert({"metadata": metadata, "status": status}, RayJob)


def _shown(job: RayJob) -> str:
    registry = CollectorRegistry()
    cache: Cache[RayJob] = Cache(RAY_JOBS, RayJob, keep_raw=False)
    cache.replace([(job, b"")], "1")
    JobMetrics(registry).follow(cache)
    return generate_latest(registry).decode()


def test_a_job_shows_under_kuberays_names() -> None:
    shown = _shown(
        _job(
            jobDeploymentStatus="Failed",
            failed=2,
            startTime="2026-01-01T00:00:00Z",
            endTime="2026-01-01T00:00:30Z",
        )
    )
    whose = 'name="j",namespace="n",uid="u"'
    assert f"kuberay_job_info{{{whose}}} 1.0" in shown
    assert f'kuberay_job_deployment_status{{deployment_status="Failed",{whose}}} 1.0' in shown
    assert 'job_deployment_status="Failed"' in shown
    assert 'retry_count="1"' in shown
    assert "} 30.0" in shown


def test_a_job_that_runs_took_no_time_yet() -> None:
    assert "kuberay_job_execution_duration_seconds{" not in _shown(_job(jobDeploymentStatus="Running"))


def test_each_attempt_counts_once() -> None:
    registry = CollectorRegistry()
    metrics = JobMetrics(registry)
    rows = (AttemptStatus(1, reason="AppFailed"), AttemptStatus(2, reason="OutcomeUnknown"))
    metrics.status_written(_job(), RayJobStatus(attempts=rows[:1]))
    metrics.status_written(_job(attempts=[{"number": 1}]), RayJobStatus(attempts=rows))
    metrics.status_written(_job(attempts=[{"number": 1}, {"number": 2}]), RayJobStatus(attempts=rows))
    for reason in ("AppFailed", "OutcomeUnknown"):
        labels = {"namespace": "n", "reason": reason}
        assert registry.get_sample_value("rayward_job_attempts_total", labels) == 1
