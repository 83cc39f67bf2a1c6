"""Every kind that the operator reconciles, one line each."""

from __future__ import annotations

from rayward.kinds.admission import NO_QUEUES, Queueing
from rayward.kube.runtime.registry import Registration
from rayward.operator import cluster, cronjob, job, service
from rayward.operator.ray.reach import Reach


def registrations(reach: Reach, queueing: Queueing = NO_QUEUES) -> tuple[Registration, ...]:
    """The entries; Ray's dashboards are found through ``reach``, and ``queueing`` says who waits for quota."""
    return (
        cluster.registration(reach, queueing),
        service.registration(reach, queueing),
        job.registration(reach, queueing),
        cronjob.REGISTRATION,
    )
