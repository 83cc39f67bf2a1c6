"""Which cluster goes first where many wait: one that needs a last look to be ready, before those not begun.

In a burst, taking keys in the order in which they came makes all clusters ready together at the very end: the change of
a cluster's last pod waits behind every cluster that was made after it.
"""

from __future__ import annotations

from collections.abc import Iterable

from rayward.kinds.raycluster import RayCluster
from rayward.kube.core.meta import is_true
from rayward.kube.runtime.queue import HIGH
from rayward.operator.cluster.conditions import PROVISIONED
from rayward.operator.cluster.pod import RayPod


def priority_of(cluster: RayCluster, pods: Iterable[RayPod], workers: int) -> int:
    """The priority of a cluster whose pods changed: high once all of them run and its status does not say so yet.

    Earlier changes do not count: a look at half of the pods would write nothing, and delay who is done.
    """
    if is_true(cluster.status.conditions, PROVISIONED):
        return 0
    running = sum(pod.running and not pod.deleting for pod in pods)
    return HIGH if running > workers else 0
