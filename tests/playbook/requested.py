"""What the pods of a RayService or RayCluster request together, as the server lists them."""

from __future__ import annotations

from rayward.changes.costs import Amounts, added
from rayward.kube.machinery import quantity
from rayward.kube.machinery.podrequests import pod_requests
from tests.operator.stage import Stage


async def requested(ray: Stage, name: str) -> dict[str, str]:
    """Of the pods that nobody deletes; those of an object have names that begin with its own."""
    found: Amounts = {}
    for pod in await ray.pods():
        if pod["metadata"]["name"].startswith(f"{name}-"):
            found = added(found, {**pod_requests(pod["spec"]), "pods": quantity.parse(1)})
    return shown(found)


def shown(amounts: Amounts) -> dict[str, str]:
    """Amounts that can be compared."""
    return {name: str(amount) for name, amount in sorted(amounts.items()) if not amount.is_zero}
