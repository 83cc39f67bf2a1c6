"""What the pods of a RayService or RayCluster request together, as the server lists and tells it."""

from __future__ import annotations

from dataclasses import dataclass, field

from rayward.changes.costs import Amounts, added, most
from rayward.kube.client.watch import Change, ChangeType
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import PODS
from rayward.kube.machinery import quantity
from rayward.kube.machinery.podrequests import pod_requests
from tests.operator.stage import Object, Stage


async def requested(ray: Stage, name: str) -> dict[str, str]:
    """Of the pods that nobody deletes; those of an object have names that begin with its own."""
    found: Amounts = {}
    for pod in await ray.pods():
        if pod["metadata"]["name"].startswith(f"{name}-"):
            found = added(found, _cost(pod))
    return shown(found)


def shown(amounts: Amounts) -> dict[str, str]:
    """Amounts that can be compared."""
    return {name: str(amount) for name, amount in sorted(amounts.items()) if not amount.is_zero}


def _cost(pod: Object) -> Amounts:
    return {**pod_requests(pod["spec"]), "pods": quantity.parse(1)}


@dataclass(slots=True)
class Peaks:
    """The most that the pods of each object requested at once, by every change that a watch told."""

    _pods: dict[str, dict[str, Amounts]] = field(default_factory=dict[str, dict[str, Amounts]])
    _most: dict[str, Amounts] = field(default_factory=dict[str, Amounts])

    async def follow(self, ray: Stage) -> None:
        """Until cancelled."""
        while True:
            async with ray.client.watch(PODS, KubeObject, ray.namespace, send_initial_events=True) as events:
                async for event in events:
                    if isinstance(event, Change):
                        self._told(event.whole(), gone=event.type is ChangeType.DELETED)

    def begin(self, name: str) -> None:
        """Count anew from what there is now."""
        self._most[name] = self._now(name)

    def of(self, name: str) -> Amounts:
        return self._most[name]

    def _told(self, pod: Object, *, gone: bool) -> None:
        name = pod["metadata"]["name"].partition("-")[0]
        pods = self._pods.setdefault(name, {})
        if gone or pod["metadata"].get("deletionTimestamp"):
            pods.pop(pod["metadata"]["uid"], None)
        else:
            pods[pod["metadata"]["uid"]] = _cost(pod)
        self._most[name] = most(self._most.get(name, {}), self._now(name))

    def _now(self, name: str) -> Amounts:
        found: Amounts = {}
        for cost in self._pods.get(name, {}).values():
            found = added(found, cost)
        return found
