"""Lease, whole: leader election writes back all it read."""

from __future__ import annotations

from rayward.kube.core.objects import KubeObject, Slim


class LeaseSpec(Slim, frozen=True, gc=False):
    """Who holds it, since when, and for how long."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


_FREE = LeaseSpec()


class Lease(KubeObject, frozen=True, gc=False):
    spec: LeaseSpec = _FREE
