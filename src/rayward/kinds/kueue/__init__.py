"""``kueue.x-k8s.io/v1beta2``: the objects by which quota is given and asked for, as Kueue v0.18 defines them.

Typed as far as gate and engine read them; pod templates stay as sent. What the API server defaults is defaulted here
too, so that an object that never saw a definition reads the same.
"""

from rayward.kinds.kueue.queues import ClusterQueue, Cohort, LocalQueue
from rayward.kinds.kueue.setup import (
    AdmissionCheck,
    MultiKueueCluster,
    MultiKueueConfig,
    ResourceFlavor,
    WorkloadPriorityClass,
)
from rayward.kinds.kueue.workload import Workload

__all__ = [
    "AdmissionCheck",
    "ClusterQueue",
    "Cohort",
    "LocalQueue",
    "MultiKueueCluster",
    "MultiKueueConfig",
    "ResourceFlavor",
    "Workload",
    "WorkloadPriorityClass",
]
