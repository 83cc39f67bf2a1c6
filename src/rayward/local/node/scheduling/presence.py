"""Whether a node is there for pods."""

from __future__ import annotations

from datetime import datetime, timedelta

from rayward.kube.core.lease import Lease
from rayward.kube.core.meta import parse_time
from rayward.kube.core.node import Node


def is_ready(node: Node, lease: Lease | None, now: datetime) -> bool:
    """Whether a node says that it is ready, and said lately that it lives; one that says nothing of it is taken."""
    said = next((found.status for found in node.status.conditions or () if found.type == "Ready"), "True")
    return said == "True" and not (lease is not None and _expired(lease, now))


def _expired(lease: Lease, now: datetime) -> bool:
    renewed, seconds = lease.spec.renew_time, lease.spec.lease_duration_seconds
    if renewed is None or seconds is None:
        return False
    return now > parse_time(renewed) + timedelta(seconds=seconds)
