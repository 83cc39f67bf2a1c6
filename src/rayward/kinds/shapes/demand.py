"""What a RayCluster costs: its pods by group, with exact requests.

Counted from the pod sets that a queue is asked for, so that a plan and a queue never differ: what Rayward adds (the
autoscaler's container, the init container that waits for the head) counts, and so does the job that runs in the head's
stead to remove a deleted cluster's keys from Redis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rayward.kinds.raycluster import RayCluster
from rayward.kinds.shapes.pods import head_pod, worker_pod
from rayward.kinds.shapes.podsets import pod_set_shapes
from rayward.kinds.shapes.totals import max_workers
from rayward.kube.machinery import podrequests
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.machinery.quantity import Quantity


@dataclass(frozen=True, slots=True)
class PodShape:
    """``count`` pods of one group that are alike; ``most`` is how many the group's autoscaler may make of them."""

    group: str
    count: int
    most: int
    requests: Mapping[str, Quantity]
    """Of one pod, as the scheduler counts them."""
    pod: Object = field(default_factory=dict[str, Any], compare=False)
    """One of them, for whoever asks where it may run and which limits count for it."""


def pod_shapes(cluster: RayCluster) -> tuple[PodShape, ...]:
    """The head, then the worker groups in their order, those without pods too; suspension changes nothing."""
    most = (1, *map(max_workers, cluster.groups))
    pods = (head_pod(cluster, ""), *(worker_pod(cluster, group, "") for group in cluster.groups))
    return tuple(
        PodShape(found.group, found.count, limit, podrequests.pod_requests(found.spec), pod)
        for found, limit, pod in zip(pod_set_shapes(cluster), most, pods, strict=True)
    )
