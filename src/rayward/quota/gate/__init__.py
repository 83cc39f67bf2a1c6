"""The gate: RayClusters as Workloads, and the pods that admitted Workloads let them run.

It knows not who admits. ``decide`` is pure; ``observe`` reads caches, ``apply`` writes, ``reconcile`` is the loop.
RayServices and RayJobs are gated through the RayClusters that they make, which carry their labels.
"""

from __future__ import annotations

from rayward.kinds.admission import Queueing
from rayward.kinds.resources import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    RAY_CLUSTERS,
    RAY_JOBS,
    RAY_SERVICES,
    RESOURCE_FLAVORS,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
)
from rayward.kube.core.rbac import OWN, READ, rule
from rayward.kube.core.resource import LIMIT_RANGES, NAMESPACES, PODS, RUNTIME_CLASSES
from rayward.kube.runtime.registry import Environment, Registration
from rayward.quota.gate.decide import STOPPED_BY_QUEUE, VIOLATION
from rayward.quota.gate.metrics import GateMetrics
from rayward.quota.gate.observe import Shared
from rayward.quota.gate.reconcile import NAME, GateReconciler

__all__ = ["GateReconciler", "Shared", "registration"]


def registration(queueing: Queueing, shared: Shared) -> Registration:
    """The gate's entry, for the objects that ``queueing`` puts in a queue; ``shared`` is what the operator watches."""

    def build(environment: Environment, metrics: GateMetrics) -> GateReconciler:
        return GateReconciler(environment, metrics, queueing, shared)

    return Registration(
        name=NAME,
        resource=WORKLOADS,
        component="rayward-gate",
        rules=(
            rule(OWN, WORKLOADS),
            rule(("patch",), WORKLOADS, subresource="status"),
            rule(READ, CLUSTER_QUEUES, LOCAL_QUEUES, COHORTS, RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES),
            rule((*READ, "patch"), RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES),
            # A Workload points to its RayCluster: some servers ask for this right.
            rule(("update",), RAY_CLUSTERS, subresource="finalizers"),
            rule(READ, LIMIT_RANGES, NAMESPACES),
            rule((*READ, "patch"), PODS),
            rule(READ, RUNTIME_CLASSES),
            rule(READ, ADMISSION_CHECKS),
        ),
        build=build,
        metrics=GateMetrics,
        decisions=frozenset({VIOLATION, STOPPED_BY_QUEUE}),
    )
