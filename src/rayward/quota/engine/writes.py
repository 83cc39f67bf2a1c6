"""The engine's writes to Workloads; each says whether it carries out a decision or only keeps a status in order."""

from __future__ import annotations

from collections.abc import Callable

from rayward.kinds.kueue import Workload, names
from rayward.kinds.kueue.workload import WorkloadStatus
from rayward.kinds.resources import WORKLOADS
from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.core.objects import Key
from rayward.kube.runtime.shield import Shield
from rayward.quota.engine import status as to


class WorkloadWrites:
    """Sends them; ``wrote`` is called with each answer, and with whether it was to a decision."""

    def __init__(self, client: Client, shield: Shield, wrote: Callable[[Workload, bool], None]) -> None:
        self._client = client
        self._shield = shield
        self._wrote = wrote

    async def apply(self, workload: Workload, status: WorkloadStatus, *, decided: bool = True) -> bool:
        """Write the whole of what admission owns, unless the workload has changed meanwhile; False where it is gone."""
        body = to.apply_body(workload, status)
        body["metadata"]["resourceVersion"] = workload.metadata.resource_version
        # Code made it: to look for unknown fields would cost the server time, and nobody would read what it found.
        request = verbs.apply(
            WORKLOADS, body, names.ADMISSION_MANAGER, force=True, subresource="status", field_validation="Ignore"
        )
        return await self._send(request, decided)

    async def deactivate(self, workload: Workload) -> None:
        """Take it out of its queue until somebody activates it."""
        meta = workload.metadata
        change = {"metadata": {"uid": meta.uid}, "spec": {"active": False}}
        await self._send(verbs.patch(WORKLOADS, meta.name, change, PatchType.MERGE, meta.namespace), False)

    async def read(self, key: Key) -> Workload | None:
        """The workload as the server has it, which the caches may not show yet; None where it is gone."""
        try:
            return await self._shield(self._client.send_as(verbs.get(WORKLOADS, key.name, key.namespace), Workload))
        except NotFound:
            return None

    async def _send(self, request: Request, decided: bool) -> bool:
        try:
            answer = await self._shield(self._client.send_as(request, Workload))
        except NotFound:
            return False
        self._wrote(answer, decided)
        return True
