"""The names of what belongs to a Ray object: KubeRay's, so that scripts and tools find them.

Every function here takes any text and answers; whether an object's own name may be is for validation to say.
"""

from __future__ import annotations

import unicodedata
from typing import Final

CLUSTER_MAX: Final = 53
"""A RayCluster's name and ``-serve-svc`` together fit the 63 characters of a service's name."""
SERVICE_MAX: Final = 47
"""A RayService's name, a dash and five letters are the name of its RayCluster."""

JOB_MAX: Final = 47
"""A RayJob's name, a dash and five letters are the name of its RayCluster."""
CRON_JOB_MAX: Final = 36
"""A RayCronJob's name, a dash and ten digits are the name of its RayJob."""

_NAME_MAX: Final = 50
_LABEL_MAX: Final = 63


def check_name(name: str) -> str:
    """A name of which at most the last 50 characters are kept, and which begins with a letter."""
    kept = name[-_NAME_MAX:]
    return f"r{kept[1:]}" if kept and (kept[0].isdecimal() or _is_punctuation(kept[0])) else kept


def check_label(value: str) -> str:
    """A label value of which at most the last 63 characters are kept, and which does not begin with punctuation."""
    kept = value[-_LABEL_MAX:]
    return f"r{kept[1:]}" if kept and _is_punctuation(kept[0]) else kept


def head_service(owner: str) -> str:
    """The service of a head: of a RayCluster's own, or the stable one of a RayService."""
    return f"{owner}-head-svc"


def headless_service(cluster: str) -> str:
    """The service that gives workers of multi-host groups their names."""
    return f"{cluster}-headless"


def serve_service(owner: str) -> str:
    """The service that reaches Ray Serve, of a RayCluster or a RayService."""
    return f"{owner}-serve-svc"


def serve_label(owner: str) -> str:
    """The value of ``ray.io/serve`` on that service."""
    return f"{owner}-serve"


def identifier(cluster: str, node_type: str) -> str:
    """The value of ``ray.io/identifier``."""
    return check_label(f"{cluster}-{node_type}")


def ingress(cluster: str) -> str:
    """The ingress to the dashboard."""
    return check_name(f"{cluster}-head-ingress")


def auth_secret(cluster: str) -> str:
    """The secret with the generated token."""
    return check_name(cluster)


def autoscaler_account(cluster: str) -> str:
    """The autoscaler's service account where the head's template names none; also its role and role binding."""
    return check_name(cluster)


def storage_claim(cluster: str) -> str:
    """The volume claim of the head's embedded storage."""
    return f"{cluster}-gcs-pvc"


def redis_cleanup_job(cluster: str) -> str:
    """The job that removes a deleted cluster's keys from Redis."""
    return check_label(f"{cluster}-redis-cleanup")


def head_network_policy(cluster: str) -> str:
    """What the head may talk to."""
    return f"{cluster}-head"


def worker_network_policy(cluster: str, group: str) -> str:
    """What the workers of a group may talk to."""
    return f"{cluster}-workers-{group}"


def pod_prefix(cluster: str, group: str | None = None) -> str:
    """The ``generateName`` of the head's pod, or of a worker group's pods."""
    if group is None:
        return f"{cluster[:_NAME_MAX]}-head-".lower()
    return f"{f'{cluster}-{group}'[:_NAME_MAX]}-worker-".lower()


def child_cluster(parent: str, suffix: str) -> str:
    """A RayCluster made for a RayService or RayJob; the suffix is five random characters."""
    return f"{parent}-{suffix}"


def submitter_job(job: str) -> str:
    """The Kubernetes Job that submits a RayJob in K8sJobMode."""
    return job


def submission_id(job: str, suffix: str) -> str:
    """Ray's id of the job where the spec gives none; the suffix is five random characters."""
    return f"{job}-{suffix}"


def scheduled_job(cron_job: str, minutes: int) -> str:
    """The RayJob of one tick, which is that many minutes after 1970: one tick cannot make two."""
    return f"{cron_job}-{minutes}"


def replica(group: str, suffix: str) -> str:
    """The value of ``ray.io/worker-group-replica-name``, shared by the hosts of one replica."""
    return check_label(f"{group}-{suffix}")


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character).startswith("P")
