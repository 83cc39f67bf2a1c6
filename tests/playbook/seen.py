"""What watches tell of a namespace, kept: a test asks that instead of the server, and is woken when it changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from rayward.changes.costs import Amounts, added, most
from rayward.kinds import labels
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import PODS, SERVICES, Resource
from rayward.kube.machinery import quantity
from rayward.kube.machinery.podrequests import pod_requests
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.reflector import Reflector
from tests.operator.stage import PATIENCE, Object, Stage, condition

Pods = dict[str, set[str]]
"""The uids of pods that nobody deletes, by group."""
_NOTHING: Final[Object] = {}


def shown(amounts: Amounts) -> dict[str, str]:
    """Amounts that can be compared."""
    return {name: str(amount) for name, amount in sorted(amounts.items()) if not amount.is_zero}


def of_cluster(pods: list[Object], cluster: str) -> list[Object]:
    """Those of one RayCluster that nobody deletes."""
    return [
        pod
        for pod in pods
        if pod["metadata"]["labels"].get(labels.CLUSTER) == cluster and "deletionTimestamp" not in pod["metadata"]
    ]


def by_group(pods: list[Object]) -> Pods:
    """Who is there, of each group."""
    found: Pods = {}
    for pod in pods:
        found.setdefault(pod["metadata"]["labels"][labels.GROUP], set()).add(pod["metadata"]["uid"])
    return found


class Seen:
    """Objects of one namespace as their watches told them last.

    What belongs to an object of a test has a name that begins with its own, and a dash.
    """

    def __init__(self, ray: Stage) -> None:
        self.outages: set[str] = set()
        """RayServices that were not Ready at a moment."""
        self._stage = ray
        self._caches = {each: Cache(each, KubeObject) for each in (PODS, SERVICES, RAY_CLUSTERS, RAY_SERVICES)}
        self._read: dict[tuple[Resource, str], Object] = {}
        self._pods: dict[str, dict[str, Object]] = {}
        self._most: dict[str, Amounts] = {}
        self._woken: dict[str, asyncio.Event] = {}
        for resource, cache in self._caches.items():
            cache.subscribe(lambda old, new, r=resource: self._told(r, old, new))

    async def follow(self) -> None:
        """Until cancelled."""
        reflectors = [
            Reflector(self._stage.client, each, namespace=self._stage.namespace) for each in self._caches.values()
        ]
        await asyncio.gather(*(each.run() for each in reflectors))

    def cluster(self, name: str) -> Object:
        """Empty if there is none; so with the next two."""
        return self._read.get((RAY_CLUSTERS, name), _NOTHING)

    def service(self, name: str) -> Object:
        return self._read.get((RAY_SERVICES, name), _NOTHING)

    def serving(self, name: str) -> str:
        """The cluster that gets a RayService's requests."""
        found = self._read.get((SERVICES, f"{name}-serve-svc"))
        return found["spec"]["selector"][labels.CLUSTER] if found else ""

    def pods(self, cluster: str) -> Pods:
        """Those of one RayCluster."""
        return by_group(of_cluster(list(self._pods.get(_owner(cluster), {}).values()), cluster))

    def requested(self, name: str) -> Amounts:
        """By all pods of an object together."""
        found: Amounts = {}
        for pod in self._pods.get(name, {}).values():
            found = added(found, {**pod_requests(pod["spec"]), "pods": quantity.parse(1)})
        return found

    def begin(self, name: str) -> None:
        """Look for its peak and for outages anew."""
        self._most[name] = self.requested(name)
        self.outages.discard(name)

    def peak(self, name: str) -> Amounts:
        """The most that its pods requested at once since then, by every change that was told."""
        return self._most[name]

    async def until(self, name: str, holds: Callable[[], bool]) -> None:
        """Wait until something is so of an object; asked again when something of its was told."""
        woken = self._woken.setdefault(name, asyncio.Event())
        try:
            async with asyncio.timeout(PATIENCE):
                while not holds():
                    woken.clear()
                    await woken.wait()
        except TimeoutError:
            raise AssertionError(f"{name} did not become so; there is {self._scene(name)}") from None

    def _told(self, resource: Resource, old: KubeObject | None, new: KubeObject | None) -> None:
        key = (new or old or KubeObject()).metadata.key
        whole = self._caches[resource].whole(key) if new is not None else None
        if whole is None:
            self._read.pop((resource, key.name), None)
        else:
            self._read[resource, key.name] = whole
        name = _owner(key.name)
        if resource is PODS:
            self._told_pod(name, key, whole)
        elif resource is RAY_SERVICES and condition(whole or {}, "Ready").get("status") == "False":
            self.outages.add(name)
        self._woken.setdefault(name, asyncio.Event()).set()

    def _told_pod(self, name: str, key: Key, pod: Object | None) -> None:
        pods = self._pods.setdefault(name, {})
        if pod is None or pod["metadata"].get("deletionTimestamp"):
            pods.pop(key.name, None)
            return
        fresh = key.name not in pods
        pods[key.name] = pod
        if fresh:
            self._most[name] = most(self._most.get(name, {}), self.requested(name))

    def _scene(self, name: str) -> list[object]:
        owned = [(key[0].kind, key[1], one) for key, one in self._read.items() if _owner(key[1]) == name]
        return [
            (kind, each, one["metadata"].get("deletionTimestamp"), one.get("status") if kind != "Pod" else "")
            for kind, each, one in owned
        ]


def _owner(name: str) -> str:
    return name.partition("-")[0]
