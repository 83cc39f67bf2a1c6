"""A rolling update: which outdated workers are replaced next, and what that may cost."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rayward.kinds import labels
from rayward.operator.cluster.plan import Note
from rayward.operator.cluster.pod import RayPod
from rayward.operator.cluster.workers import Doomed, expendable


def next_to_roll(cluster: str, pods: Sequence[RayPod], outdated: Collection[str]) -> Doomed:
    """All outdated workers that never ran; else one, or all hosts of one replica, once all that stays is ready.

    Args:
        cluster: The cluster's name.
        pods: All its pods, the head and terminating ones included.
        outdated: The uids of workers made from another template.
    """
    why = f"a rolling update of {cluster} replaces it"
    workers = _replicas(pod for pod in pods if pod.is_worker and not pod.deleting)
    old = [replica for replica in workers if any(pod.metadata.uid in outdated for pod in replica)]
    idle = [pod for replica in old if not any(pod.running for pod in replica) for pod in replica]
    if idle:
        return _all(idle, why)
    if not old or any(pod.deleting for pod in pods):
        return {}
    weakest = expendable(pod for replica in old for pod in replica)[0]
    chosen = _all(next(replica for replica in old if weakest in replica), why)
    # What is outdated and not ready may never be: nobody waits for it.
    awaited = (
        pod for pod in pods if pod.metadata.uid not in chosen and (pod.ready or pod.metadata.uid not in outdated)
    )
    return chosen if all(pod.ready for pod in awaited) else {}


def undrained(pods: Iterable[RayPod], doomed: Doomed) -> tuple[Note, ...]:
    """Tells of running pods among the doomed that have no hook to drain them."""
    names = [pod.metadata.name for pod in pods if pod.metadata.uid in doomed and pod.running and not pod.drains]
    if not names:
        return ()
    message = (
        f"{', '.join(names)}: replaced without being drained, so work there may be lost. A worker that was made before "
        f"the annotation {labels.ROLLING_UPDATE} was set, or by another operator, has no preStop hook; new ones have it"
    )
    return (Note("Warning", "WorkerNotDrained", message),)


def _replicas(pods: Iterable[RayPod]) -> list[list[RayPod]]:
    """Pods that start and end together."""
    found: dict[str, list[RayPod]] = {}
    for pod in pods:
        found.setdefault(pod.replica_name or pod.metadata.uid, []).append(pod)
    return list(found.values())


def _all(pods: Iterable[RayPod], why: str) -> Doomed:
    return {pod.metadata.uid: why for pod in pods}
