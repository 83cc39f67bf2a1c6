"""What lets the head's state outlive the head: in Redis, or on a volume of its own."""

from __future__ import annotations

from typing import Final

from rayward.kinds import labels, names
from rayward.kinds.raycluster import RayCluster, RedisCredential
from rayward.kinds.shapes import env, features, volumes
from rayward.kinds.shapes.metadata import Object, fresh

_VOLUME: Final = "gcs-storage"
_MOUNT_PATH: Final = "/data/gcs"


def add_to_worker(cluster: RayCluster, container: Object) -> None:
    """Let a worker wait for a head that comes back."""
    if features.fault_tolerant(cluster):
        env.add_missing(container, env.variable("RAY_gcs_rpc_server_reconnect_timeout_s", "600"))


def add_to_head(cluster: RayCluster, pod: Object, container: Object) -> None:
    """Tell the head where its state lies; and the pod's annotations whether it does."""
    annotations: Object = pod["metadata"]["annotations"]
    enabled = features.fault_tolerant(cluster)
    annotations[labels.FT_ENABLED] = "true" if enabled else "false"
    if features.embedded_storage(cluster):
        _add_volume(cluster, pod["spec"], container)
    elif enabled:
        namespace = _storage_namespace(cluster)
        annotations[labels.EXTERNAL_STORAGE_NAMESPACE] = namespace
        env.add_missing(container, env.variable("RAY_external_storage_namespace", namespace))
        _add_redis(cluster, container)


def _storage_namespace(cluster: RayCluster) -> str:
    options = cluster.spec.gcs_fault_tolerance_options
    if options is not None and options.external_storage_namespace:
        return options.external_storage_namespace
    return cluster.metadata.annotation(labels.EXTERNAL_STORAGE_NAMESPACE, cluster.metadata.uid)


def _add_redis(cluster: RayCluster, container: Object) -> None:
    options = cluster.spec.gcs_fault_tolerance_options
    if options is None:
        # The password may stand in the flags alone; the job that cleans up has no flags.
        password = (cluster.spec.head_group_spec.ray_start_params or {}).get("redis-password")
        if password is not None:
            env.add_missing(container, env.variable("REDIS_PASSWORD", password))
        return
    env.add(container, env.variable("RAY_REDIS_ADDRESS", options.redis_address))
    if options.redis_username is not None:
        env.add(container, _credential("REDIS_USERNAME", options.redis_username))
    if options.redis_password is not None:
        env.add(container, _credential("REDIS_PASSWORD", options.redis_password))


def _credential(name: str, credential: RedisCredential) -> Object:
    return env.variable(name, credential.value, fresh(credential.value_from))


def _add_volume(cluster: RayCluster, spec: Object, container: Object) -> None:
    options = cluster.spec.gcs_fault_tolerance_options
    storage = options.storage if options is not None else None
    claim = (storage and storage.claim_name) or names.storage_claim(cluster.metadata.name)
    env.add_missing(
        container, env.variable("RAY_gcs_storage", "rocksdb"), env.variable("RAY_gcs_storage_path", _MOUNT_PATH)
    )
    mount = {"name": _VOLUME, "mountPath": _MOUNT_PATH}
    if storage is not None and storage.sub_path:
        mount["subPath"] = storage.sub_path
    volumes.add_mount(container, mount)
    volumes.add_volume(spec, {"name": _VOLUME, "persistentVolumeClaim": {"claimName": claim}})
