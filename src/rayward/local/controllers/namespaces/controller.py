"""Deletes namespaces that are asked to go."""

from __future__ import annotations

from typing import Any, Final, Never

import msgspec

from rayward.kube.client.api import Client
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.client.values import as_dict, as_list
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import NAMESPACES, Resource
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.local.controllers.monitors import Monitors
from rayward.local.controllers.namespaces.conditions import Remains, conditions
from rayward.local.controllers.namespaces.contents import Contents
from rayward.local.controllers.namespaces.namespace import Namespace

FINALIZER: Final = "kubernetes"
# A create that the server let in just before the namespace was deleted is stored by then.
_GRACE_SECONDS: Final = 0.1
# Whatever goes tells of it, but a kind that is not watched does not.
_LOOK_AGAIN: Final = Result(requeue_after=5.0)


class NamespaceController:
    """Empties namespaces, then lets them go."""

    def __init__(
        self, client: Client, namespaces: Cache[Namespace], monitors: Monitors, *, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._client = client
        self._namespaces = namespaces
        self._contents = Contents(client, monitors.catalogue)
        self._clock = clock
        self._controller = Controller("namespace deletion", self._reconcile, workers=4, clock=clock)
        namespaces.subscribe(self._changed)
        monitors.subscribe(self._content_changed)

    async def run(self) -> Never:
        await self._controller.run()

    def _changed(self, old: Namespace | None, new: Namespace | None) -> None:
        if new is not None and new.deleting:
            self._controller.add(new.key, after=_GRACE_SECONDS)

    def _content_changed(self, resource: Resource, old: KubeObject | None, new: KubeObject | None) -> None:
        if new is None and old is not None and resource.namespaced:
            key = Key("", old.metadata.namespace)
            namespace = self._namespaces.get(key)
            if namespace is not None and namespace.deleting:
                self._controller.add(key)

    async def _reconcile(self, key: Key) -> Result:
        namespace = self._namespaces.get(key)
        if namespace is None or not namespace.deleting or FINALIZER not in namespace.spec.finalizers:
            return DONE
        remains = await self._contents.remove(key.name)
        try:
            await self._tell(namespace, remains)
            if not remains.empty:
                return _LOOK_AGAIN
            await self._finalize(key)
        except NotFound:
            return DONE
        return DONE

    async def _tell(self, namespace: Namespace, remains: Remains) -> None:
        status = namespace.status
        after = conditions(status.conditions, remains, self._clock.utc())
        if after == status.conditions and status.phase == "Terminating":
            return
        body = {
            "metadata": {"uid": namespace.metadata.uid},
            "status": {"phase": "Terminating", "conditions": msgspec.to_builtins(after)},
        }
        await self._client.patch(NAMESPACES, namespace.metadata.name, body, PatchType.MERGE, subresource="status")

    async def _finalize(self, key: Key) -> None:
        namespace = await self._client.get(NAMESPACES, key.name)
        await self._client.update(NAMESPACES, without_finalizer(namespace), subresource="finalize")


def without_finalizer(namespace: dict[str, Any]) -> dict[str, Any]:
    """The namespace as it is sent to be let go."""
    spec = as_dict(namespace.get("spec"))
    kept = [name for name in as_list(spec.get("finalizers")) if name != FINALIZER]
    return {**namespace, "spec": {**spec, "finalizers": kept}}
