"""What should exist for a RayCluster: pure functions from its manifest to the objects that the API server is sent.

Names, labels, commands, variables, ports and probes are KubeRay's; where they differ the reference page says why.
Results share nothing with the manifest, which lies in a cache.
"""

from rayward.operator.cluster.desired.access import account_name, role, role_binding, service_account
from rayward.operator.cluster.desired.authentication import auth_secret
from rayward.operator.cluster.desired.children import OPERATOR
from rayward.operator.cluster.desired.cleanup import redis_cleanup_job
from rayward.operator.cluster.desired.faulttolerance import storage_claim
from rayward.operator.cluster.desired.ingress import ingress
from rayward.operator.cluster.desired.network import network_policies
from rayward.operator.cluster.desired.pods import ReplicaPlace, head_pod, worker_pod
from rayward.operator.cluster.desired.record import drift, is_outdated, template_record, unknown_template
from rayward.operator.cluster.desired.services import head_service, headless_service, serve_service
from rayward.operator.cluster.desired.totals import Totals, desired_workers, max_workers, min_workers, resources_of

__all__ = [
    "OPERATOR",
    "ReplicaPlace",
    "Totals",
    "account_name",
    "auth_secret",
    "desired_workers",
    "drift",
    "head_pod",
    "head_service",
    "headless_service",
    "ingress",
    "is_outdated",
    "max_workers",
    "min_workers",
    "network_policies",
    "redis_cleanup_job",
    "resources_of",
    "role",
    "role_binding",
    "serve_service",
    "service_account",
    "storage_claim",
    "template_record",
    "unknown_template",
    "worker_pod",
]
