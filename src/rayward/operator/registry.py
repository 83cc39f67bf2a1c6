"""Every kind that the operator reconciles, one line each."""

from __future__ import annotations

from rayward.kube.runtime.registry import Registration
from rayward.operator import cluster, cronjob, job, service
from rayward.operator.ray.reach import Reach


def registrations(reach: Reach) -> tuple[Registration, ...]:
    """The entries; Ray's dashboards are found through ``reach``."""
    return (
        cluster.REGISTRATION,
        service.registration(reach),
        job.registration(reach),
        cronjob.REGISTRATION,
    )
