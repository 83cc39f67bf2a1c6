"""RayCluster: pods and what belongs to them, made true."""

from functools import partial

from rayward.kinds.admission import NO_QUEUES, Queueing
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.core.rbac import OWN, READ, rule
from rayward.kube.core.resource import (
    EVENTS,
    INGRESSES,
    JOBS,
    NETWORK_POLICIES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
)
from rayward.kube.runtime.registry import Registration
from rayward.operator.cluster.metrics import ClusterMetrics
from rayward.operator.cluster.reconcile import NAME, ClusterReconciler
from rayward.operator.ray.reach import Reach


def registration(reach: Reach, queueing: Queueing = NO_QUEUES) -> Registration:
    """The entry; clusters that ``queueing`` puts in a queue have only the pods that the gate grants.

    Heads are asked for their version through ``reach``.
    """
    return Registration(
        name=NAME,
        resource=RAY_CLUSTERS,
        component="raycluster-controller",
        rules=(
            rule((*READ, "patch"), RAY_CLUSTERS),
            rule(("patch",), RAY_CLUSTERS, subresource="status"),
            # Children point back to their owner and block its foreground deletion: some servers ask for this right.
            rule(("update",), RAY_CLUSTERS, subresource="finalizers"),
            rule(OWN, PODS, SERVICES, SERVICE_ACCOUNTS),
            rule(("get",), PODS, subresource="log"),
            # Dashboards, where they are reached through the API server.
            rule(("get",), PODS, subresource="proxy"),
            # Why a volume cannot be mounted is told by events alone.
            rule(("list",), EVENTS),
            # Of secrets only the metadata is watched; Kubernetes has no smaller right.
            rule((*READ, "create", "patch"), SECRETS, PERSISTENT_VOLUME_CLAIMS),
            rule((*READ, "create"), JOBS),
            rule(OWN, INGRESSES, NETWORK_POLICIES),
            rule(OWN, ROLES, ROLE_BINDINGS),
            # Nobody may grant a right without having it: the autoscaler's.
            rule(("patch",), PODS, subresource="resize"),
        ),
        build=partial(ClusterReconciler, reach=reach, queueing=queueing),
        metrics=ClusterMetrics,
        decisions=frozenset({"CreatedHeadPod", "DeletedHeadPod", "WorkerGroupRemoved", "ForceDeletedStuckCluster"}),
    )
