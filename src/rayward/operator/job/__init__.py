"""RayJob: one attempt after another, each on a cluster of its own, and a status that is true to what Ray said.

``table`` says what to do in every situation, ``decide`` turns that into a status and actions, ``children`` builds the
objects: all of it is pure. ``observe``, ``apply`` and ``reconcile`` are the loop around it.
"""

from functools import partial

from rayward.kinds.admission import NO_QUEUES, Queueing
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kube.core.rbac import OWN, READ, rule
from rayward.kube.core.resource import JOBS, PODS, SECRETS, SERVICES
from rayward.kube.runtime.registry import Registration
from rayward.operator.job.metrics import JobMetrics
from rayward.operator.job.reconcile import NAME, JobReconciler
from rayward.operator.ray.reach import Reach


def registration(reach: Reach, queueing: Queueing = NO_QUEUES) -> Registration:
    """The entry of RayJobs, whose dashboards are found through ``reach``; ``queueing`` says who waits for quota."""
    return Registration(
        name=NAME,
        resource=RAY_JOBS,
        component="rayjob-controller",
        rules=(
            rule((*READ, "patch", "delete"), RAY_JOBS),
            rule(("patch",), RAY_JOBS, subresource="status"),
            rule(("update",), RAY_JOBS, subresource="finalizers"),
            rule(OWN, RAY_CLUSTERS),
            rule(OWN, JOBS),
            rule(OWN, SERVICES),
            rule(READ, PODS),
            rule(("get",), PODS, subresource="log"),
            # Dashboards, where they are reached through the API server: the verb follows the request's method.
            rule(("get", "create"), PODS, subresource="proxy"),
            # The tokens of its own clusters.
            rule(("get",), SECRETS),
        ),
        build=partial(JobReconciler, reach=reach, queueing=queueing),
        metrics=JobMetrics,
        decisions=frozenset(
            {
                "CreatedRayCluster",
                "DeletedRayCluster",
                "CreatedRayJobSubmitter",
                "DeletedRayJobSubmitter",
                "SubmittedRayJob",
                "Retrying",
                "Completed",
                "Failed",
                "Stopped",
                "Suspending",
                "Suspended",
                "EditIgnored",
                "SuspendIgnored",
                "JobIdTaken",
                "NoDeletionRule",
                "NotStopped",
            }
        ),
    )
