"""What a RayCluster costs: its pods by group, with exact requests.

Counted from the pods as the API server is sent them, so that what Rayward adds (the autoscaler's container, the init
container that waits for the head) counts too. Two groups of one name and other templates are two shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rayward.kinds import labels
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.shapes.pods import head_pod, worker_pod
from rayward.kinds.shapes.totals import desired_workers, max_workers
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
    head = head_pod(cluster, "")
    shapes = [PodShape(labels.HEAD_GROUP, 1, 1, podrequests.pod_requests(head["spec"]), head)]
    for group in cluster.groups:
        pod = worker_pod(cluster, group, "")
        requests = podrequests.pod_requests(pod["spec"])
        shapes.append(PodShape(group.group_name, desired_workers(group), max_workers(group), requests, pod))
    return tuple(shapes)
