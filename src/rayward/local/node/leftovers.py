"""Nodes that an earlier run of this process served and this one does not: they go, with their pods."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from rayward.kube.client.errors import ApiError, Conflict, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.meta import rfc3339
from rayward.kube.core.node import Node
from rayward.kube.core.resource import NODES, PODS
from rayward.kube.machinery.jsonvalue import Object
from rayward.local.node.registering import PROCESS
from rayward.local.node.sandboxes import SandboxError
from rayward.local.node.scheduling.model import is_over
from rayward.local.node.work.host import Host
from rayward.net.errors import NetworkError

_log = logging.getLogger(__name__)


def left_behind(nodes: Iterable[Node], process: str, names: Collection[str]) -> list[str]:
    """Those of the nodes that ``process`` registered under none of the names that it has now."""
    return [
        node.metadata.name
        for node in nodes
        if (node.metadata.labels or {}).get(PROCESS) == process and node.metadata.name not in names
    ]


class Leftovers:
    """Clears nodes away. The Node goes last: a process that dies before that finds it again, and all of this."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def clear(self, names: Iterable[str]) -> None:
        """End and delete the pods of these nodes, and the nodes."""
        living = await self._living()
        for name in names:
            try:
                pods = await self._host.client.list(PODS, field_selector=f"spec.nodeName={name}")
                for pod in pods.items:
                    await self._end(pod, name, living)
                await self._host.client.delete(NODES, name)
            except NotFound:
                continue
            except (ApiError, NetworkError, SandboxError) as error:
                _log.warning("node %s is gone, but its objects are not deleted: %s", name, error)
            else:
                _log.info("node %s is gone", name)

    async def _living(self) -> list[str]:
        try:
            return await self._host.sandboxes.pods()
        except SandboxError:
            # No sandbox host, no pods.
            return []

    async def _end(self, pod: Object, node: str, living: Collection[str]) -> None:
        uid = pod["metadata"]["uid"]
        if uid in living:
            await self._host.sandboxes.kill(uid)
        self._host.cgroups.remove(uid)
        await asyncio.to_thread(self._host.folders.pod(uid).remove)
        message = f"Node {node} is no longer served by this machine"
        self._host.tell(pod, "Warning", "NodeRemoved", f"{message}: the pod is deleted")
        await self._delete(pod, message)

    async def _delete(self, pod: Object, message: str) -> None:
        metadata = pod["metadata"]
        name, namespace = metadata["name"], metadata["namespace"]
        try:
            if not is_over(pod):
                # Whoever counts failures, such as a Job, learns that this one is none of the pod's own.
                body = {"metadata": {"uid": metadata["uid"]}, "status": _failed(message, datetime.now(UTC))}
                await self._host.client.patch(PODS, name, body, PatchType.STRATEGIC, namespace, subresource="status")
            await self._host.client.delete(PODS, name, namespace, grace_period_seconds=0, uid=metadata["uid"])
        except (NotFound, Conflict):
            return


def _failed(message: str, now: datetime) -> Object:
    disrupted: Object = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByPodGC",
        "message": message,
        "lastTransitionTime": rfc3339(now),
    }
    return {"phase": "Failed", "reason": "NodeLost", "message": message, "conditions": [disrupted]}
