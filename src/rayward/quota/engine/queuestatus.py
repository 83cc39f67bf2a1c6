"""What ClusterQueues and LocalQueues report: how much is used, who waits, and whether the queue admits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

import msgspec

from rayward.kinds.kueue import ClusterQueue, LocalQueue, names
from rayward.kube.core.meta import with_condition
from rayward.kube.core.objects import Condition
from rayward.kube.machinery.jsonvalue import Object
from rayward.quota.engine.amounts import FlavorResource, Usage, quota_of, text_of
from rayward.quota.engine.engine import Engine, QueueState
from rayward.quota.engine.fair import share_of
from rayward.quota.engine.item import Item

IsAdmitted = Callable[[Item], bool]


def cluster_queue_status(engine: Engine, queue: ClusterQueue, is_admitted: IsAdmitted, now: datetime) -> Object:
    """The status of a ClusterQueue."""
    name = queue.metadata.name
    held = list(engine.holders.get(name, {}).values())
    admitted = [item for item in held if is_admitted(item)]
    status: Object = {
        "conditions": _active(queue, engine.queue_state(name), now),
        "flavorsReservation": _flavors(queue, _sum(held), borrowed=True),
        "flavorsUsage": _flavors(queue, _sum(admitted), borrowed=True),
        "pendingWorkloads": len(engine.pending.get(name, ())),
        "reservingWorkloads": len(held),
        "admittedWorkloads": len(admitted),
    }
    if engine.settings.fair_sharing and name in engine.forest.queues:
        status["fairSharing"] = {"weightedShare": share_of(engine.forest.queues[name]).rounded}
    return status


def local_queue_status(
    engine: Engine, local: LocalQueue, queue: ClusterQueue | None, is_admitted: IsAdmitted, now: datetime
) -> Object:
    """The status of a LocalQueue."""
    key = f"{local.metadata.namespace}/{local.metadata.name}"
    name = local.spec.cluster_queue
    held = [item for item in engine.holders.get(name, {}).values() if item.queue == key]
    admitted = [item for item in held if is_admitted(item)]
    state = engine.queue_state(name)
    if local.spec.stop_policy in ("Hold", "HoldAndDrain"):
        state = QueueState(False, "Stopped", "LocalQueue is stopped")
    elif state.reason == "NotFound":
        state = QueueState(False, "ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue")
    elif not state.active:
        state = QueueState(False, "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue")
    else:
        state = QueueState(True, "Ready", "Can submit new workloads to localQueue")
    return {
        "conditions": _active(local, state, now),
        "flavorsReservation": _flavors(queue, _sum(held), borrowed=False) if queue else [],
        "flavorsUsage": _flavors(queue, _sum(admitted), borrowed=False) if queue else [],
        "pendingWorkloads": sum(item.queue == key for item in engine.pending.get(name, ())),
        "reservingWorkloads": len(held),
        "admittedWorkloads": len(admitted),
    }


def _active(queue: ClusterQueue | LocalQueue, state: QueueState, now: datetime) -> list[Object]:
    condition = Condition(
        type=names.ACTIVE,
        status="True" if state.active else "False",
        reason=state.reason,
        message=state.message,
        observed_generation=queue.metadata.generation or None,
    )
    return [msgspec.to_builtins(one) for one in with_condition(queue.status.conditions, condition, now)]


def _sum(items: Iterable[Item]) -> Usage:
    total: Usage = {}
    for item in items:
        for fr, amount in item.usage.items():
            total[fr] = total.get(fr, 0) + amount
    return total


def _flavors(queue: ClusterQueue, usage: dict[FlavorResource, int], *, borrowed: bool) -> list[Object]:
    found: list[Object] = []
    for group in queue.spec.resource_groups or ():
        for flavor in group.flavors:
            resources: list[Object] = []
            for quota in flavor.resources:
                used = usage.get((flavor.name, quota.name), 0)
                entry: Object = {"name": quota.name, "total": text_of(quota.name, used)}
                if borrowed:
                    over = max(0, used - quota_of(quota.name, quota.nominal_quota)) if queue.spec.cohort_name else 0
                    entry["borrowed"] = text_of(quota.name, over)
                resources.append(entry)
            found.append({"name": flavor.name, "resources": resources})
    return found
