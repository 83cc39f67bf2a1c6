"""The collections of ray.io/v1 and kueue.x-k8s.io/v1beta2."""

from __future__ import annotations

from typing import Final

from rayward.kube.core.resource import Resource

GROUP: Final = "ray.io"
RAY_CLUSTERS: Final = Resource(GROUP, "v1", "rayclusters", "RayCluster")
RAY_SERVICES: Final = Resource(GROUP, "v1", "rayservices", "RayService")
RAY_JOBS: Final = Resource(GROUP, "v1", "rayjobs", "RayJob")
RAY_CRON_JOBS: Final = Resource(GROUP, "v1", "raycronjobs", "RayCronJob")

KUEUE_GROUP: Final = "kueue.x-k8s.io"
_KUEUE_VERSION: Final = "v1beta2"
ADMISSION_CHECKS: Final = Resource(KUEUE_GROUP, _KUEUE_VERSION, "admissionchecks", "AdmissionCheck", namespaced=False)
CLUSTER_QUEUES: Final = Resource(KUEUE_GROUP, _KUEUE_VERSION, "clusterqueues", "ClusterQueue", namespaced=False)
COHORTS: Final = Resource(KUEUE_GROUP, _KUEUE_VERSION, "cohorts", "Cohort", namespaced=False)
LOCAL_QUEUES: Final = Resource(KUEUE_GROUP, _KUEUE_VERSION, "localqueues", "LocalQueue")
MULTI_KUEUE_CLUSTERS: Final = Resource(
    KUEUE_GROUP, _KUEUE_VERSION, "multikueueclusters", "MultiKueueCluster", namespaced=False
)
MULTI_KUEUE_CONFIGS: Final = Resource(
    KUEUE_GROUP, _KUEUE_VERSION, "multikueueconfigs", "MultiKueueConfig", namespaced=False
)
RESOURCE_FLAVORS: Final = Resource(KUEUE_GROUP, _KUEUE_VERSION, "resourceflavors", "ResourceFlavor", namespaced=False)
WORKLOADS: Final = Resource(KUEUE_GROUP, _KUEUE_VERSION, "workloads", "Workload")
WORKLOAD_PRIORITY_CLASSES: Final = Resource(
    KUEUE_GROUP, _KUEUE_VERSION, "workloadpriorityclasses", "WorkloadPriorityClass", namespaced=False
)
