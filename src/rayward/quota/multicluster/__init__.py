"""RayServices that run on worker clusters: quota on both sides first, then the edit.

On the manager cluster an AdmissionCheck with controller ``rayward.dev/multicluster`` names a MultiKueueConfig; a
RayService with ``managedBy: kueue.x-k8s.io/multikueue`` and a queue is left alone by the manager's operator. Its
Workloads never pass Kueue's own MultiKueue check, which removes the remote RayService when a Workload loses quota.
``decide`` is pure; ``observe`` reads caches of both sides, ``remote`` keeps the connections, ``apply`` writes.
"""

from __future__ import annotations

from typing import Any

from rayward.kinds.admission import Queueing
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import (
    ADMISSION_CHECKS,
    MULTI_KUEUE_CLUSTERS,
    MULTI_KUEUE_CONFIGS,
    RAY_SERVICES,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
)
from rayward.kube.core.rbac import OWN, READ, rule
from rayward.kube.runtime.registry import Environment, Registration, Source
from rayward.quota.multicluster.reconcile import NAME, MulticlusterReconciler

__all__ = ["MulticlusterReconciler", "registration"]


def registration(queueing: Queueing, services: Source[RayService]) -> Registration:
    """The entry of a manager cluster's process; it does nothing where no check of ours and no RayService asks for it.

    ``services`` are RayServices, kept whole. The rights on a worker cluster are those of the kubeconfig that a
    MultiKueueCluster names: read and write RayServices and Workloads, read RayClusters.
    """

    def build(environment: Environment, metrics: Any) -> MulticlusterReconciler:
        return MulticlusterReconciler(environment, queueing, services)

    return Registration(
        name=NAME,
        resource=MULTI_KUEUE_CONFIGS,
        component="rayward-multicluster",
        rules=(
            rule(OWN, WORKLOADS),
            rule(("patch",), WORKLOADS, subresource="status"),
            rule(READ, MULTI_KUEUE_CONFIGS, MULTI_KUEUE_CLUSTERS, ADMISSION_CHECKS, WORKLOAD_PRIORITY_CLASSES),
            rule(("patch",), ADMISSION_CHECKS, subresource="status"),
            rule((*READ, "patch"), RAY_SERVICES),
            rule(("patch",), RAY_SERVICES, subresource="status"),
            rule(("update",), RAY_SERVICES, subresource="finalizers"),
        ),
        build=build,
        decisions=frozenset({"ChoseWorkerCluster", "AppliedOnWorkerCluster"}),
        optional=True,
    )
