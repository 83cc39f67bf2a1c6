"""What is wrong with an object that an API server took: each finding has a path, a reason and what to write instead.

Admission says most of it already (the CRDs' schema and rules); here everything is said, also where KubeRay's own CRDs
are installed, or an object is older than ours.
"""

from rayward.kinds.validation.cluster import cluster_problems, cluster_warnings
from rayward.kinds.validation.cronjob import cron_job_problems, cron_job_warnings
from rayward.kinds.validation.images import image_version
from rayward.kinds.validation.job import job_problems, job_warnings
from rayward.kinds.validation.problem import FEATURE_MISSING, Problem, Reason, listed, only_lacks_features
from rayward.kinds.validation.quota import (
    cluster_queue_problems,
    cohort_problems,
    workload_problems,
)
from rayward.kinds.validation.service import serve_config, service_problems, service_warnings

__all__ = [
    "FEATURE_MISSING",
    "Problem",
    "Reason",
    "cluster_problems",
    "cluster_queue_problems",
    "cluster_warnings",
    "cohort_problems",
    "cron_job_problems",
    "cron_job_warnings",
    "image_version",
    "job_problems",
    "job_warnings",
    "listed",
    "only_lacks_features",
    "serve_config",
    "service_problems",
    "service_warnings",
    "workload_problems",
]
