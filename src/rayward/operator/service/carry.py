"""Carries out what was decided about a service. Each write may be sent twice: the second one does no harm."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.raycluster import Object, RayCluster
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import AlreadyExists, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.core.meta import controller_of
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import PODS, SERVICES, Resource
from rayward.kube.core.service import Service
from rayward.operator.cluster.pod import RayPod
from rayward.operator.unbroken import Unbroken
from rayward.operator.writing import WRITE, brief

Wrote = Callable[[Resource, KubeObject], None]

_APPLIED: Final = "rayward.dev/applied-for-service"
"""On a Service: a hash of what it was made from. Another mark than that of a cluster's own children: those go when the
cluster's spec does not ask for them."""
_GIVEN: Final = "rayward.dev/given-by-service"
"""On a Service: which labels, annotations and fields were given to it, to be taken away when they no longer are."""
_encoder: Final = msgspec.json.Encoder(order="deterministic")


class Carrier:
    """The writes of one service's run."""

    def __init__(self, client: Client, service: RayService, wrote: Wrote, unbroken: Unbroken) -> None:
        self._client = client
        self._service = service
        self._wrote = wrote
        self._unbroken = unbroken
        self._namespace = service.metadata.namespace

    async def create_cluster(self, body: Object) -> None:
        """Make a Ray cluster; one of its name that is ours already is it."""
        await self._create(RAY_CLUSTERS, body, self._service.metadata.uid)

    async def annotate(self, cluster: RayCluster, annotations: dict[str, str | None]) -> None:
        """Have a Ray cluster remember."""
        change = {"metadata": {"uid": cluster.metadata.uid, "annotations": annotations}}
        await self._patch(RAY_CLUSTERS, cluster.metadata.name, change)

    async def resize(self, cluster: RayCluster, operations: list[Object]) -> None:
        """Change the sizes of a Ray cluster's groups, unless somebody moved the groups meanwhile."""
        await self._patch(RAY_CLUSTERS, cluster.metadata.name, operations, PatchType.JSON)

    async def label_head(self, head: RayPod, value: str) -> None:
        """Let the head take requests, or not."""
        change = {"metadata": {"uid": head.metadata.uid, "labels": {labels.SERVE: value}}}
        await self._patch(PODS, head.metadata.name, change)

    async def bring(self, body: Object, found: Service | None) -> bool:
        """Make a Service, or bring the one that is there to what it should be; whether anything changed."""
        metadata: Object = body["metadata"]
        digest = hashlib.sha256(_encoder.encode(body)).hexdigest()[:16]
        parts: dict[str, Object] = {
            "labels": metadata.get("labels") or {},
            "annotations": metadata.get("annotations") or {},
            "spec": body["spec"],
        }
        given = _encoder.encode({name: sorted(part) for name, part in parts.items()}).decode()
        marked: Object = {**parts["annotations"], _APPLIED: digest, _GIVEN: given}
        if found is None:
            owner: str = metadata["ownerReferences"][0]["uid"]
            await self._create(SERVICES, {**body, "metadata": {**metadata, "annotations": marked}}, owner)
            return True
        selector: dict[str, str] = body["spec"].get("selector", {})
        same = found.metadata.annotation(_APPLIED) == digest and (found.spec.selector or {}) == selector
        if same or found.deleting:
            return False
        before = _given(found)
        change: Object = {
            "metadata": {
                "uid": found.metadata.uid,
                "labels": {**dict.fromkeys(before.get("labels", ())), **parts["labels"]},
                "annotations": {**dict.fromkeys(before.get("annotations", ())), **marked},
            },
            "spec": {**dict.fromkeys(before.get("spec", ())), **body["spec"], "selector": _replaced(found, selector)},
        }
        await self._patch(SERVICES, found.metadata.name, change)
        return True

    async def point(self, found: Service, selector: dict[str, str]) -> bool:
        """Lead a Service to other pods and leave the rest of it alone; whether anything changed."""
        if (found.spec.selector or {}) == selector or found.deleting:
            return False
        change = {"metadata": {"uid": found.metadata.uid}, "spec": {"selector": _replaced(found, selector)}}
        await self._patch(SERVICES, found.metadata.name, change)
        return True

    async def delete(self, resource: Resource, found: KubeObject) -> None:
        """Delete this very object, if it is still there.

        Raises:
            Conflict: Its name is another's by now, or the server is under pressure: the next look finds out.
        """
        request = verbs.delete(
            resource, found.metadata.name, self._namespace, uid=found.metadata.uid, propagation_policy="Background"
        )
        try:
            answer = await self._send(request)
        except NotFound:
            return
        self._wrote(resource, answer)

    async def unfinalize(self, finalizer: str) -> None:
        """Let the service go."""
        metadata = self._service.metadata
        left = [name for name in metadata.finalizers or () if name != finalizer]
        change = {"metadata": {"resourceVersion": metadata.resource_version, "finalizers": left}}
        await self._patch(RAY_SERVICES, metadata.name, change)

    async def forget(self, annotation: str) -> None:
        """Take away a wish of the user's that was fulfilled."""
        metadata = self._service.metadata
        change = {"metadata": {"uid": metadata.uid, "annotations": {annotation: None}}}
        await self._patch(RAY_SERVICES, metadata.name, change)

    async def write_status(self, change: Object) -> KubeObject | None:
        """Tell what is."""
        metadata = self._service.metadata
        request = verbs.patch(
            RAY_SERVICES,
            metadata.name,
            {"metadata": {"uid": metadata.uid}, "status": change},
            PatchType.MERGE,
            self._namespace,
            subresource="status",
            **WRITE,
        )
        try:
            answer = await self._send(request)
        except NotFound:
            return None
        self._wrote(RAY_SERVICES, answer)
        return answer

    async def _create(self, resource: Resource, body: Object, owner: str) -> None:
        request = verbs.create(resource, body, self._namespace, **WRITE)
        try:
            answer = await self._send(request)
        except AlreadyExists:
            found = verbs.get(resource, body["metadata"]["name"], self._namespace)
            answer = await self._send(found)
            controller = controller_of(answer)
            if controller is None or controller.uid != owner:
                raise
        self._wrote(resource, answer)

    async def _patch(self, resource: Resource, name: str, change: Any, how: PatchType = PatchType.MERGE) -> None:
        request = verbs.patch(resource, name, change, how, self._namespace, **WRITE)
        try:
            answer = await self._send(request)
        except NotFound:
            return
        self._wrote(resource, answer)

    async def _send(self, request: Request) -> KubeObject:
        return await self._unbroken(self._client.send_as(brief(request), KubeObject))


def _replaced(found: Service, selector: dict[str, str]) -> dict[str, str | None]:
    """A selector is replaced as a whole: a label that is no longer asked for must not stay in it."""
    return {**dict.fromkeys(found.spec.selector or {}), **selector}


def _given(found: Service) -> dict[str, list[str]]:
    text = found.metadata.annotation(_GIVEN)
    try:
        return msgspec.json.decode(text, type=dict[str, list[str]]) if text else {}
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
