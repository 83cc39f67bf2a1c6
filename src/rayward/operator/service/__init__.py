"""RayService: Serve applications that keep answering while they and their clusters change."""

from functools import partial

from rayward.kinds.admission import NO_QUEUES, Queueing
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.core.rbac import OWN, READ, rule
from rayward.kube.core.resource import ENDPOINT_SLICES, PODS, SECRETS, SERVICES
from rayward.kube.runtime.registry import Registration
from rayward.operator.ray.reach import Reach
from rayward.operator.service.events import DECISIONS
from rayward.operator.service.metrics import ServiceMetrics
from rayward.operator.service.reconcile import NAME, ServiceReconciler


def registration(reach: Reach, queueing: Queueing = NO_QUEUES) -> Registration:
    """The entry of RayServices, whose dashboards are found through ``reach``; ``queueing`` tells which are Kueue's."""
    return Registration(
        name=NAME,
        resource=RAY_SERVICES,
        component="rayservice-controller",
        rules=(
            rule((*READ, "patch"), RAY_SERVICES),
            rule(("patch",), RAY_SERVICES, subresource="status"),
            rule(("update",), RAY_SERVICES, subresource="finalizers"),
            rule(
                OWN,
                RAY_CLUSTERS,
            ),
            rule(OWN, SERVICES),
            rule((*READ, "patch"), PODS),
            # Dashboards, where they are reached through the API server: the verb follows the request's method.
            rule(("get", "update"), PODS, subresource="proxy"),
            rule(READ, ENDPOINT_SLICES),
            # The tokens of its own clusters.
            rule(("get",), SECRETS),
        ),
        build=partial(ServiceReconciler, reach=reach, queueing=queueing),
        metrics=ServiceMetrics,
        decisions=DECISIONS,
    )
