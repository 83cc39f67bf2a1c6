"""When clusters that neither serve nor will serve are deleted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from rayward.operator.service.state import AnnotationChange, ChildCluster, Policy


@dataclass(frozen=True, slots=True)
class Retirement:
    """What happens to the clusters that are left over."""

    annotate: tuple[AnnotationChange, ...] = ()
    delete: tuple[str, ...] = ()
    requeue_at: datetime | None = None


def decide(others: Iterable[ChildCluster], policy: Policy, now: datetime) -> Retirement:
    """A cluster that never took traffic is deleted at once; another one after the delay, and when it is drained."""
    changes: list[AnnotationChange] = []
    delete: list[str] = []
    times: list[datetime] = []
    for cluster in others:
        if not cluster.promoted:
            delete.append(cluster.name)
        elif cluster.delete_at is None:
            changes.append(AnnotationChange(cluster.name, delete_at=now + policy.deletion_delay))
            times.append(now + policy.deletion_delay)
        elif now < cluster.delete_at:
            times.append(cluster.delete_at)
        elif cluster.in_flight and now < cluster.delete_at + policy.drain_timeout:
            times.append(cluster.delete_at + policy.drain_timeout)
        else:
            delete.append(cluster.name)
    return Retirement(tuple(changes), tuple(delete), min(times, default=None))
