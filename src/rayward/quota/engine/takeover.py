"""Whether Kueue's manager is at work: two who admit would give the same quota twice."""

from __future__ import annotations

from typing import Final

from rayward.kube.client.api import Client
from rayward.kube.client.errors import Forbidden
from rayward.kube.client.values import as_dict, as_str
from rayward.kube.core.resource import DEPLOYMENTS, LEASES
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.renewal import is_renewed

LEASE: Final = "c1f6bfd2.kueue.x-k8s.io"
"""Kueue's leader election, in whichever namespace it runs."""
_SELECTOR: Final = "app.kubernetes.io/name=kueue"


class KueueIsAliveError(Exception):
    """Kueue's manager is at work; the text says where, and what to run."""


async def ensure_alone(client: Client, clock: Clock = SYSTEM_CLOCK) -> None:
    """Return when nobody else admits workloads here.

    Raises:
        KueueIsAliveError: Kueue's manager does.
    """
    where = await _find(client, clock)
    if where:
        raise KueueIsAliveError(
            f"Kueue's manager is at work ({where} says so), and two who admit workloads would give the same quota "
            "twice: run the gate alone, without the embedded engine, or stop Kueue first: "
            "kubectl -n kueue-system scale deployment kueue-controller-manager --replicas=0"
        )


async def _find(client: Client, clock: Clock) -> str:
    try:
        for found in (await client.list(DEPLOYMENTS, None, label_selector=_SELECTOR)).items:
            if as_dict(found.get("status")).get("readyReplicas"):
                return f"Deployment {_place(found)}"
        for found in (await client.list(LEASES, None, field_selector=f"metadata.name={LEASE}")).items:
            if await is_renewed(client, found, clock):
                return f"Lease {_place(found)}"
    except Forbidden:
        # whoever may not look for it cannot be told; the rights that the engine asks for include it
        return ""
    return ""


def _place(found: Object) -> str:
    meta = as_dict(found.get("metadata"))
    return f"{as_str(meta.get('namespace'))}/{as_str(meta.get('name'))}"
