"""Pods that another operator made: at first sight it is written on them what they were made from.

From then on an edit reaches them as it reaches ours. Nothing here restarts a pod.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from rayward.kinds import labels
from rayward.kinds.hashing import release_hash
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.shapes import OPERATOR, unknown_template
from rayward.kube.core.meta import is_controlled_by
from rayward.kube.core.resource import PODS
from rayward.operator.cluster.drifting import records_of, where
from rayward.operator.cluster.plan import Mend
from rayward.operator.cluster.pod import RayPod

_MOST: Final = 500
"""How many pods one run writes to: the others follow."""


def adopt(cluster: RayCluster, pods: Iterable[RayPod]) -> tuple[Mend, ...]:
    """What is to be written on those that say nothing about their making."""
    strangers = list(islice((pod for pod in pods if _lacks_record(pod) or _lacks_hash(pod)), _MOST))
    if not strangers:
        return ()
    records = records_of(cluster)
    release = {labels.RECREATE_HASH: release_hash(cluster.spec), labels.OPERATOR_VERSION: OPERATOR}
    mends: list[Mend] = []
    for pod in strangers:
        # Another operator hashes in another way: its hash says nothing here.
        annotations = dict(release) if _lacks_hash(pod) else {}
        if _lacks_record(pod) and (current := records.get(where(pod))) is not None:
            annotations[labels.TEMPLATE] = current if _made_from(cluster, pod) else unknown_template(current)
        if annotations:
            change = {"metadata": {"uid": pod.metadata.uid, "annotations": annotations}}
            mends.append(Mend(PODS, pod.metadata.name, pod.metadata.uid, change))
    return tuple(mends)


def is_adopted(head: RayPod) -> bool:
    """Whether the hash of a head is one of ours."""
    return head.metadata.annotation(labels.OPERATOR_VERSION) == OPERATOR


def _lacks_record(pod: RayPod) -> bool:
    return not pod.metadata.annotation(labels.TEMPLATE)


def _lacks_hash(pod: RayPod) -> bool:
    return pod.is_head and not is_adopted(pod)


def _made_from(cluster: RayCluster, pod: RayPod) -> bool:
    """Whether the spec is still the one that the other operator saw."""
    generation = cluster.metadata.generation
    if cluster.status.observed_generation == generation:
        return True
    # It may have been stopped before it wrote its first status.
    return generation == 1 and is_controlled_by(pod, cluster)
