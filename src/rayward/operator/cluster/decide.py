"""What to do about one RayCluster: a pure function of its state and the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rayward.kinds import labels
from rayward.kinds.effects import Effect, renewal
from rayward.kinds.managedby import is_managed_here
from rayward.kinds.raycluster import RayCluster, RayClusterStatus, WorkerGroup
from rayward.kinds.shapes import desired_workers, features
from rayward.kinds.validation import FEATURE_MISSING, listed, only_lacks_features
from rayward.kube.core.meta import condition_of, is_true, parse_time
from rayward.kube.core.resource import PODS
from rayward.operator.cluster import conditions
from rayward.operator.cluster.drift import (
    Drift,
    adopt,
    drift_of,
    is_outdated_head,
    not_drained,
    outdated_workers,
    rolling_update,
)
from rayward.operator.cluster.finalize import add_finalizer, finalize, needs_finalizer
from rayward.operator.cluster.ownership import decide_children
from rayward.operator.cluster.pod import RayPod
from rayward.operator.cluster.pod_problems import log_requests, warning_request
from rayward.operator.cluster.state import NOTHING, CreatePod, Decision, Delete, Event, Observed, State, Write
from rayward.operator.cluster.status import STARTING, changed, rejected_status, status_of, urgent
from rayward.operator.cluster.workers import MAX_CREATES, Deletions, decide_group

SETTLE_SECONDS: Final = 2.0
"""How long progress may wait to be written together with more of it."""
_RECREATE: Final = "the spec changed and upgradeStrategy is Recreate"


def decide(state: State, now: datetime) -> Decision:
    """Everything that the spec asks for and that is not so yet."""
    cluster, observed = state.cluster, state.observed
    if not is_managed_here(cluster.spec.managed_by):
        return NOTHING
    if cluster.deleting:
        return finalize(cluster, observed, now, state.gate)
    if state.desired.problems:
        return _reject(state, now)
    if needs_finalizer(cluster):
        return add_finalizer(cluster)
    children = decide_children(state)
    drift = drift_of(state.desired, observed.pods)
    pods = _decide_pods(state, drift)
    stages = (
        (*children.before_pods, *pods.deletes),
        (*children.beside_pods, *pods.creates),
        pods.last,
    )
    status, batched = _batched(state, status_of(state, now, drift=drift), now)
    warning, asked_after = warning_request(observed.pods, observed.warnings, now)
    return Decision(
        stages=tuple(stage for stage in stages if stage),
        events=(*_warnings(state), *pods.events),
        status=status,
        logs=log_requests(observed.pods, observed.logs),
        warning=warning,
        batches_status=batched is not None,
        requeue_after=min((each for each in (batched, asked_after) if each is not None), default=None),
    )


def _reject(state: State, now: datetime) -> Decision:
    """A condition and an event; what runs keeps running, but for a cluster that is to be suspended."""
    cluster, observed, problems = state.cluster, state.observed, state.desired.problems
    about_name = all(problem.path.startswith("metadata") for problem in problems)
    usual = "InvalidMetadata" if about_name else "InvalidSpec"
    reason = FEATURE_MISSING if only_lacks_features(problems) else usual
    message = listed(problems)
    status = rejected_status(cluster, observed, now, reason, message, state.gate)
    event = "InvalidRayClusterMetadata" if about_name else "InvalidRayClusterSpec"
    deletes = _suspend(observed) if cluster.spec.suspend else _shut(state)
    return Decision(
        stages=(deletes,) if deletes else (),
        events=(Event("Warning", event, message),),
        status=status if changed(cluster.status, status) else None,
        logs=log_requests(observed.pods, observed.logs),
    )


def _warnings(state: State) -> tuple[Event, ...]:
    found = state.desired.warnings
    return (Event("Warning", "UnexpectedRayClusterSpec", listed(found)),) if found else ()


def _batched(state: State, status: RayClusterStatus, now: datetime) -> tuple[RayClusterStatus | None, float | None]:
    """The status to write now, or when to look again because more of the same is likely to follow at once."""
    before = state.cluster.status
    if not changed(before, status):
        return None, None
    waited = state.observed.waited or 0.0
    if waited < SETTLE_SECONDS and (not urgent(before, status) or _begun_late(state, status, now, waited)):
        return None, SETTLE_SECONDS - waited
    return status, None


def _begun_late(state: State, status: RayClusterStatus, now: datetime, waited: float) -> bool:
    """Whether a first status would say no more than that pods start, of a cluster that had to wait for its turn.

    At the end of a burst such clusters are looked at right after their pods were created: most are ready a moment
    later, and one write says both. A cluster that did not wait shows at once that it was begun, and so does one whose
    quota is to be acknowledged.
    """
    created = state.cluster.metadata.creation_timestamp
    ready = condition_of(status.conditions, conditions.READY)
    if state.cluster.status.conditions or state.gate.condition or not created or not ready:
        return False
    age = (now - parse_time(created)).total_seconds()
    return ready.reason == STARTING and age - waited > SETTLE_SECONDS


@dataclass(frozen=True, slots=True)
class _Pods:
    """Deletions are acknowledged before anything takes their place: nobody ever sees a pod too many."""

    deletes: tuple[Write, ...] = ()
    creates: tuple[Write, ...] = ()
    last: tuple[Write, ...] = ()
    events: tuple[Event, ...] = ()


def _suspend(observed: Observed) -> tuple[Write, ...]:
    live = [pod for pod in observed.pods if not pod.deleting]
    return _deletes(live, dict.fromkeys(map(_uid, live), "the cluster is suspended"))


def _shut(state: State) -> tuple[Write, ...]:
    """All pods go where the quota gate lets none run."""
    live = [pod for pod in state.observed.pods if not pod.deleting]
    return _deletes(live, dict.fromkeys(map(_uid, live), "no quota is reserved")) if state.gate.is_shut else ()


def _decide_pods(state: State, drift: Drift) -> _Pods:
    cluster, observed = state.cluster, state.observed
    if cluster.spec.suspend:
        return _Pods(deletes=_suspend(observed))
    if state.gate.is_shut:
        return _Pods(deletes=_shut(state))
    live = [pod for pod in observed.pods if not pod.deleting]
    heads = sorted((pod for pod in live if pod.is_head), key=lambda pod: pod.metadata.creation_timestamp or "")
    workers = [pod for pod in live if pod.is_worker]
    effect = renewal(cluster)
    if effect is Effect.RECREATE and heads and is_outdated_head(state.desired, heads[0], live):
        return _recreate(heads[0], workers)
    deletions: Deletions = {_uid(pod): "the cluster has another head Pod" for pod in heads[1:]}
    if heads and (reason := heads[0].ended()):
        deletions[_uid(heads[0])] = reason
    head_terminates = any(pod.is_head and pod.deleting for pod in observed.pods) and not heads
    old_heads = [pod.metadata.name for pod in observed.predecessor_pods if pod.is_head]
    if not heads and not (head_terminates or old_heads) and _stays_headless(cluster):
        return _Pods()
    creates: list[CreatePod] = []
    events: list[Event] = []
    head_room = state.gate.room(labels.HEAD_GROUP, state.desired, observed.pods)
    if not (heads or head_terminates or old_heads) and head_room != 0:
        creates.append(CreatePod(None))
    if old_heads:
        message = f"Waiting for head Pod {', '.join(old_heads)} of a deleted RayCluster of the same name to terminate"
        events.append(Event("Normal", "WaitingForOldHead", message))
    outdated = outdated_workers(state.desired, workers) if drift.pods else frozenset[str]()
    known = {group.group_name for group in cluster.groups}
    for pod in workers:
        if pod.group not in known:
            deletions[_uid(pod)] = f"worker group {pod.group} is not in the spec"
    without_pods = dict.fromkeys(state.desired.dropped_groups, 0)
    events += _removed_groups(without_pods | Counter(pod.group for pod in workers if pod.group not in known))
    if effect is Effect.RECREATE:
        deletions.update(dict.fromkeys(outdated, _RECREATE))
    for group in cluster.groups:
        pods = [pod for pod in observed.pods if pod.is_worker and pod.group == group.group_name]
        members = [pod for pod in pods if _uid(pod) not in deletions]
        hosts = max(group.num_of_hosts or 1, 1)
        wanted = desired_workers(group) // hosts
        replicas = state.gate.most(group.group_name, wanted, hosts)
        decided = decide_group(
            cluster.metadata.name,
            group,
            members,
            replicas,
            autoscaled=features.autoscaling(cluster) and not group.suspend and replicas == wanted,
            outdated=outdated,
            elsewhere=_pods_elsewhere(group, observed.pods),
            occupied=[pod.replica_index for pod in pods],
            max_creates=max(MAX_CREATES - len(creates), 0),
        )
        deletions.update(decided.deletions)
        events += decided.events
        # Workers would join a head that is about to go.
        if not (head_terminates or old_heads or (heads and _uid(heads[0]) in deletions)):
            room = state.gate.room(group.group_name, state.desired, observed.pods)
            creates += decided.creates if room is None else _within(decided.creates, room, hosts)
    if not creates and not deletions and effect is Effect.ROLLING_WORKERS:
        deletions = rolling_update(observed.pods, outdated)
        events += not_drained(live, deletions)
    staying = [pod for pod in live if _uid(pod) not in deletions]
    adopted = adopt(cluster, state.desired, staying)
    return _Pods(_deletes(live, deletions), tuple(creates), adopted, tuple(events))


def _within(creates: Sequence[CreatePod], room: int, hosts: int) -> list[CreatePod]:
    """What there is room for: hosts that complete a replica first, then whole replicas."""
    begun = [new for new in creates if new.replica_name][:room]
    fresh = [new for new in creates if not new.replica_name]
    return [*begun, *fresh[: (room - len(begun)) // hosts * hosts]]


def _removed_groups(groups: Mapping[str, int]) -> list[Event]:
    """Of groups, with the number of pods that each has left.

    A merge patch replaces a list whole, so that who meant to change one group may have dropped another.
    """
    return [
        Event(
            "Warning",
            "WorkerGroupRemoved",
            f"Worker group {group} is no longer in spec.workerGroupSpecs: "
            f"{f'deleting its {count} pods' if count else 'it had no pods'}. A merge patch "
            "replaces the whole list: if you meant to keep the group, add it again",
        )
        for group, count in sorted(groups.items())
    ]


def _pods_elsewhere(group: WorkerGroup, pods: Sequence[RayPod]) -> frozenset[str]:
    """The names of pods of other groups, where the spec names pods at all."""
    named = group.scale_strategy is not None and group.scale_strategy.workers_to_delete
    return frozenset(pod.metadata.name for pod in pods if pod.group != group.group_name) if named else frozenset()


def _recreate(head: RayPod, workers: Sequence[RayPod]) -> _Pods:
    """All pods go, the head last, so that a crash between is noticed."""
    last = _deletes([head], {_uid(head): _RECREATE})
    if not workers:
        return _Pods(deletes=last)
    return _Pods(deletes=_deletes(workers, dict.fromkeys(map(_uid, workers), _RECREATE)), last=last)


def _stays_headless(cluster: RayCluster) -> bool:
    asked = cluster.metadata.annotation(labels.DISABLE_HEAD_RESTART) == "true"
    return asked and is_true(cluster.status.conditions, conditions.PROVISIONED)


def _deletes(pods: Sequence[RayPod], deletions: Deletions) -> tuple[Write, ...]:
    return tuple(
        Delete(PODS, pod.metadata.name, _uid(pod), pod, deletions[_uid(pod)]) for pod in pods if _uid(pod) in deletions
    )


def _uid(pod: RayPod) -> str:
    return pod.metadata.uid
