"""A queue that covers the nodes there are, for who has not set up any: a laptop's default queue.

ResourceFlavor and ClusterQueue follow what the nodes can allocate, and every namespace gets a LocalQueue. Objects of
these names that carry no label of ours are somebody's own, and left alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final

from rayward.kinds import labels
from rayward.kinds.kueue import ClusterQueue, LocalQueue, ResourceFlavor
from rayward.kinds.resources import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS
from rayward.kube.client import verbs
from rayward.kube.client.errors import ApiError, NotFound
from rayward.kube.core.objects import Key, KubeObject, Slim
from rayward.kube.core.rbac import READ, rule
from rayward.kube.core.resource import NAMESPACES, NODES, Resource
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.machinery.podrequests import amounts
from rayward.kube.machinery.quantity import ZERO, Quantity, QuantityError
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.registry import Environment, Registration, Source
from rayward.kube.runtime.shield import DRAIN_SECONDS, Shield
from rayward.quota.sources import ALL_CLUSTER_QUEUES, ALL_FLAVORS, ALL_LOCAL_QUEUES

NAME: Final = "machine-queue"
MANAGED: Final = labels.MACHINE_QUEUE
"""A label on what this controller made."""
_MANAGER: Final = "rayward-machine-queue"
_MACHINE: Final = Key("", "")
_NOT_COUNTED: Final = ("pods",)
"""Kueue counts pods by itself where a queue covers them; a node's limit on them is no quota."""
_SYSTEM: Final = ("kube-", "rayward-system")


class _NodeStatus(Slim, frozen=True, gc=False):
    allocatable: dict[str, str | int | float] | None = None


_NO_STATUS: Final = _NodeStatus()


class _Node(KubeObject, frozen=True, gc=False):
    status: _NodeStatus = _NO_STATUS


_NODES: Final = Source(NODES, _Node)
_NAMESPACES: Final = Source(NAMESPACES, KubeObject, metadata_only=True)


def cluster_queue(name: str, nodes: Iterable[Object]) -> Object:
    """A ClusterQueue with all that nodes can allocate, each given by its ``status.allocatable``."""
    total: dict[str, Quantity] = {"cpu": ZERO, "memory": ZERO}
    for allocatable in nodes:
        try:
            found = amounts(allocatable)
        except QuantityError:
            continue
        for resource, amount in found.items():
            if resource not in _NOT_COUNTED:
                total[resource] = total.get(resource, ZERO) + amount
    resources = [{"name": each, "nominalQuota": str(amount)} for each, amount in sorted(total.items())]
    spec: Object = {
        "namespaceSelector": {},
        "queueingStrategy": "BestEffortFIFO",
        "resourceGroups": [{"coveredResources": sorted(total), "flavors": [{"name": name, "resources": resources}]}],
    }
    return {**_object(CLUSTER_QUEUES, name), "spec": spec}


class MachineQueue:
    """Keeps the queue in step with nodes and namespaces."""

    def __init__(self, environment: Environment, name: str) -> None:
        self._name = name
        self._client = environment.client
        self._shield = Shield()
        cache = environment.informers.cache
        self._nodes = cache(_NODES)
        self._namespaces = cache(_NAMESPACES)
        self._flavors = cache(ALL_FLAVORS)
        self._cluster_queues = cache(ALL_CLUSTER_QUEUES)
        self._local_queues = cache(ALL_LOCAL_QUEUES)
        self.controller = Controller(
            NAME, self._reconcile, workers=2, observer=environment.observer, clock=environment.clock
        )
        self.background: Sequence[Callable[[], Awaitable[Any]]] = ()
        self.controller.watch(self._nodes, lambda old, new: (_MACHINE,))
        self.controller.watch(self._cluster_queues, lambda old, new: (_MACHINE,))
        self.controller.watch(self._namespaces)
        self.controller.watch(self._local_queues, _namespace_of)

    async def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Wait for the answers to what was sent."""
        await self._shield.drain(seconds)

    async def _reconcile(self, key: Key) -> Result:
        if key == _MACHINE:
            await self._cover()
        elif (namespace := self._namespaces.get(key)) is not None and not namespace.deleting:
            await self._admit(key.name)
        return DONE

    async def _cover(self) -> None:
        key = Key("", self._name)
        if len(self._nodes) == 0 or not _is_ours(self._cluster_queues.get(key)):
            return
        if self._flavors.get(key) is None:
            await self._apply(RESOURCE_FLAVORS, {**_object(RESOURCE_FLAVORS, self._name), "spec": {}}, ResourceFlavor)
        wanted = cluster_queue(self._name, [dict(node.status.allocatable or {}) for node in self._nodes])
        found = self._cluster_queues.get(key)
        if found is None or _covers(found) != _wanted(wanted):
            await self._apply(CLUSTER_QUEUES, wanted, ClusterQueue)

    async def _admit(self, namespace: str) -> None:
        if namespace.startswith(_SYSTEM) or self._local_queues.get(Key(namespace, self._name)) is not None:
            return
        body = {**_object(LOCAL_QUEUES, self._name, namespace), "spec": {"clusterQueue": self._name}}
        try:
            await self._apply(LOCAL_QUEUES, body, LocalQueue)
        except NotFound:
            # the namespace is gone
            return
        except ApiError as error:
            if "being terminated" not in error.message:
                raise

    async def _apply(self, resource: Resource, body: Object, kind: type[KubeObject]) -> None:
        request = verbs.apply(resource, body, _MANAGER, force=True)
        await self._shield(self._client.send_as(request, kind))


def registration(name: str) -> Registration:
    """The entry; ``name`` is of the flavor, the ClusterQueue and each LocalQueue."""

    def build(environment: Environment, metrics: object) -> MachineQueue:
        del metrics
        return MachineQueue(environment, name)

    return Registration(
        name=NAME,
        resource=CLUSTER_QUEUES,
        component=NAME,
        rules=(
            rule((*READ, "create", "patch"), RESOURCE_FLAVORS, CLUSTER_QUEUES, LOCAL_QUEUES),
            rule(READ, NODES, NAMESPACES),
        ),
        build=build,
    )


def _namespace_of(old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
    found = new or old
    return (Key("", found.metadata.namespace),) if found is not None else ()


def _is_ours(found: KubeObject | None) -> bool:
    return found is None or bool(found.metadata.label(MANAGED))


def _covers(found: ClusterQueue) -> dict[str, str]:
    return {
        quota.name: str(quota.nominal_quota)
        for group in found.spec.resource_groups or ()
        for flavor in group.flavors
        for quota in flavor.resources
    }


def _wanted(body: Object) -> dict[str, str]:
    resources: list[Object] = body["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    return {one["name"]: one["nominalQuota"] for one in resources}


def _object(resource: Resource, name: str, namespace: str = "") -> Object:
    place = {"namespace": namespace} if namespace else {}
    metadata = {"name": name, **place, "labels": {MANAGED: "true"}}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
