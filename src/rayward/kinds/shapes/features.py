"""What a manifest asks for, where several fields together say it."""

from __future__ import annotations

from typing import Final

from rayward.kinds import labels, names
from rayward.kinds.raycluster import HeadGroup, RayCluster, WorkerGroup
from rayward.kinds.shapes.metadata import Object

DOMAIN: Final = "cluster.local"
DEFAULT_HEAD_PORT: Final = "6379"
ROCKSDB: Final = "rocksdb"


def autoscaling(cluster: RayCluster) -> bool:
    """Whether Ray's autoscaler runs beside the head."""
    return cluster.spec.enable_in_tree_autoscaling is True


def autoscaler_version(cluster: RayCluster) -> str | None:
    """``v1`` or ``v2`` where the manifest chooses."""
    options = cluster.spec.autoscaler_options
    return options.version if options is not None else None


def token_auth(cluster: RayCluster) -> bool:
    """Whether Ray asks its callers for a token."""
    options = cluster.spec.auth_options
    return options is not None and options.mode == "token"


def account_auth(cluster: RayCluster) -> bool:
    """Whether that token is the one of a service account."""
    options = cluster.spec.auth_options
    return options is not None and options.enable_k8s_token_auth is True


def fault_tolerant(cluster: RayCluster) -> bool:
    """Whether the head's state outlives the head."""
    by_annotation = cluster.metadata.annotation(labels.FT_ENABLED).lower() == "true"
    return by_annotation or cluster.spec.gcs_fault_tolerance_options is not None


def embedded_storage(cluster: RayCluster) -> bool:
    """Whether that state lies on a volume of the head rather than in Redis."""
    options = cluster.spec.gcs_fault_tolerance_options
    return options is not None and options.backend == ROCKSDB


def overwrites_command(cluster: RayCluster) -> bool:
    """Whether the user's commands start Ray themselves, in every pod."""
    return cluster.metadata.annotation(labels.OVERWRITE_COMMAND).lower() == "true"


def rolls_workers(cluster: RayCluster) -> bool:
    """Whether workers are replaced one by one when their template changes."""
    return cluster.metadata.annotation(labels.ROLLING_UPDATE) == "workers"


def creator(cluster: RayCluster) -> str:
    """The kind whose manifest the cluster comes from."""
    kind = cluster.metadata.label(labels.ORIGIN_KIND)
    return kind if kind in ("RayJob", "RayService") else "RayCluster"


def head_port(cluster: RayCluster) -> str:
    """Where workers and drivers reach the head's control service."""
    return (cluster.spec.head_group_spec.ray_start_params or {}).get("port", DEFAULT_HEAD_PORT)


def head_service_name(cluster: RayCluster) -> str:
    """The head's service, by the user's name if there is one."""
    metadata: Object = (cluster.spec.head_group_spec.head_service or {}).get("metadata") or {}
    return metadata.get("name") or names.head_service(cluster.metadata.name)


def head_address(cluster: RayCluster) -> str:
    """The full name of the head's service."""
    return f"{head_service_name(cluster)}.{cluster.metadata.namespace}.svc.{DOMAIN}"


def resources_of_group(group: HeadGroup | WorkerGroup) -> dict[str, str]:
    """What its Ray nodes announce, under either name of the field."""
    return group.resources or {name: str(amount) for name, amount in (group.ray_resources or {}).items()}


def account_name(cluster: RayCluster) -> str:
    """The account of an autoscaling head: the one its template names, else one of the cluster's own."""
    return users_account(cluster) or names.autoscaler_account(cluster.metadata.name)


def users_account(cluster: RayCluster) -> str:
    """The account that the head's template names; empty for none."""
    spec: Object = cluster.spec.head_group_spec.template.get("spec") or {}
    return spec.get("serviceAccountName") or ""
