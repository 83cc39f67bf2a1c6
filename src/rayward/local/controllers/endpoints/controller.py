"""Keeps the EndpointSlices and Endpoints of every service true."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final, Never

from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import AlreadyExists, Forbidden, NotFound
from rayward.kube.client.request import Request
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import ENDPOINT_SLICES, Resource
from rayward.kube.runtime.cache import Cache, by_label
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.local.controllers.endpoints import legacy, slices
from rayward.local.controllers.endpoints.service import SelectingService
from rayward.local.controllers.endpoints.slices import MANAGER, MANAGER_LABEL, SERVICE_LABEL
from rayward.local.controllers.endpoints.trigger import Seen, last_change
from rayward.local.controllers.pods import SeenPod

ENDPOINTS: Final = Resource("", "v1", "endpoints", "Endpoints")
_ZONE: Final = "topology.kubernetes.io/zone"
_BY_SERVICE: Final = "service"


def slice_cache() -> Cache[KubeObject]:
    """A cache of slices in which those of a service are found."""
    return Cache(ENDPOINT_SLICES, KubeObject, indexes={_BY_SERVICE: by_label(SERVICE_LABEL)})


class EndpointsController:
    """Makes the endpoints of services from pods, as soon as a pod changes."""

    def __init__(
        self,
        client: Client,
        *,
        services: Cache[SelectingService],
        pods: Cache[SeenPod],
        nodes: Cache[KubeObject],
        slices: Cache[KubeObject],
        endpoints: Cache[KubeObject],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._client = client
        self._services = services
        self._pods = pods
        self._nodes = nodes
        self._slices = slices
        self._endpoints = endpoints
        self._seen: dict[Key, Seen] = {}
        self._controller = Controller("endpoints", self._reconcile, workers=8, clock=clock)
        self._controller.watch(services)
        self._controller.watch(pods, self._services_of_pod)
        self._controller.watch(nodes, self._services_on_node)
        self._controller.watch(slices, _service_of_slice)
        self._controller.watch(endpoints, self._service_of_endpoints)

    async def run(self) -> Never:
        await self._controller.run()

    async def _reconcile(self, key: Key) -> Result:
        service = self._services.get(key)
        if service is None:
            self._seen.pop(key, None)
            await self._remove_left_over(key)
            return DONE
        if not service.has_endpoints:
            return DONE
        pods = [pod for pod in self._pods.in_namespace(key.namespace) if service.selects(pod.metadata.labels)]
        self._seen[key], trigger = last_change(self._seen.get(key), service, pods)
        zones = {node.metadata.name: node.metadata.label(_ZONE) for node in self._nodes}
        plan = slices.plan(service, pods, zones, self._slices_of(key), trigger)
        older = legacy.wanted(service, pods, self._endpoints.whole(key), trigger)
        writes = [
            *(self._create(key, self._slices, made) for made in plan.create),
            *(self._update(key, self._slices, made) for made in plan.update),
            *(self._delete(ENDPOINT_SLICES, Key(key.namespace, name)) for name in plan.delete),
        ]
        if older is not None and not service.deleting:
            write = self._update if "uid" in older["metadata"] else self._create
            writes.append(write(key, self._endpoints, older))
        # Together, and none is given up because another was refused.
        for outcome in await asyncio.gather(*writes, return_exceptions=True):
            if outcome is not None:
                raise outcome
        return DONE

    def _slices_of(self, key: Key) -> Iterable[dict[str, Any]]:
        for found in self._slices.find(_BY_SERVICE, str(key)):
            if found.metadata.label(MANAGER_LABEL) == MANAGER and (whole := self._slices.whole(found.key)) is not None:
                yield whole

    async def _remove_left_over(self, key: Key) -> None:
        present = self._endpoints.whole(key)
        if present is not None and legacy.may_go(present):
            await self._delete(ENDPOINTS, key)

    async def _create(self, writer: Key, cache: Cache[KubeObject], made: dict[str, Any]) -> None:
        try:
            await self._write(writer, cache, verbs.create(cache.resource, made, writer.namespace))
        except (AlreadyExists, NotFound):
            # Made by another, or the namespace went: a watch tells.
            return
        except Forbidden as error:
            if not error.has_cause("NamespaceTerminating"):
                raise

    async def _update(self, writer: Key, cache: Cache[KubeObject], made: dict[str, Any]) -> None:
        request = verbs.update(cache.resource, made, made["metadata"]["name"], writer.namespace)
        await self._write(writer, cache, request)

    async def _write(self, writer: Key, cache: Cache[KubeObject], request: Request) -> None:
        self._controller.wrote(writer, cache, await self._client.send_as(request, KubeObject))

    async def _delete(self, resource: Resource, key: Key) -> None:
        try:
            await self._client.delete(resource, key.name, key.namespace)
        except NotFound:
            return

    def _services_of_pod(self, old: SeenPod | None, new: SeenPod | None) -> Iterable[Key]:
        if old is not None and new is not None and _view(old) == _view(new):
            return ()
        pods = [pod for pod in (old, new) if pod is not None]
        return {
            service.key
            for service in self._services.in_namespace(pods[0].metadata.namespace)
            if any(service.selects(pod.metadata.labels) for pod in pods)
        }

    def _service_of_endpoints(self, old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
        key = (new or old or KubeObject()).key
        # Those that come before their service are left alone; those that were there at the start, and have none, go.
        return () if self._endpoints.synced and key not in self._services else (key,)

    def _services_on_node(self, old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
        if old is not None and new is not None and old.metadata.label(_ZONE) == new.metadata.label(_ZONE):
            return ()
        name = (new or old or KubeObject()).metadata.name
        on_node = [pod for pod in self._pods if pod.spec.node_name == name]
        return {key for pod in on_node for key in self._services_of_pod(None, pod)}


def _view(pod: SeenPod) -> tuple[object, ...]:
    """All of a pod that its endpoints show."""
    metadata, spec = pod.metadata, pod.spec
    return (
        *(metadata.uid, metadata.labels, pod.deleting, pod.ready, pod.over),
        *(pod.addresses, pod.status.pod_ip, spec.node_name, spec.hostname, spec.subdomain),
    )


def _service_of_slice(old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
    found = [made for made in (old, new) if made is not None and made.metadata.label(SERVICE_LABEL)]
    return {Key(made.metadata.namespace, made.metadata.label(SERVICE_LABEL)) for made in found}
