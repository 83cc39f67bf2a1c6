"""Environment variables of Ray's containers."""

from __future__ import annotations

from typing import Any, Final

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.shapes import features
from rayward.kinds.shapes.metadata import OPERATOR, Object

_LOOPBACK: Final = "127.0.0.1"
# A RayService would rather fail a request early than keep it waiting for a head that is gone.
_SERVING: Final = (
    ("RAY_timeout_ms_task_wait_for_death_info", "0"),
    ("RAY_gcs_server_request_timeout_seconds", "5"),
    ("RAY_SERVE_KV_TIMEOUT_S", "5"),
)


def variable(name: str, value: str = "", source: Any = None) -> Object:
    """One variable, given or referred to."""
    made: Object = {"name": name}
    if value:
        made["value"] = value
    if source is not None:
        made["valueFrom"] = source
    return made


def from_field(name: str, path: str) -> Object:
    """A variable that tells a container about its own pod."""
    return variable(name, source={"fieldRef": {"fieldPath": path}})


def cluster_name() -> Object:
    """The cluster's name, from the pod's label."""
    return from_field("RAY_CLUSTER_NAME", f"metadata.labels['{labels.CLUSTER}']")


def cluster_namespace() -> Object:
    return from_field("RAY_CLUSTER_NAMESPACE", "metadata.namespace")


def has(container: Object, name: str) -> bool:
    """Whether the container has the variable already."""
    return any(found.get("name") == name for found in container.get("env") or ())


def add(container: Object, *variables: Object) -> None:
    container["env"] = [*(container.get("env") or ()), *variables]


def add_missing(container: Object, *variables: Object) -> None:
    """Append those that the container does not have: there the user's word counts."""
    add(container, *(new for new in variables if not has(container, new["name"])))


def head_addresses(cluster: RayCluster) -> tuple[Object, Object]:
    """Where the head is; the second name is the old one."""
    address = features.head_address(cluster)
    return variable("FQ_RAY_IP", address), variable("RAY_IP", address.partition(".")[0])


def add_ray(container: Object, cluster: RayCluster, start_command: str, *, head: bool) -> None:
    """What every Ray container is told."""
    if not head:
        add(container, *head_addresses(cluster))
    add(
        container,
        cluster_name(),
        cluster_namespace(),
        from_field("RAY_CLOUD_INSTANCE_ID", "metadata.name"),
        from_field("RAY_NODE_TYPE_NAME", f"metadata.labels['{labels.GROUP}']"),
        variable("KUBERAY_GEN_RAY_START_CMD", start_command),
    )
    port = features.head_port(cluster)
    address = _LOOPBACK if head else features.head_address(cluster)
    creator = features.creator(cluster)
    add_missing(container, variable("RAY_PORT", port))
    if creator == "RayService":
        add_missing(container, *(variable(name, value) for name, value in _SERVING))
    add_missing(
        container, variable("RAY_ADDRESS", f"{address}:{port}"), variable("RAY_USAGE_STATS_KUBERAY_IN_USE", "1")
    )
    if head:
        add(container, variable("RAY_USAGE_STATS_EXTRA_TAGS", f"kuberay_version={OPERATOR};kuberay_crd={creator}"))
    add_missing(container, variable("RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE", "1"))
