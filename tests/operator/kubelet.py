"""A kubelet without containers: pods that are there become ready, pods that are deleted go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError, Conflict, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.objects import Key
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import NODES, PODS
from rayward.kube.runtime import manager
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.reflector import Reflector

NODE: Final = "simulated"
_WHEN: Final = "2026-01-01T00:00:00Z"

Chooses = Callable[[Pod], bool]


class Kubelet:
    """Binds, starts and ends the pods of one namespace, as far as ``starts`` and ``ends`` let it."""

    def __init__(
        self, client: Client, namespace: str | None, *, starts: Chooses | None = None, ends: Chooses | None = None
    ) -> None:
        self.starts: Chooses = starts or (lambda pod: True)
        self.ends: Chooses = ends or (lambda pod: True)
        self.binds: Chooses = lambda pod: True
        """Which pods find a node; a scheduler's part."""
        self.pods: Cache[Pod] = Cache(PODS, Pod, keep_raw=False)
        self._client = client
        self._addresses = 0
        self._reflector = Reflector(client, self.pods, namespace=namespace)
        self._controller = Controller("kubelet", self._reconcile, workers=16)
        self._controller.watch(self.pods)

    async def run(self) -> None:
        """Until cancelled."""
        await manager.run([self._reflector], [self._controller])

    def look_again(self) -> None:
        """``starts`` or ``ends`` would say something else now."""
        for pod in self.pods:
            self._controller.add(pod.key)

    async def report(self, pod: Pod, status: dict[str, Any]) -> None:
        """Set a pod's status, as a kubelet does."""
        namespace, name = pod.metadata.namespace, pod.metadata.name
        await self._client.patch(PODS, name, {"status": status}, PatchType.MERGE, namespace, subresource="status")

    async def _reconcile(self, key: Key) -> Result:
        pod = self.pods.get(key)
        if pod is None:
            return DONE
        try:
            if pod.deleting:
                if self.ends(pod):
                    await self._client.delete(
                        PODS, key.name, key.namespace, grace_period_seconds=0, uid=pod.metadata.uid
                    )
            elif not pod.spec.node_name:
                if not self.binds(pod):
                    return DONE
                await self._client.bind(key.name, key.namespace, NODE)
            elif pod.status.phase in ("", "Pending") and self.starts(pod):
                await self.report(pod, self._ready(pod))
        except (NotFound, Conflict):
            return DONE
        return DONE

    def _ready(self, pod: Pod) -> dict[str, Any]:
        self._addresses += 1
        address = f"10.42.{self._addresses // 250}.{self._addresses % 250 + 1}"
        return ready_status([container.name for container in pod.spec.containers], address)


def ready_status(containers: list[str], address: str) -> dict[str, Any]:
    """The status of a pod whose containers all run."""
    conditions = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    return {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": _WHEN,
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": _WHEN} for kind in conditions],
        "containerStatuses": [
            {
                "name": name,
                "ready": True,
                "restartCount": 0,
                "image": "i",
                "imageID": "i",
                "state": {"running": {"startedAt": _WHEN}},
            }
            for name in containers
        ],
    }


async def add_node(client: Client) -> None:
    """The node that simulated kubelets bind pods to."""
    try:
        await client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
