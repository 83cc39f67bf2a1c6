"""The few requests that garbage collection makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import msgspec

from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import DeleteOptions, PatchType
from rayward.kube.client.request import METADATA, Request
from rayward.kube.core.objects import KubeObject, OwnerReference
from rayward.kube.core.resource import Resource
from rayward.local.controllers.catalogue import Catalogue
from rayward.local.controllers.garbage.graph import Node, OwnerState, group_of, node_of

Policy = Literal["Foreground", "Background", "Orphan"]


class Cluster(Protocol):
    """The server as it is now, in contrast to what the watches have told.

    Writes fail with NotFound or Conflict, like all of the API.
    """

    async def owner_state(self, reference: OwnerReference, namespace: str) -> OwnerState:
        """What a reference on an object in ``namespace`` points to; UNKNOWN where nobody can tell."""
        ...

    async def latest(self, node: Node) -> Node | None:
        """The object now, unless it is gone or another one has its name."""
        ...

    async def delete(self, node: Node, policy: Policy, *, only_this_version: bool) -> None:
        """Delete the object with this uid."""
        ...

    async def set_owners(self, node: Node, owners: Sequence[OwnerReference]) -> Node:
        """Replace the owners of exactly this version."""
        ...

    async def set_finalizers(self, node: Node, finalizers: Sequence[str]) -> Node:
        """Replace the finalizers of exactly this version."""
        ...


class ApiCluster:
    def __init__(self, client: Client, catalogue: Catalogue) -> None:
        self._client = client
        self._catalogue = catalogue

    async def owner_state(self, reference: OwnerReference, namespace: str) -> OwnerState:
        """What a reference on an object in ``namespace`` points to."""
        resource = self._catalogue.of_kind(group_of(reference.api_version), reference.kind)
        if resource is None or (resource.namespaced and not namespace):
            # The kind may be served later. A cluster-wide object cannot have an owner in a namespace: it says nothing.
            return OwnerState.UNKNOWN
        owner = await self._get(resource, reference.name, namespace if resource.namespaced else "")
        if owner is None or owner.uid != reference.uid:
            return OwnerState.ABSENT
        return OwnerState.WAITING if owner.waits_for_dependents else OwnerState.SOLID

    async def latest(self, node: Node) -> Node | None:
        found = await self._get(node.resource, node.name, node.namespace)
        return found if found is not None and found.uid == node.uid else None

    async def delete(self, node: Node, policy: Policy, *, only_this_version: bool) -> None:
        """Delete the object with this uid."""
        options = DeleteOptions(propagation_policy=policy, uid=node.uid)
        if only_this_version:
            options["resource_version"] = node.resource_version
        await self._client.answer(verbs.delete(node.resource, node.name, node.namespace or None, **options))

    async def set_owners(self, node: Node, owners: Sequence[OwnerReference]) -> Node:
        """Replace the owners of exactly this version."""
        return await self._patch(node, {"ownerReferences": msgspec.to_builtins(list(owners))})

    async def set_finalizers(self, node: Node, finalizers: Sequence[str]) -> Node:
        """Replace the finalizers of exactly this version."""
        return await self._patch(node, {"finalizers": list(finalizers)})

    async def _patch(self, node: Node, metadata: dict[str, Any]) -> Node:
        body = {"metadata": {"uid": node.uid, "resourceVersion": node.resource_version, **metadata}}
        request = verbs.patch(node.resource, node.name, body, PatchType.MERGE, node.namespace or None)
        return await self._metadata(node.resource, request)

    async def _get(self, resource: Resource, name: str, namespace: str) -> Node | None:
        try:
            return await self._metadata(resource, verbs.get(resource, name, namespace or None))
        except NotFound:
            return None

    async def _metadata(self, resource: Resource, request: Request) -> Node:
        found = await self._client.send_as(msgspec.structs.replace(request, accept=METADATA), KubeObject)
        return node_of(resource, found)
