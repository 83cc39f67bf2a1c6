"""RayService, typed as far as the operator reads it."""

from __future__ import annotations

from typing import Any

from rayward.kinds.raycluster import Object, RayClusterSpec
from rayward.kube.core.objects import Condition, KubeObject, Slim


class ServiceUpgradeStrategy(Slim, frozen=True, gc=False):
    """How a changed cluster spec reaches the running service."""

    type: str | None = None
    cluster_upgrade_options: Object | None = None


_NO_CLUSTER = RayClusterSpec()


class RayServiceSpec(Slim, frozen=True, gc=False):
    """What the user asks for."""

    ray_cluster_config: RayClusterSpec = _NO_CLUSTER
    serve_config_v2: Any = None
    """A text or an object; the API server lets anything through."""
    serve_deployment_graph_spec: Object | None = None
    serve_service: Object | None = None
    exclude_head_pod_from_serve_svc: bool = False
    ray_cluster_deletion_delay_seconds: int | None = None
    upgrade_strategy: ServiceUpgradeStrategy | None = None
    managed_by: str | None = None
    suspend: bool = False
    service_unhealthy_second_threshold: int | None = None
    deployment_unhealthy_second_threshold: int | None = None
    deployment_unhealthy_restart_threshold: int | None = None


class ClusterServiceStatus(Slim, frozen=True, gc=False):
    """One cluster's part in the service: the active one's, or the pending one's."""

    ray_cluster_name: str = ""
    application_statuses: Object | None = None
    ray_cluster_status: Object | None = None


class RayServiceStatus(Slim, frozen=True, gc=False):
    """What is, as last written."""

    conditions: tuple[Condition, ...] | None = None
    last_update_time: str | None = None
    service_status: str = ""
    active_service_status: ClusterServiceStatus | None = None
    pending_service_status: ClusterServiceStatus | None = None
    num_serve_endpoints: int = 0
    observed_generation: int = 0
    status: str = ""
    app_status: Object | None = None
    ray_cluster_name: str = ""
    deployment_statuses: list[Object] | None = None
    start_time: str | None = None
    end_time: str | None = None


_NO_SPEC = RayServiceSpec()
_NO_STATUS = RayServiceStatus()


class RayService(KubeObject, frozen=True, gc=False):
    """Serve applications, and the Ray clusters that answer for them."""

    spec: RayServiceSpec = _NO_SPEC
    status: RayServiceStatus = _NO_STATUS
