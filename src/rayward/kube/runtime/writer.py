"""Writes of one object's reconcile.

Every write survives the cancellation of its reconcile, may be sent twice without harm (names, uids and resource
versions say which object is meant), and holds the next reconcile of the same object until the caches show it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import DeleteOptions, PatchType, Propagation, WriteOptions
from rayward.kube.client.request import JSON, METADATA, Request
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import Resource
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.runtime.shield import Shield

T = TypeVar("T", bound=KubeObject)

Wrote = Callable[[Resource, KubeObject], None]
"""Called with each answer; answers carry the resource version that the caches have to reach."""


class Writer:
    """Writes in one namespace under one field manager."""

    def __init__(self, client: Client, namespace: str, options: WriteOptions, shield: Shield, wrote: Wrote) -> None:
        self._client = client
        self._namespace = namespace
        self._options = options
        self._shield = shield
        self._wrote = wrote

    async def get(self, resource: Resource, name: str, kind: type[T] = KubeObject) -> T:
        """Read past the caches; a plain ``KubeObject`` costs the server its metadata alone."""
        return await self._send(verbs.get(resource, name, self._namespace), kind)

    async def create(self, resource: Resource, body: Object, kind: type[T] = KubeObject) -> T:
        """Create an object.

        Raises:
            AlreadyExists: There is one of this name; whose it is, the caller finds out.
        """
        request = verbs.create(resource, body, self._namespace, **self._options)
        return self._written(resource, await self._send(request, kind))

    async def patch(
        self, resource: Resource, name: str, change: Any, how: PatchType = PatchType.MERGE, subresource: str = ""
    ) -> KubeObject | None:
        """Patch an object; None where there is none of this name."""
        request = verbs.patch(
            resource, name, change, how, self._namespace, subresource=subresource or None, **self._options
        )
        try:
            answer = await self._send(request, KubeObject)
        except NotFound:
            return None
        return self._written(resource, answer)

    async def patch_status(
        self, resource: Resource, about: KubeObject, change: Object, *, wait: bool
    ) -> KubeObject | None:
        """Merge into the status of this very object; None where it is gone.

        ``wait`` is for kinds whose decisions read their own status. Others save a round through the cache, and keep
        what they wrote until it is there.
        """
        metadata = about.metadata
        body = {"metadata": {"uid": metadata.uid}, "status": change}
        request = verbs.patch(
            resource, metadata.name, body, PatchType.MERGE, self._namespace, subresource="status", **self._options
        )
        try:
            answer = await self._send(request, KubeObject)
        except NotFound:
            return None
        return self._written(resource, answer) if wait else answer

    async def set_finalizers(self, resource: Resource, about: KubeObject, finalizers: Sequence[str]) -> bool:
        """Replace the finalizers of an object that has not changed since it was read; False where it is gone."""
        metadata = about.metadata
        change = {"metadata": {"resourceVersion": metadata.resource_version, "finalizers": list(finalizers)}}
        return await self.patch(resource, metadata.name, change) is not None

    async def delete(self, resource: Resource, name: str, uid: str, propagation: Propagation | None = None) -> bool:
        """Delete this very object; False where it is gone already.

        Raises:
            Conflict: The name is another object's by now, or the server is under pressure.
        """
        options = DeleteOptions(uid=uid)
        if propagation is not None:
            options["propagation_policy"] = propagation
        try:
            answer = await self._send(verbs.delete(resource, name, self._namespace, **options), KubeObject)
        except NotFound:
            return False
        self._wrote(resource, answer)
        return True

    def seen(self, resource: Resource, answer: KubeObject) -> None:
        """Wait for ``answer`` as for a write of this reconcile: the same write was made by an earlier one."""
        self._wrote(resource, answer)

    def _written(self, resource: Resource, answer: T) -> T:
        self._wrote(resource, answer)
        return answer

    async def _send(self, request: Request, kind: type[T]) -> T:
        accept = METADATA if kind is KubeObject else JSON
        whole = msgspec.structs.replace(request, repeatable=True, accept=accept)
        return await self._shield(self._client.send_as(whole, kind))
