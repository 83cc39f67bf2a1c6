"""RayCluster, typed as far as the operator reads it; pod templates and other built-in structures stay as sent."""

from __future__ import annotations

import msgspec

from rayward.kube.core.objects import Condition, KubeObject, Slim
from rayward.kube.machinery.jsonvalue import Object


class UpgradeStrategy(Slim, frozen=True, gc=False):
    """What a changed template does to running pods."""

    type: str | None = None


class AuthOptions(Slim, frozen=True, gc=False):
    """How Ray authenticates its callers."""

    mode: str | None = None
    secret_name: str | None = None
    enable_k8s_token_auth: bool | None = msgspec.field(default=None, name="enableK8sTokenAuth")


class AutoscalerOptions(Slim, frozen=True, gc=False):
    """The autoscaler's container and its pace."""

    resources: Object | None = None
    image: str | None = None
    image_pull_policy: str | None = None
    security_context: Object | None = None
    idle_timeout_seconds: int | None = None
    upscaling_mode: str | None = None
    version: str | None = None
    env: list[Object] | None = None
    env_from: list[Object] | None = None
    volume_mounts: list[Object] | None = None
    command: list[str] | None = None
    args: list[str] | None = None


class RedisCredential(Slim, frozen=True, gc=False):
    """A user name or password, given or referred to."""

    value: str = ""
    value_from: Object | None = None


class EmbeddedStorage(Slim, frozen=True, gc=False):
    """The claim on which Ray's embedded storage lies."""

    claim_name: str | None = None
    size: str | int | None = None
    storage_class_name: str | None = None
    access_modes: list[str] | None = None
    sub_path: str | None = None
    deletion_policy: str | None = None


class FaultTolerance(Slim, frozen=True, gc=False):
    """``gcsFaultToleranceOptions``: where the head's state outlives the head."""

    backend: str = ""
    redis_username: RedisCredential | None = None
    redis_password: RedisCredential | None = None
    external_storage_namespace: str = ""
    redis_address: str = ""
    storage: EmbeddedStorage | None = None


class NetworkRules(Slim, frozen=True, gc=False):
    """Rules beyond what the cluster itself needs."""

    ingress_rules: list[Object] | None = None
    egress_rules: list[Object] | None = None


class GroupNetworkRules(Slim, frozen=True, gc=False):
    """Rules of one worker group, in place of those of all workers."""

    group_name: str = ""
    ingress_rules: list[Object] | None = None
    egress_rules: list[Object] | None = None


class NetworkPolicyOptions(Slim, frozen=True, gc=False):
    """``networkPolicy``: what the cluster's pods may talk to."""

    mode: str | None = None
    head: NetworkRules | None = None
    worker: NetworkRules | None = None
    worker_groups: list[GroupNetworkRules] | None = None


class IngressOptions(Slim, frozen=True, gc=False):
    """Where the dashboard is reached from outside."""

    host: str | None = None
    path: str | None = None
    path_type: str | None = None
    tls: list[Object] | None = None


class HeadGroup(Slim, frozen=True, gc=False):
    """``headGroupSpec``."""

    template: Object = msgspec.field(default_factory=dict)
    ray_start_params: dict[str, str] | None = None
    resources: dict[str, str] | None = None
    ray_resources: dict[str, str | int] | None = None
    labels: dict[str, str] | None = None
    head_service: Object | None = None
    enable_ingress: bool | None = None
    ingress_options: IngressOptions | None = None
    service_type: str = ""


class ScaleStrategy(Slim, frozen=True, gc=False):
    """Pods that the autoscaler wants gone."""

    workers_to_delete: list[str] | None = None


class WorkerGroup(Slim, frozen=True, gc=False):
    """An entry of ``workerGroupSpecs``."""

    group_name: str = ""
    template: Object = msgspec.field(default_factory=dict)
    replicas: int | None = None
    min_replicas: int | None = None
    max_replicas: int | None = None
    num_of_hosts: int | None = None
    priority: int | None = None
    idle_timeout_seconds: int | None = None
    suspend: bool | None = None
    scale_strategy: ScaleStrategy | None = None
    ray_start_params: dict[str, str] | None = None
    resources: dict[str, str] | None = None
    ray_resources: dict[str, str | int] | None = None
    labels: dict[str, str] | None = None


_NO_HEAD = HeadGroup()


class RayClusterSpec(Slim, frozen=True, gc=False):
    """What the user asks for."""

    head_group_spec: HeadGroup = _NO_HEAD
    worker_group_specs: list[WorkerGroup] | None = None
    ray_version: str = ""
    suspend: bool | None = None
    managed_by: str | None = None
    enable_in_tree_autoscaling: bool | None = None
    autoscaler_options: AutoscalerOptions | None = None
    upgrade_strategy: UpgradeStrategy | None = None
    auth_options: AuthOptions | None = None
    gcs_fault_tolerance_options: FaultTolerance | None = None
    head_service_annotations: dict[str, str] | None = None
    network_policy: NetworkPolicyOptions | None = None
    history_server_options: Object | None = None
    tls_options: Object | None = None


class HeadInfo(Slim, frozen=True, gc=False):
    """Where the head is."""

    pod_ip: str = msgspec.field(default="", name="podIP")
    service_ip: str = msgspec.field(default="", name="serviceIP")
    pod_name: str = ""
    service_name: str = ""


class RayClusterStatus(Slim, frozen=True, gc=False):
    """What is, as last written."""

    state: str = ""
    reason: str = ""
    desired_worker_replicas: int = 0
    available_worker_replicas: int = 0
    ready_worker_replicas: int = 0
    min_worker_replicas: int = 0
    max_worker_replicas: int = 0
    desired_cpu: str | int = msgspec.field(default="", name="desiredCPU")
    desired_memory: str | int = ""
    desired_gpu: str | int = msgspec.field(default="", name="desiredGPU")
    desired_tpu: str | int = msgspec.field(default="", name="desiredTPU")
    last_update_time: str | None = None
    state_transition_times: dict[str, str] | None = None
    endpoints: dict[str, str] | None = None
    head: HeadInfo | None = None
    conditions: tuple[Condition, ...] | None = None
    observed_generation: int = 0


_NO_SPEC = RayClusterSpec()
_NO_STATUS = RayClusterStatus()


class RayCluster(KubeObject, frozen=True, gc=False):
    """A Ray cluster: one head, groups of workers."""

    spec: RayClusterSpec = _NO_SPEC
    status: RayClusterStatus = _NO_STATUS

    @property
    def groups(self) -> list[WorkerGroup]:
        """The worker groups, in the order of the spec."""
        return self.spec.worker_group_specs or []
