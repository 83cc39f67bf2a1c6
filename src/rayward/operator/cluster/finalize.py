"""The finalizer of a RayCluster whose state is in Redis: the keys are removed before the cluster goes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from rayward.kinds import labels, shapes
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.shapes import features
from rayward.kinds.validation.template import containers
from rayward.kube.core.meta import parse_time
from rayward.kube.core.resource import JOBS, PODS
from rayward.operator.cluster.gate import OPEN, Gate
from rayward.operator.cluster.state import NOTHING, Create, Decision, Delete, Event, Observed, SetFinalizers

_DEFAULT_TIMEOUT: Final = 300
_MAX_TIMEOUT: Final = 365 * 24 * 3600


def needs_finalizer(cluster: RayCluster) -> bool:
    """Whether the cluster's state is in Redis and nothing would remove it yet."""
    in_redis = features.fault_tolerant(cluster) and not features.embedded_storage(cluster)
    return in_redis and labels.REDIS_CLEANUP_FINALIZER not in (cluster.metadata.finalizers or ())


def add_finalizer(cluster: RayCluster) -> Decision:
    """The finalizer comes before the first pod, which writes the first state."""
    finalizers = (*(cluster.metadata.finalizers or ()), labels.REDIS_CLEANUP_FINALIZER)
    return Decision(stages=((SetFinalizers(finalizers),),))


def finalize(cluster: RayCluster, observed: Observed, now: datetime, gate: Gate = OPEN) -> Decision:
    """Pods, then the job that removes the keys, then the finalizer. Everything else is garbage collected."""
    if labels.REDIS_CLEANUP_FINALIZER not in (cluster.metadata.finalizers or ()):
        return NOTHING
    left = _seconds_left(cluster, now)
    if left <= 0:
        forced = Event(
            "Warning",
            "ForceDeletedStuckCluster",
            f"Redis keys were not removed within the timeout ({labels.FT_DELETION_TIMEOUT}): they are left in Redis; "
            f"removed finalizer {labels.REDIS_CLEANUP_FINALIZER}",
        )
        return Decision(stages=(_without_finalizer(cluster),), events=(forced,))
    live = tuple(
        Delete(PODS, pod.metadata.name, pod.metadata.uid, pod, "the cluster is being deleted")
        for pod in observed.pods
        if not pod.deleting
    )
    if live:
        return Decision(stages=(live,), requeue_after=left)
    if any(pod.is_head for pod in observed.pods):
        # A head that still runs would write keys again; the watch reports when it is gone.
        return Decision(requeue_after=left)
    job = observed.cleanup_job
    if job is None and not containers(cluster.spec.head_group_spec.template):
        unmade = Event(
            "Warning",
            "RedisCleanupFailed",
            "Cannot create a Job that removes the keys in Redis: spec.headGroupSpec.template.spec.containers is empty; "
            f"the keys are left in Redis; removed finalizer {labels.REDIS_CLEANUP_FINALIZER}",
        )
        return Decision(stages=(_without_finalizer(cluster),), events=(unmade,))
    if job is None:
        cleanup = gate.mark_job(shapes.redis_cleanup_job(cluster))
        return Decision(stages=((Create(JOBS, cleanup),),), requeue_after=left)
    if job.finished() is None:
        return Decision(requeue_after=left)
    failed = Event(
        "Warning",
        "RedisCleanupFailed",
        f"Job {job.metadata.name} failed: keys of this cluster may be left in Redis. Run: kubectl logs "
        f"job/{job.metadata.name} -n {cluster.metadata.namespace}",
    )
    return Decision(stages=(_without_finalizer(cluster),), events=(failed,) if job.finished() == "Failed" else ())


def _without_finalizer(cluster: RayCluster) -> tuple[SetFinalizers]:
    kept = tuple(name for name in cluster.metadata.finalizers or () if name != labels.REDIS_CLEANUP_FINALIZER)
    return (SetFinalizers(kept),)


def _seconds_left(cluster: RayCluster, now: datetime) -> float:
    seconds = _timeout(cluster.metadata.annotation(labels.FT_DELETION_TIMEOUT))
    begun = parse_time(cluster.metadata.deletion_timestamp) if cluster.metadata.deletion_timestamp else now
    return (begun + timedelta(seconds=seconds) - now).total_seconds()


def _timeout(text: str) -> int:
    digits = text.lstrip("0") if text.isascii() and text.isdigit() else ""
    if len(digits) > len(str(_MAX_TIMEOUT)):
        return _MAX_TIMEOUT
    return min(int(digits), _MAX_TIMEOUT) if digits else _DEFAULT_TIMEOUT
