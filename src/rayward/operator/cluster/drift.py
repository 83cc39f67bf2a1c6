"""Pods that were made from another template than the spec has now, and what replaces them.

Pods of another operator carry no record of what they were made from: one is written on them at first sight, and from
then on an edit reaches them as it reaches ours. Writing it restarts nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from rayward.kinds import labels
from rayward.kinds.effects import Effect, renewal
from rayward.kinds.hashing import VERSION, hash_version
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.shapes import OPERATOR, drift, is_outdated, unknown_template
from rayward.kube.core.meta import condition_of, is_controlled_by
from rayward.kube.core.resource import PODS
from rayward.operator.cluster import conditions
from rayward.operator.cluster.desired import Desired, place_of
from rayward.operator.cluster.pod import RayPod
from rayward.operator.cluster.state import Event, Patch
from rayward.operator.cluster.workers import Deletions, deletion_order

_MAX_SHOWN: Final = 10
_MAX_PATCHES: Final = 500
"""How many pods one run writes to: the others follow."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Pods that were made from another template, and the fields in which it differs."""

    pods: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """As the condition says it."""
        if not self.pods:
            return "All pods match the spec"
        return f"Pods {', '.join(self.pods)} were created from an older spec; changed: {', '.join(self.paths)}"


NO_DRIFT: Final = Drift()


def drift_of(desired: Desired, pods: Iterable[RayPod]) -> Drift:
    """Pods and field paths, as far as a message can hold them."""
    names: list[str] = []
    paths: dict[str, None] = {}
    for pod in pods:
        recorded = pod.metadata.annotation(labels.TEMPLATE)
        place = place_of(pod)
        current = desired.records.get(place)
        if pod.deleting or not recorded or current is None or recorded == current:
            continue
        differing = drift(recorded, current)
        if differing:
            names.append(pod.metadata.name)
            paths.update((f"{place}.{path}", None) for path in differing)
    return Drift(_first(sorted(names)), _first(list(paths))) if names else NO_DRIFT


def outdated_workers(desired: Desired, workers: Iterable[RayPod]) -> frozenset[str]:
    """The uids of workers that an edit made outdated."""
    return frozenset(pod.metadata.uid for pod in workers if _is_outdated(desired, pod))


def is_outdated_head(desired: Desired, head: RayPod, pods: Iterable[RayPod]) -> bool:
    """Whether an edit of anything that pods are made from came after the head.

    A hash of an older version differs also where only the spelling does, as in what a typed client wrote back while
    the operator was down for its upgrade. What ``pods``, those of the cluster, record of their templates does not.
    """
    made_from = head.metadata.annotation(labels.RECREATE_HASH)
    if not is_adopted(head) or not made_from or desired.is_release(made_from):
        return False
    if hash_version(made_from) == VERSION or _lacks_record(head):
        return True
    return any(_is_outdated(desired, pod) for pod in pods if not pod.deleting)


def is_replacing(cluster: RayCluster, desired: Desired, pods: Sequence[RayPod]) -> bool:
    """Whether the operator replaces pods because of an edit; what it leaves drifted, it leaves for good."""
    effect = renewal(cluster)
    if effect is Effect.NEXT_PODS:
        return False
    live = [pod for pod in pods if not pod.deleting]
    heads = [pod for pod in live if pod.is_head] if effect is Effect.RECREATE else []
    workers = [pod for pod in live if pod.is_worker]
    return any(is_outdated_head(desired, head, live) for head in heads) or bool(outdated_workers(desired, workers))


def rolling_update(pods: Sequence[RayPod], outdated: Collection[str]) -> Deletions:
    """All outdated workers that never ran; else one, or all hosts of one replica, once all that stays is ready.

    Args:
        pods: All pods of the cluster, the head and terminating ones included.
        outdated: The uids of workers made from another template.
    """
    workers = _replicas(pod for pod in pods if pod.is_worker and not pod.deleting)
    old = [replica for replica in workers if any(pod.metadata.uid in outdated for pod in replica)]
    never_ran = [pod for replica in old if not any(pod.running for pod in replica) for pod in replica]
    if never_ran:
        return _all(never_ran)
    if not old or any(pod.deleting for pod in pods):
        return {}
    first = deletion_order(pod for replica in old for pod in replica)[0]
    chosen = _all(next(replica for replica in old if first in replica))
    # What is outdated and not ready may never be: it is not waited for.
    awaited = (
        pod for pod in pods if pod.metadata.uid not in chosen and (pod.ready or pod.metadata.uid not in outdated)
    )
    return chosen if all(pod.ready for pod in awaited) else {}


