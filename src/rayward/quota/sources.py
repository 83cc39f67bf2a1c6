"""The collections that several controllers of quota watch, each once for a process."""

from __future__ import annotations

from typing import Final

from rayward.kinds import labels
from rayward.kinds.kueue import ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Workload, WorkloadPriorityClass
from rayward.kinds.resources import (
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    RESOURCE_FLAVORS,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
)
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.poddefaults import LimitRange, RuntimeClass
from rayward.kube.core.resource import LIMIT_RANGES, NAMESPACES, RUNTIME_CLASSES
from rayward.kube.runtime.cache import by_label
from rayward.kube.runtime.registry import Source

BY_CLUSTER: Final = "cluster"
"""Workloads by the RayCluster that they are for."""
BY_ORIGIN: Final = "origin"
"""By the RayService or RayJob that made the RayCluster."""

ALL_WORKLOADS: Final = Source(
    WORKLOADS,
    Workload,
    indexes={BY_CLUSTER: by_label(labels.CLUSTER), BY_ORIGIN: by_label(labels.ORIGIN_NAME)},
)
ALL_CLUSTER_QUEUES: Final = Source(CLUSTER_QUEUES, ClusterQueue)
ALL_LOCAL_QUEUES: Final = Source(LOCAL_QUEUES, LocalQueue)
ALL_COHORTS: Final = Source(COHORTS, Cohort)
ALL_FLAVORS: Final = Source(RESOURCE_FLAVORS, ResourceFlavor)
# Rights that came later: with those of before, quota is counted as it was.
ALL_LIMIT_RANGES: Final = Source(LIMIT_RANGES, LimitRange, optional=True)
ALL_RUNTIME_CLASSES: Final = Source(RUNTIME_CLASSES, RuntimeClass, optional=True)
# For the engine it is no new right; the gate beside Kueue does without.
ALL_NAMESPACES: Final = Source(NAMESPACES, KubeObject, metadata_only=True, optional=True)
ALL_PRIORITIES: Final = Source(WORKLOAD_PRIORITY_CLASSES, WorkloadPriorityClass)
