"""Which pods of one worker group to make and which to delete."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final

import msgspec

from rayward.kinds import names
from rayward.kinds.raycluster import WorkerGroup
from rayward.operator.cluster.plan import NewPod, Note
from rayward.operator.cluster.pod import RayPod

MOST_CREATES: Final = 500
"""How many pods one run makes, of all groups together: the others follow, and other clusters are not kept waiting."""

Doomed = dict[str, str]
"""Why a pod goes, by its uid."""

_SHOWN: Final = 10
_is_suffix: Final = re.compile(r"[a-z0-9]{5}", re.ASCII).fullmatch


class GroupPlan(msgspec.Struct, frozen=True):
    """What one group asks for."""

    creates: tuple[NewPod, ...] = ()
    doomed: Doomed = msgspec.field(default_factory=dict[str, str])
    notes: tuple[Note, ...] = ()


def plan_group(
    cluster: str,
    group: WorkerGroup,
    pods: Sequence[RayPod],
    replicas: int,
    *,
    autoscaled: bool,
    outdated: Collection[str] = (),
    elsewhere: Collection[str] = (),
    most: int = MOST_CREATES,
) -> GroupPlan:
    """Bring a group to ``replicas``.

    Args:
        cluster: The cluster's name.
        group: The group's spec.
        pods: All pods of the group. Terminating ones are not counted: one that hangs must not hold up the others.
        replicas: How many replicas there shall be, of ``num_of_hosts`` pods each.
        autoscaled: Only the autoscaler says which pods go.
        outdated: The uids of pods made from another template: they go first.
        elsewhere: The names of pods of other groups.
        most: How many pods may be made now. Hosts start together: a replica that is begun is made whole.
    """
    live = [pod for pod in pods if not pod.deleting]
    doomed: Doomed = {pod.metadata.uid: why for pod in live if (why := pod.ended())}
    named, notes = _named(cluster, group, live, elsewhere)
    hosts = group.num_of_hosts or 1
    if hosts > 1:
        return _multi_host(group, pods, replicas, hosts, doomed, named, notes, autoscaled, outdated, most)
    doomed.update((uid, why) for uid, why in named.items() if uid not in doomed)
    kept = [pod for pod in live if pod.metadata.uid not in doomed]
    missing = replicas - len(kept)
    if missing >= 0:
        free = _free_indexes((pod.replica_index for pod in kept), min(missing, most))
        return GroupPlan(tuple(NewPod(group, index) for index in free), doomed, notes)
    if not autoscaled:
        for pod in expendable(kept, outdated)[:-missing]:
            doomed[pod.metadata.uid] = "the group was scaled down"
    return GroupPlan((), doomed, notes)


def expendable(pods: Iterable[RayPod], outdated: Collection[str] = ()) -> list[RayPod]:
    """The pods, those first that are missed least: not placed, not running, not ready, of an old template, newest."""

    def made(pod: RayPod) -> tuple[str, int, str]:
        # Times are whole seconds: of pods made together the last place goes first.
        return (pod.metadata.creation_timestamp or "", pod.replica_index or 0, pod.metadata.name)

    return sorted(sorted(pods, key=made, reverse=True), key=lambda pod: _worth(pod, outdated))


def _worth(pod: RayPod, outdated: Collection[str]) -> tuple[bool, bool, bool, bool]:
    return (bool(pod.spec.node_name), pod.running, pod.ready, pod.metadata.uid not in outdated)


def _multi_host(
    group: WorkerGroup,
    pods: Sequence[RayPod],
    replicas: int,
    hosts: int,
    ended: Doomed,
    named: Doomed,
    notes: tuple[Note, ...],
    autoscaled: bool,
    outdated: Collection[str],
    most: int,
) -> GroupPlan:
    whole, doomed = _nameless_replicas(filter(_is_nameless, pods), hosts, {**named, **ended}, outdated)
    creates: list[NewPod] = []
    for name, members in _by_replica(pod for pod in pods if not _is_nameless(pod)).items():
        live = [pod for pod in members if not pod.deleting]
        why = _broken(name, members, hosts, ended, named)
        if why:
            doomed.update((pod.metadata.uid, why) for pod in live)
        elif live:
            whole.append(live)
            if len(creates) < most:
                creates += _missing_hosts(group, name, live, hosts)
    missing = replicas - len(whole)
    begun = min(missing, _portions(most - len(creates), hosts))
    for index in _free_indexes((members[0].replica_index for members in whole), begun):
        creates += [NewPod(group, index, host) for host in range(hosts)]
    if missing < 0 and not autoscaled:
        weakest_first = sorted(whole, key=lambda members: min(_worth(pod, outdated) for pod in members))
        for members in weakest_first[:-missing]:
            doomed.update((pod.metadata.uid, "the group was scaled down") for pod in members)
        gone = {members[0].replica_name for members in weakest_first[:-missing]}
        creates = [new for new in creates if new.replica_name not in gone]
    return GroupPlan(tuple(creates), doomed, notes)


def _is_nameless(pod: RayPod) -> bool:
    """Whether it is of an operator that does not number replicas: KubeRay without RayMultiHostIndexing."""
    return not pod.replica_name and pod.replica_index is None


def _nameless_replicas(
    pods: Iterable[RayPod], hosts: int, leaving: Doomed, outdated: Collection[str]
) -> tuple[list[list[RayPod]], Doomed]:
    """Any ``hosts`` of them count as one replica, for nobody knows which belong together; and which of them go."""
    live = [pod for pod in pods if not pod.deleting]
    doomed = {pod.metadata.uid: leaving[pod.metadata.uid] for pod in live if pod.metadata.uid in leaving}
    weakest_first = expendable((pod for pod in live if pod.metadata.uid not in doomed), outdated)
    rest = len(weakest_first) % hosts
    doomed.update((pod.metadata.uid, "its replica has lost a host") for pod in weakest_first[:rest])
    return [weakest_first[at : at + hosts] for at in range(rest, len(weakest_first), hosts)], doomed


def _by_replica(pods: Iterable[RayPod]) -> dict[str, list[RayPod]]:
    replicas: dict[str, list[RayPod]] = {}
    for pod in pods:
        replicas.setdefault(pod.replica_name, []).append(pod)
    return replicas


def _broken(name: str, members: Sequence[RayPod], hosts: int, ended: Doomed, named: Doomed) -> str:
    """Why a whole replica goes: its hosts start and end together."""
    for pod in members:
        uid = pod.metadata.uid
        why = ended.get(uid) or named.get(uid)
        if why:
            return why if len(members) == 1 else f"of its replica's pod {pod.metadata.name}: {why}"
    if not name:
        return f"it is no host of a replica of {hosts}"
    live = [pod for pod in members if not pod.deleting]
    if len(live) > hosts or any((pod.host_index or 0) >= hosts for pod in live):
        return f"its replica has more hosts than {hosts}"
    if len(live) < len(members):
        return "another host of its replica ended"
    if len(live) < hosts and any(pod.running for pod in live):
        return "its replica has lost a host"
    return ""


def _missing_hosts(group: WorkerGroup, name: str, live: Sequence[RayPod], hosts: int) -> list[NewPod]:
    """Hosts of a replica that was only half made, and of which nothing runs yet."""
    present = {pod.host_index for pod in live}
    replica = live[0].replica_index or 0
    return [NewPod(group, replica, host, name) for host in range(hosts) if host not in present]


def _named(
    cluster: str, group: WorkerGroup, live: Iterable[RayPod], elsewhere: Collection[str]
) -> tuple[Doomed, tuple[Note, ...]]:
    """The pods in ``workersToDelete``; names that can be no pod of this group are told, never acted upon."""
    wanted = (group.scale_strategy.workers_to_delete if group.scale_strategy else None) or ()
    if not wanted:
        return {}, ()
    by_name = {pod.metadata.name: pod.metadata.uid for pod in live}
    prefix = names.pod_prefix(cluster, group.group_name)
    strangers = [
        name for name in wanted if name not in by_name and (name in elsewhere or not _may_have_been(name, prefix))
    ]
    doomed = {by_name[name]: "it is in workersToDelete" for name in wanted if name in by_name}
    return doomed, (_ignored(group, strangers),) if strangers else ()


def _may_have_been(name: str, prefix: str) -> bool:
    """Whether a pod may have had this name: the autoscaler leaves those that are gone in its list."""
    return name.startswith(prefix) and _is_suffix(name.removeprefix(prefix)) is not None


def _ignored(group: WorkerGroup, strangers: Sequence[str]) -> Note:
    more = len(strangers) - _SHOWN
    shown = ", ".join(strangers[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    which = "which are no pods of that group" if len(strangers) > 1 else "which is no pod of that group"
    message = f"scaleStrategy.workersToDelete of group {group.group_name} names {shown}, {which}: ignored"
    return Note("Warning", "IgnoredWorkersToDelete", message)


def _portions(room: int, hosts: int) -> int:
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