def not_drained(pods: Iterable[RayPod], deletions: Deletions) -> tuple[Event, ...]:
    """Warns of running pods among those to delete that have no hook to drain them."""
    names = [pod.metadata.name for pod in pods if pod.metadata.uid in deletions and pod.running and not pod.drains]
    if not names:
        return ()
    message = (
        f"Replaced {', '.join(names)} without draining: running tasks may be lost. Workers created before annotation "
        f"{labels.ROLLING_UPDATE} was set, or by another operator, have no preStop hook; new workers have one"
    )
    return (Event("Warning", "WorkerNotDrained", message),)


def adopt(cluster: RayCluster, desired: Desired, pods: Sequence[RayPod]) -> tuple[Patch, ...]:
    """The records to write on those of ``pods``, which are live and stay, that have none."""
    old_hashes = {pod.metadata.uid for pod in pods if _has_old_hash(desired, pod, pods)}
    unrecorded = (pod for pod in pods if _lacks_record(pod) or _lacks_hash(pod) or pod.metadata.uid in old_hashes)
    patches: list[Patch] = []
    for pod in islice(unrecorded, _MAX_PATCHES):
        annotations: dict[str, str] = {}
        # Another operator hashes in another way: its hash says nothing here.
        if pod.is_head and (_lacks_hash(pod) or pod.metadata.uid in old_hashes):
            annotations = {labels.RECREATE_HASH: desired.release, labels.OPERATOR_VERSION: OPERATOR}
        if _lacks_record(pod) and (current := desired.records.get(place_of(pod))) is not None:
            annotations[labels.TEMPLATE] = current if _made_from(cluster, pod) else unknown_template(current)
        if annotations:
            change = {"metadata": {"uid": pod.metadata.uid, "annotations": annotations}}
            patches.append(Patch(PODS, pod.metadata.name, pod.metadata.uid, change))
    return tuple(patches)


def is_adopted(head: RayPod) -> bool:
    """Whether the hash of a head is one of ours."""
    return head.metadata.annotation(labels.OPERATOR_VERSION) == OPERATOR


def _lacks_record(pod: RayPod) -> bool:
    return not pod.metadata.annotation(labels.TEMPLATE)


def _lacks_hash(pod: RayPod) -> bool:
    return pod.is_head and not is_adopted(pod)


def _has_old_hash(desired: Desired, pod: RayPod, pods: Iterable[RayPod]) -> bool:
    """Whether its hash is of an older version and of this very spec: later spellings would not match it."""
    stored = pod.metadata.annotation(labels.RECREATE_HASH) if pod.is_head else ""
    return hash_version(stored) not in (None, VERSION) and not is_outdated_head(desired, pod, pods)


def _is_outdated(desired: Desired, pod: RayPod) -> bool:
    recorded = pod.metadata.annotation(labels.TEMPLATE)
    current = desired.records.get(place_of(pod))
    return current is not None and bool(recorded) and recorded != current and is_outdated(recorded, current)


def _made_from(cluster: RayCluster, pod: RayPod) -> bool:
    """Whether the spec is still the one that the other operator saw."""
    generation = cluster.metadata.generation
    accepted = condition_of(cluster.status.conditions, conditions.ACCEPTED)
    if cluster.status.observed_generation == generation and (accepted is None or accepted.status == "True"):
        return True
    # It may have been stopped before it wrote its first status.
    return generation == 1 and is_controlled_by(pod, cluster)


def _replicas(pods: Iterable[RayPod]) -> list[list[RayPod]]:
    """Pods that start and terminate together."""
    found: dict[str, list[RayPod]] = {}
    for pod in pods:
        found.setdefault(pod.replica_name or pod.metadata.uid, []).append(pod)
    return list(found.values())


def _all(pods: Iterable[RayPod]) -> Deletions:
    return {pod.metadata.uid: "replaced by a rolling update" for pod in pods}


def _first(items: Sequence[str]) -> tuple[str, ...]:
    more = len(items) - _MAX_SHOWN
    return (*items[:_MAX_SHOWN], f"{more} more") if more > 0 else tuple(items)
