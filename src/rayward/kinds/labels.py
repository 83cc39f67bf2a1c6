"""Labels, annotations and finalizers that the Ray ecosystem reads: KubeRay's, and ours under ``rayward.dev``."""

from __future__ import annotations

from typing import Final

CLUSTER: Final = "ray.io/cluster"
NODE_TYPE: Final = "ray.io/node-type"
GROUP: Final = "ray.io/group"
IDENTIFIER: Final = "ray.io/identifier"
IS_RAY_NODE: Final = "ray.io/is-ray-node"
SERVE: Final = "ray.io/serve"
HEADLESS_WORKERS: Final = "ray.io/headless-worker-svc"
REPLICA_NAME: Final = "ray.io/worker-group-replica-name"
REPLICA_INDEX: Final = "ray.io/worker-group-replica-index"
HOST_INDEX: Final = "ray.io/replica-host-index"
ORIGIN_NAME: Final = "ray.io/originated-from-cr-name"
ORIGIN_KIND: Final = "ray.io/originated-from-crd"
APP_NAME: Final = "app.kubernetes.io/name"
CREATED_BY: Final = "app.kubernetes.io/created-by"

HEAD: Final = "head"
WORKER: Final = "worker"
REDIS_CLEANUP: Final = "redis-cleanup"
HEAD_GROUP: Final = "headgroup"
APP_NAME_VALUE: Final = "kuberay"
CREATED_BY_VALUE: Final = "kuberay-operator"

FT_ENABLED: Final = "ray.io/ft-enabled"
EXTERNAL_STORAGE_NAMESPACE: Final = "ray.io/external-storage-namespace"
FT_DELETION_TIMEOUT: Final = "ray.io/gcs-ft-deletion-timeout"
OVERWRITE_COMMAND: Final = "ray.io/overwrite-container-cmd"
ENABLE_SERVE_SERVICE: Final = "ray.io/enable-serve-service"
INITIALIZING_TIMEOUT: Final = "ray.io/initializing-timeout"
DISABLE_HEAD_RESTART: Final = "ray.io/disable-provisioned-head-restart"
SPEC_HASH: Final = "ray.io/hash-without-replicas-and-workers-to-delete"
WORKER_GROUP_COUNT: Final = "ray.io/num-worker-groups"
RECREATE_HASH: Final = "ray.io/upgrade-strategy-recreate-hash"
OPERATOR_VERSION: Final = "ray.io/kuberay-version"

REDIS_CLEANUP_FINALIZER: Final = "ray.io/gcs-ft-redis-cleanup-finalizer"
SERVICE_FINALIZER: Final = "ray.io/rayservice-finalizer"

TEMPLATE: Final = "rayward.dev/template"
"""On a pod: the user's template it was made from, as canonical JSON, compressed."""
ROLLING_UPDATE: Final = "rayward.dev/rolling-update"
"""On a RayCluster: ``workers`` replaces workers one by one when their template changes."""
