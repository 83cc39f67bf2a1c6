"""Removes and counts what is in a namespace."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError, MethodNotAllowed, NotFound
from rayward.kube.client.lists import PAGE_SIZE
from rayward.kube.client.request import METADATA_LIST
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import PODS, Resource
from rayward.local.controllers.catalogue import Catalogue, Served
from rayward.local.controllers.namespaces.conditions import Remains
from rayward.net.errors import NetworkError

_AT_ONCE: Final = 8


class _ListMeta(msgspec.Struct, rename="camel"):
    remaining_item_count: int | None = None


class _List(msgspec.Struct):
    metadata: _ListMeta
    items: tuple[KubeObject, ...] | None = None
    """kube-apiserver says null for none."""


_LISTS: Final = msgspec.json.Decoder(_List)


class _Found(msgspec.Struct, frozen=True):
    resource: Resource
    instances: int = 0
    finalizers: tuple[str, ...] = ()
    failure: str = ""


class Contents:
    """The contents of any namespace."""

    def __init__(self, client: Client, catalogue: Catalogue) -> None:
        self._client = client
        self._catalogue = catalogue

    async def remove(self, namespace: str) -> Remains:
        """Ask for the deletion of everything, and say what is still there.

        Pods go first: what they use must not go before them (KEP-5080).
        """
        discovery_failure = ""
        try:
            await self._catalogue.refresh(self._client)
        except (ApiError, NetworkError) as error:
            discovery_failure = str(error)
        served = [found for found in self._catalogue if found.resource.namespaced and found.can("delete", "list")]
        pods = [found for found in served if _is_pods(found)]
        remains = await self._remove_all(pods, namespace)
        if not any(found.instances for found in remains):
            rest = [found for found in served if not _is_pods(found)]
            remains = [*remains, *await self._remove_all(rest, namespace)]
        return _summary(remains, discovery_failure)

    async def _remove_all(self, served: Sequence[Served], namespace: str) -> list[_Found]:
        turns = asyncio.Semaphore(_AT_ONCE)

        async def remove(each: Served) -> _Found:
            async with turns:
                try:
                    return await self._remove(each, namespace)
                except (ApiError, NetworkError) as error:
                    return _Found(each.resource, failure=str(error))

        return await asyncio.gather(*(remove(each) for each in served))

    async def _remove(self, served: Served, namespace: str) -> _Found:
        found = await self._list(served.resource, namespace)
        if not found.instances:
            return found
        if served.can("deletecollection"):
            await self._client.delete_collection(served.resource, namespace, propagation_policy="Background")
        else:
            await self._delete_each(served.resource, namespace)
        return await self._list(served.resource, namespace)

    async def _delete_each(self, resource: Resource, namespace: str) -> None:
        for item in (await self._client.list(resource, namespace)).items:
            try:
                await self._client.delete(
                    resource, item["metadata"]["name"], namespace, propagation_policy="Background"
                )
            except NotFound:
                continue

    async def _list(self, resource: Resource, namespace: str) -> _Found:
        request = verbs.list_(resource, namespace, accept=METADATA_LIST, limit=PAGE_SIZE)
        try:
            answer = _LISTS.decode((await self._client.answer(request)).body)
        except (NotFound, MethodNotAllowed):
            return _Found(resource)
        items = answer.items or ()
        finalizers = tuple(name for item in items for name in item.metadata.finalizers or ())
        return _Found(resource, len(items) + (answer.metadata.remaining_item_count or 0), finalizers)


def _is_pods(served: Served) -> bool:
    return (served.resource.group, served.resource.plural) == (PODS.group, PODS.plural)


def _summary(found: Iterable[_Found], discovery_failure: str) -> Remains:
    found = tuple(found)
    return Remains(
        {each.resource: each.instances for each in found if each.instances},
        dict(Counter(name for each in found for name in each.finalizers)),
        tuple(each.failure for each in found if each.failure),
        discovery_failure,
    )
