"""What is left to do for a cluster that is being deleted: its keys in Redis go before it goes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from rayward.kinds import labels, shapes
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.shapes import features
from rayward.kinds.validation.template import containers
from rayward.kube.core.meta import parse_time
from rayward.kube.core.resource import JOBS, PODS
from rayward.operator.cluster.observe import Observed
from rayward.operator.cluster.plan import NOTHING, Finalizers, Make, Note, Plan, Remove

_PATIENCE: Final = 300
_LONGEST_PATIENCE: Final = 365 * 24 * 3600


def needs_finalizer(cluster: RayCluster) -> bool:
    """Whether the cluster's state lies in Redis and nobody would clean up after it yet."""
    in_redis = features.fault_tolerant(cluster) and not features.embedded_storage(cluster)
    return in_redis and labels.REDIS_CLEANUP_FINALIZER not in (cluster.metadata.finalizers or ())


def with_finalizer(cluster: RayCluster) -> Plan:
    """The finalizer comes before the first pod: no state without somebody to remove it."""
    finalizers = (*(cluster.metadata.finalizers or ()), labels.REDIS_CLEANUP_FINALIZER)
    return Plan(stages=((Finalizers(finalizers),),))


def plan_departure(cluster: RayCluster, observed: Observed, now: datetime) -> Plan:
    """Pods, then the job that removes the keys, then the finalizer. Everything else is garbage collected."""
    if labels.REDIS_CLEANUP_FINALIZER not in (cluster.metadata.finalizers or ()):
        return NOTHING
    left = _patience_left(cluster, now)
    if left <= 0:
        forced = Note(
            "Warning",
            "ForceDeletedStuckCluster",
            "the keys in Redis could not be removed in time: they are left behind, and the finalizer is removed",
        )
        return Plan(stages=(_released(cluster),), notes=(forced,))
    live = tuple(
        Remove(PODS, pod.metadata.name, pod.metadata.uid, pod, "the cluster is being deleted")
        for pod in observed.pods
        if not pod.deleting
    )
    if live:
        return Plan(stages=(live,), requeue_after=left)
    if any(pod.is_head for pod in observed.pods):
        # A head that still writes would bring keys back; the watch tells when it is gone.
        return Plan(requeue_after=left)
    job = observed.cleanup_job
    if job is None and not containers(cluster.spec.head_group_spec.template):
        unmade = Note(
            "Warning",
            "RedisCleanupFailed",
            "no job can be made to remove the keys in Redis, because spec.headGroupSpec.template.spec.containers is "
            "empty: they are left behind, and the finalizer is removed",
        )
        return Plan(stages=(_released(cluster),), notes=(unmade,))
    if job is None:
        return Plan(stages=((Make(JOBS, shapes.redis_cleanup_job(cluster)),),), requeue_after=left)
    if job.finished() is None:
        return Plan(requeue_after=left)
    failed = Note(
        "Warning",
        "RedisCleanupFailed",
        f"Job {job.metadata.name} failed: keys of this cluster may be left in Redis. See: kubectl logs job/"
        f"{job.metadata.name} -n {cluster.metadata.namespace}",
    )
    return Plan(stages=(_released(cluster),), notes=(failed,) if job.finished() == "Failed" else ())


def _released(cluster: RayCluster) -> tuple[Finalizers]:
    kept = tuple(name for name in cluster.metadata.finalizers or () if name != labels.REDIS_CLEANUP_FINALIZER)
    return (Finalizers(kept),)


def _patience_left(cluster: RayCluster, now: datetime) -> float:
    seconds = _patience(cluster.metadata.annotation(labels.FT_DELETION_TIMEOUT))
    begun = parse_time(cluster.metadata.deletion_timestamp) if cluster.metadata.deletion_timestamp else now
    return (begun + timedelta(seconds=seconds) - now).total_seconds()


def _patience(text: str) -> int:
    digits = text.lstrip("0") if text.isascii() and text.isdigit() else ""
    if len(digits) > len(str(_LONGEST_PATIENCE)):
        return _LONGEST_PATIENCE
    return min(int(digits), _LONGEST_PATIENCE) if digits else _PATIENCE
