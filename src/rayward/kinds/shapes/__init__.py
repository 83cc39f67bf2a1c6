"""Which pods a spec makes: pure functions from a manifest to the pods that the API server is sent, and what they cost.

Names, labels, commands, variables, ports and probes are KubeRay's; where they differ the reference page says why.
Results share nothing with the manifest, which lies in a cache.
"""

from rayward.kinds.shapes.cleanup import redis_cleanup_job
from rayward.kinds.shapes.demand import PodShape, pod_shapes
from rayward.kinds.shapes.metadata import OPERATOR
from rayward.kinds.shapes.pods import ReplicaPlace, head_pod, worker_pod
from rayward.kinds.shapes.podsets import PodSetShape, pod_set_shapes
from rayward.kinds.shapes.record import drift, is_outdated, template_record, unknown_template
from rayward.kinds.shapes.submitter import SUBMITTER, submitter_container, submitter_spec, with_sidecar
from rayward.kinds.shapes.totals import Totals, desired_workers, max_workers, min_workers, resources_of

__all__ = [
    "OPERATOR",
    "SUBMITTER",
    "PodSetShape",
    "PodShape",
    "ReplicaPlace",
    "Totals",
    "desired_workers",
    "drift",
    "head_pod",
    "is_outdated",
    "max_workers",
    "min_workers",
    "pod_set_shapes",
    "pod_shapes",
    "redis_cleanup_job",
    "resources_of",
    "submitter_container",
    "submitter_spec",
    "template_record",
    "unknown_template",
    "with_sidecar",
    "worker_pod",
]
