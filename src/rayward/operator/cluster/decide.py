"""What to do about one cluster."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.hashing import release_hash
from rayward.kinds.raycluster import RayCluster, RayClusterStatus, WorkerGroup
from rayward.kinds.shapes import desired_workers, features
from rayward.kinds.validation import cluster_problems
from rayward.kube.core.meta import is_true
from rayward.kube.core.resource import PODS
from rayward.operator.cluster import ailments, conditions
from rayward.operator.cluster.adoption import adopt, is_adopted
from rayward.operator.cluster.belongings import plan_belongings
from rayward.operator.cluster.departure import needs_finalizer, plan_departure, with_finalizer
from rayward.operator.cluster.drifting import drift_of, outdated_workers
from rayward.operator.cluster.observe import Observed
from rayward.operator.cluster.plan import NOTHING, NewPod, Note, Plan, Remove, Write
from rayward.operator.cluster.pod import RayPod
from rayward.operator.cluster.refusal import refuse, warnings
from rayward.operator.cluster.rolling import next_to_roll, undrained
from rayward.operator.cluster.status import Drift, changed, status_of, urgent
from rayward.operator.cluster.workers import MOST_CREATES, Doomed, plan_group

SETTLE_SECONDS: Final = 2.0
"""How long progress may wait to be told together with more of it."""

_OURS: Final = (None, "", "ray.io/kuberay-operator")


def plan(cluster: RayCluster, observed: Observed, now: datetime) -> Plan:
    """Everything that the spec asks for and that is not so yet."""
    if cluster.spec.managed_by not in _OURS:
        return NOTHING
    if cluster.deleting:
        return plan_departure(cluster, observed, now)
    problems = cluster_problems(cluster)
    if problems:
        refused = refuse(cluster, observed, now, problems)
        # To stop is possible whatever else the spec says.
        stopped = _suspension(observed) if cluster.spec.suspend else ()
        return msgspec.structs.replace(refused, stages=(stopped,)) if stopped else refused
    if needs_finalizer(cluster):
        return with_finalizer(cluster)
    belongings = plan_belongings(cluster, observed)
    drift = drift_of(cluster, observed.pods)
    pods = _plan_pods(cluster, observed, drift)
    stages = (
        (*belongings.before_pods, *pods.first),
        (*belongings.beside_pods, *pods.then),
        pods.last,
    )
    status, requeue_after = _telling(cluster, observed, status_of(cluster, observed, now, drift=drift))
    return Plan(
        stages=tuple(stage for stage in stages if stage),
        notes=(*warnings(cluster), *pods.notes),
        status=status,
        logs=ailments.logs_wanted(observed.pods, observed.logs),
        waits=requeue_after is not None,
        requeue_after=requeue_after,
    )


class _Pods(msgspec.Struct, frozen=True):
    """Deletions are acknowledged before anything takes their place: nobody ever sees a pod too many."""

    first: tuple[Write, ...] = ()
    then: tuple[Write, ...] = ()
    last: tuple[Write, ...] = ()
    notes: tuple[Note, ...] = ()


def _telling(
    cluster: RayCluster, observed: Observed, status: RayClusterStatus
) -> tuple[RayClusterStatus | None, float | None]:
    """The status to write now, or when to look again because more of the same is likely to follow at once."""
    before = cluster.status
    if not changed(before, status):
        return None, None
    waited = observed.waited or 0.0
    if waited < SETTLE_SECONDS and not urgent(before, status):
        return None, SETTLE_SECONDS - waited
    return status, None


def _suspension(observed: Observed) -> tuple[Write, ...]:
    live = [pod for pod in observed.pods if not pod.deleting]
    return _removals(live, dict.fromkeys(map(_uid, live), "the cluster is suspended"))


def _plan_pods(cluster: RayCluster, observed: Observed, drift: Drift) -> _Pods:
    if cluster.spec.suspend:
        return _Pods(first=_suspension(observed))
    live = [pod for pod in observed.pods if not pod.deleting]
    heads = sorted((pod for pod in live if pod.is_head), key=lambda pod: pod.metadata.creation_timestamp or "")
    workers = [pod for pod in live if pod.is_worker]
    if _recreates(cluster) and heads:
        renewed = _renewal(cluster, heads[0], workers)
        if renewed is not None:
            return renewed
    doomed: Doomed = {_uid(pod): "there is another head" for pod in heads[1:]}
    if heads and (why := heads[0].ended()):
        doomed[_uid(heads[0])] = why
    head_ends = any(pod.is_head and pod.deleting for pod in observed.pods) and not heads
    lingers = any(pod.is_head for pod in observed.lingering)
    if not heads and not (head_ends or lingers) and _stays_headless(cluster):
        return _Pods()
    creates: list[NewPod] = []
    notes: list[Note] = []
    if not (heads or head_ends or lingers):
        creates.append(NewPod(None))
    if lingers:
        old = ", ".join(pod.metadata.name for pod in observed.lingering if pod.is_head)
        waits = f"waiting until {old} is gone, the head of a cluster that had this name before"
        notes.append(Note("Normal", "WaitingForOldHead", waits))
    outdated = outdated_workers(cluster, workers) if drift.pods else frozenset[str]()
    known = {group.group_name for group in cluster.groups}
    for pod in workers:
        if pod.group not in known:
            doomed[_uid(pod)] = f"there is no group {pod.group} in the spec"
    if _recreates(cluster):
        doomed.update(dict.fromkeys(outdated, "the spec changed, and its upgradeStrategy is Recreate"))
    for group in cluster.groups:
        members = [pod for pod in observed.pods if pod.is_worker and pod.group == group.group_name]
        members = [pod for pod in members if _uid(pod) not in doomed]
        replicas = desired_workers(group) // max(group.num_of_hosts or 1, 1)
        planned = plan_group(
            cluster.metadata.name,
            group,
            members,
            replicas,
            autoscaled=features.autoscaling(cluster) and not group.suspend,
            outdated=outdated,
            elsewhere=_elsewhere(group, observed.pods),
            most=max(MOST_CREATES - len(creates), 0),
        )
        doomed.update(planned.doomed)
        notes += planned.notes
        # Workers would join a head that is about to go.
        if not (head_ends or lingers or (heads and _uid(heads[0]) in doomed)):
            creates += planned.creates
    if not creates and not doomed and features.rolls_workers(cluster):
        doomed = next_to_roll(cluster.metadata.name, observed.pods, outdated)
        notes += undrained(live, doomed)
    staying = [pod for pod in live if _uid(pod) not in doomed]
    return _Pods(_removals(live, doomed), tuple(creates), adopt(cluster, staying), tuple(notes))


def _elsewhere(group: WorkerGroup, pods: Sequence[RayPod]) -> frozenset[str]:
    """The names of pods of other groups, where the spec names pods at all."""
    named = group.scale_strategy is not None and group.scale_strategy.workers_to_delete
    return frozenset(pod.metadata.name for pod in pods if pod.group != group.group_name) if named else frozenset()


def _recreates(cluster: RayCluster) -> bool:
    strategy = cluster.spec.upgrade_strategy
    return strategy is not None and strategy.type == "Recreate"


def _renewal(cluster: RayCluster, head: RayPod, workers: Sequence[RayPod]) -> _Pods | None:
    """All pods go if the head was made from another spec: the head last, so that a crash between is noticed."""
    current = release_hash(cluster.spec)
    made_from = head.metadata.annotation(labels.RECREATE_HASH)
    if not is_adopted(head) or not made_from or made_from == current:
        return None
    why = "the spec changed, and its upgradeStrategy is Recreate"
    if workers:
        first = _removals(workers, dict.fromkeys(map(_uid, workers), why))
        return _Pods(first=first, last=_removals([head], {_uid(head): why}))
    return _Pods(first=_removals([head], {_uid(head): why}))


def _stays_headless(cluster: RayCluster) -> bool:
    asked = cluster.metadata.annotation(labels.DISABLE_HEAD_RESTART) == "true"
    return asked and is_true(cluster.status.conditions, conditions.PROVISIONED)


def _removals(pods: Sequence[RayPod], doomed: Doomed) -> tuple[Write, ...]:
    return tuple(
        Remove(PODS, pod.metadata.name, _uid(pod), pod, doomed[_uid(pod)]) for pod in pods if _uid(pod) in doomed
    )


def _uid(pod: RayPod) -> str:
    return pod.metadata.uid
