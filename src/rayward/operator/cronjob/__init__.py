"""RayCronJob: RayJobs on a schedule, each tick once."""

from rayward.kinds.resources import RAY_CRON_JOBS, RAY_JOBS
from rayward.kube.core.rbac import OWN, READ, rule
from rayward.kube.runtime.registry import Registration
from rayward.operator.cronjob.reconcile import NAME, CronJobReconciler

REGISTRATION = Registration(
    name=NAME,
    resource=RAY_CRON_JOBS,
    component="raycronjob-controller",
    rules=(
        rule((*READ, "patch"), RAY_CRON_JOBS),
        rule(("patch",), RAY_CRON_JOBS, subresource="status"),
        rule(("update",), RAY_CRON_JOBS, subresource="finalizers"),
        rule(OWN, RAY_JOBS),
    ),
    build=CronJobReconciler,
    decisions=frozenset({"CreatedRayJob", "DeletedRayJob", "MissSchedule", "JobAlreadyActive"}),
    # KubeRay before 1.6 has no such kind.
    optional=True,
)
