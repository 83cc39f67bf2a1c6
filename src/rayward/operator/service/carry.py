"""Carries out what was decided about a service. Each write may be sent twice: the second one does no harm."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.raycluster import Object, RayCluster
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.errors import AlreadyExists
from rayward.kube.client.options import PatchType
from rayward.kube.core.meta import controller_of
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import PODS, SERVICES, Resource
from rayward.kube.core.service import Service
from rayward.kube.runtime.writer import Writer
from rayward.operator.cluster.pod import RayPod

_APPLIED: Final = "rayward.dev/applied-for-service"
"""On a Service: a hash of what it was made from. Another mark than that of a cluster's own children: those go when the
cluster's spec does not ask for them."""
_GIVEN: Final = "rayward.dev/given-by-service"
"""On a Service: which labels, annotations and fields were given to it, to be taken away when they no longer are."""
_encoder: Final = msgspec.json.Encoder(order="deterministic")


class Carrier:
    """The writes of one service's run."""

    def __init__(self, writer: Writer, service: RayService) -> None:
        self._writer = writer
        self._service = service

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
        await self._writer.delete(resource, found.metadata.name, found.metadata.uid, "Background")

    async def unfinalize(self, finalizer: str) -> None:
        """Let the service go."""
        left = [name for name in self._service.metadata.finalizers or () if name != finalizer]
        await self._writer.set_finalizers(RAY_SERVICES, self._service, left)

    async def forget(self, annotation: str) -> None:
        """Take away a wish of the user's that was fulfilled."""
        metadata = self._service.metadata
        change = {"metadata": {"uid": metadata.uid, "annotations": {annotation: None}}}
        await self._patch(RAY_SERVICES, metadata.name, change)

    async def write_status(self, change: Object) -> None:
        """Tell what is."""
        await self._writer.patch_status(RAY_SERVICES, self._service, change, wait=True)

    async def _create(self, resource: Resource, body: Object, owner: str) -> None:
        try:
            await self._writer.create(resource, body)
        except AlreadyExists:
            found = await self._writer.get(resource, body["metadata"]["name"])
            controller = controller_of(found)
            if controller is None or controller.uid != owner:
                raise
            self._writer.seen(resource, found)

    async def _patch(self, resource: Resource, name: str, change: Any, how: PatchType = PatchType.MERGE) -> None:
        await self._writer.patch(resource, name, change, how)


def _replaced(found: Service, selector: dict[str, str]) -> dict[str, str | None]:
    """A selector is replaced as a whole: a label that is no longer asked for must not stay in it."""
    return {**dict.fromkeys(found.spec.selector or {}), **selector}


def _given(found: Service) -> dict[str, list[str]]:
    text = found.metadata.annotation(_GIVEN)
    try:
        return msgspec.json.decode(text, type=dict[str, list[str]]) if text else {}
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
