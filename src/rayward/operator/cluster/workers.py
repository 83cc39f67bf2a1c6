"""Which pods of one worker group to create and which to delete."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from rayward.kinds import names
from rayward.kinds.raycluster import WorkerGroup
from rayward.operator.cluster.pod import RayPod
from rayward.operator.cluster.state import CreatePod, Event

MAX_CREATES: Final = 500
"""How many pods one reconcile creates, of all groups together: the others follow, and other clusters do not wait."""

Deletions = dict[str, str]
"""Pods to delete, by uid, with the reason."""

_MAX_SHOWN: Final = 10
_is_suffix: Final = re.compile(r"[a-z0-9]{5}", re.ASCII).fullmatch


@dataclass(frozen=True, slots=True)
class GroupDecision:
    """What to do about one group."""

    creates: tuple[CreatePod, ...] = ()
    deletions: Deletions = field(default_factory=dict[str, str])
    events: tuple[Event, ...] = ()


def decide_group(
    cluster: str,
    group: WorkerGroup,
    pods: Sequence[RayPod],
    replicas: int,
    *,
    autoscaled: bool,
    outdated: Collection[str] = (),
    elsewhere: Collection[str] = (),
    occupied: Collection[int | None] = (),
    max_creates: int = MAX_CREATES,
) -> GroupDecision:
    """Bring a group to ``replicas``.

    Args:
        cluster: The cluster's name.
        group: The group's spec.
        pods: All pods of the group. Terminating ones are not counted: one that hangs must not hold up the others.
        replicas: How many replicas there shall be, of ``num_of_hosts`` pods each.
        autoscaled: Only the autoscaler says which pods go.
        outdated: The uids of pods made from another template: they go first.
        elsewhere: The names of pods of other groups.
        occupied: The replica indexes of pods that are to be deleted anyway and not among ``pods``. No index is used
            twice at any moment: that of a terminating pod is free once the pod is gone.
        max_creates: How many pods may be created now. Hosts start together: a replica that is begun is completed.
    """
    live = [pod for pod in pods if not pod.deleting]
    deletions: Deletions = {pod.metadata.uid: reason for pod in live if (reason := pod.ended())}
    named, events = _named(cluster, group, live, elsewhere)
    hosts = group.num_of_hosts or 1
    if hosts > 1:
        return _multi_host(
            group, pods, replicas, hosts, deletions, named, events, autoscaled, outdated, occupied, max_creates
        )
    deletions.update((uid, reason) for uid, reason in named.items() if uid not in deletions)
    kept = [pod for pod in live if pod.metadata.uid not in deletions]
    missing = replicas - len(kept)
    if missing >= 0:
        free = _free_indexes((*occupied, *(pod.replica_index for pod in pods)), min(missing, max_creates))
        return GroupDecision(tuple(CreatePod(group, index) for index in free), deletions, events)
    if not autoscaled:
        for pod in deletion_order(kept, outdated)[:-missing]:
            deletions[pod.metadata.uid] = "the worker group was scaled down"
    return GroupDecision((), deletions, events)


def deletion_order(pods: Iterable[RayPod], outdated: Collection[str] = ()) -> list[RayPod]:
    """The pods in the order to delete them: not placed, not running, not ready, of an old template, newest first."""

    def made(pod: RayPod) -> tuple[str, int, str]:
        # Times are whole seconds: of pods made together the last place goes first.
        return (pod.metadata.creation_timestamp or "", pod.replica_index or 0, pod.metadata.name)

    return sorted(sorted(pods, key=made, reverse=True), key=lambda pod: _rank(pod, outdated))


def _rank(pod: RayPod, outdated: Collection[str]) -> tuple[bool, bool, bool, bool]:
    return (bool(pod.spec.node_name), pod.running, pod.ready, pod.metadata.uid not in outdated)


def _multi_host(
    group: WorkerGroup,
    pods: Sequence[RayPod],
    replicas: int,
    hosts: int,
    ended: Deletions,
    named: Deletions,
    events: tuple[Event, ...],
    autoscaled: bool,
    outdated: Collection[str],
    occupied: Collection[int | None],
    max_creates: int,
) -> GroupDecision:
    whole, deletions = _unindexed_replicas(filter(_is_unindexed, pods), hosts, {**named, **ended}, outdated)
    creates: list[CreatePod] = []
    for name, members in _by_replica(pod for pod in pods if not _is_unindexed(pod)).items():
        live = [pod for pod in members if not pod.deleting]
        reason = _broken_reason(name, members, hosts, ended, named)
        if reason:
            deletions.update((pod.metadata.uid, reason) for pod in live)
        elif live:
            whole.append(live)
            if len(creates) < max_creates:
                creates += _missing_hosts(group, name, live, hosts)
    missing = replicas - len(whole)
    begun = min(missing, _replicas_in(max_creates - len(creates), hosts))
    for index in _free_indexes((*occupied, *(pod.replica_index for pod in pods)), begun):
        creates += [CreatePod(group, index, host) for host in range(hosts)]
    if missing < 0 and not autoscaled:
        ordered = sorted(whole, key=lambda members: min(_rank(pod, outdated) for pod in members))
        for members in ordered[:-missing]:
            deletions.update((pod.metadata.uid, "the worker group was scaled down") for pod in members)
        gone = {members[0].replica_name for members in ordered[:-missing]}
        creates = [new for new in creates if new.replica_name not in gone]
    return GroupDecision(tuple(creates), deletions, events)


def _is_unindexed(pod: RayPod) -> bool:
    """Whether it is of an operator that does not number replicas: KubeRay without RayMultiHostIndexing."""
    return not pod.replica_name and pod.replica_index is None


def _unindexed_replicas(
    pods: Iterable[RayPod], hosts: int, leaving: Deletions, outdated: Collection[str]
) -> tuple[list[list[RayPod]], Deletions]:
    """Any ``hosts`` of them count as one replica, for nobody knows which belong together; and which of them go."""
    live = [pod for pod in pods if not pod.deleting]
    deletions = {pod.metadata.uid: leaving[pod.metadata.uid] for pod in live if pod.metadata.uid in leaving}
    ordered = deletion_order((pod for pod in live if pod.metadata.uid not in deletions), outdated)
    rest = len(ordered) % hosts
    deletions.update((pod.metadata.uid, "another host of its replica is missing") for pod in ordered[:rest])
    return [ordered[at : at + hosts] for at in range(rest, len(ordered), hosts)], deletions


def _by_replica(pods: Iterable[RayPod]) -> dict[str, list[RayPod]]:
    replicas: dict[str, list[RayPod]] = {}
    for pod in pods:
        replicas.setdefault(pod.replica_name, []).append(pod)
    return replicas


def _broken_reason(name: str, members: Sequence[RayPod], hosts: int, ended: Deletions, named: Deletions) -> str:
    """Why a whole replica goes: its hosts start and end together."""
    for pod in members:
        uid = pod.metadata.uid
        reason = ended.get(uid) or named.get(uid)
        if reason:
            return reason if len(members) == 1 else f"host {pod.metadata.name} of the same replica: {reason}"
    if not name:
        return f"the pod belongs to no replica and numOfHosts is {hosts}"
    live = [pod for pod in members if not pod.deleting]
    if len(live) > hosts or any((pod.host_index or 0) >= hosts for pod in live):
        return f"its replica has more than {hosts} hosts (numOfHosts)"
    if len(live) < len(members):
        return "another host of its replica is terminating"
    if len(live) < hosts and any(pod.running for pod in live):
        return "another host of its replica is missing"
    return ""


def _missing_hosts(group: WorkerGroup, name: str, live: Sequence[RayPod], hosts: int) -> list[CreatePod]:
    """Hosts of a replica that was only half made, and of which nothing runs yet."""
    present = {pod.host_index for pod in live}
    replica = live[0].replica_index or 0
    return [CreatePod(group, replica, host, name) for host in range(hosts) if host not in present]


def _named(
    cluster: str, group: WorkerGroup, live: Iterable[RayPod], elsewhere: Collection[str]
) -> tuple[Deletions, tuple[Event, ...]]:
    """The pods in ``workersToDelete``; names that no pod of this group can have are reported and ignored."""
    wanted = (group.scale_strategy.workers_to_delete if group.scale_strategy else None) or ()
    if not wanted:
        return {}, ()
    by_name = {pod.metadata.name: pod.metadata.uid for pod in live}
    prefix = names.pod_prefix(cluster, group.group_name)
    unknown = [
        name for name in wanted if name not in by_name and (name in elsewhere or not _may_have_existed(name, prefix))
    ]
    deletions = {by_name[name]: "listed in scaleStrategy.workersToDelete" for name in wanted if name in by_name}
    return deletions, (_ignored(group, unknown),) if unknown else ()


def _may_have_existed(name: str, prefix: str) -> bool:
    """Whether a pod may have had this name: the autoscaler leaves those that are gone in its list."""
    return name.startswith(prefix) and _is_suffix(name.removeprefix(prefix)) is not None


def _ignored(group: WorkerGroup, unknown: Sequence[str]) -> Event:
    more = len(unknown) - _MAX_SHOWN
    shown = ", ".join(unknown[:_MAX_SHOWN]) + (f" and {more} more" if more > 0 else "")
    verb = "are not Pods" if len(unknown) > 1 else "is not a Pod"
    message = f"Ignored scaleStrategy.workersToDelete: {shown} {verb} of worker group {group.group_name}"
    return Event("Warning", "IgnoredWorkersToDelete", message)


def _replicas_in(room: int, hosts: int) -> int:
    """How many replicas may be begun; the last one may go beyond the room."""
    return -(-max(room, 0) // hosts)


def _free_indexes(used: Iterable[int | None], count: int) -> list[int]:
    taken = set(used)
    free: list[int] = []
    index = 0
    while len(free) < count:
        if index not in taken:
            free.append(index)
        index += 1
    return free
