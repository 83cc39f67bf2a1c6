"""Lets pods go that Kueue's ``pod`` integration holds at birth.

Where a namespace has a LocalQueue named ``default``, Kueue gives every new Pod that queue and asks quota for it by
itself, whoever owns it: ours would be counted twice (``PodWebhook.Default`` in pkg/controller/jobs/pod/pod_webhook.go,
v0.18.2). It makes no Workload for those that name another as the one that suspends them; but it adds its scheduling
gates, which that one has to remove. The gate removes them at once: the operator makes no pod before its quota is
reserved.
"""

from __future__ import annotations

from typing import Any, Final

from rayward.kinds import labels
from rayward.kinds.kueue import names
from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import PODS
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.registry import Environment
from rayward.kube.runtime.shield import Shield

NAME: Final = "quota-gate-pods"


def gates_to_remove(pod: Any) -> list[str]:
    """The scheduling gates that Kueue added to a pod of ours, or to its Job's; ``pod`` is ``GatePod`` at least."""
    if pod.deleting or pod.metadata.annotation(names.POD_SUSPENDING_PARENT) != labels.QUOTA_GATE:
        return []
    return [gate.name for gate in pod.spec.scheduling_gates if gate.name in names.POD_GATES]


class PodGates:
    """Removes the scheduling gates of ``caches``' pods; its controller is run by the gate."""

    def __init__(self, environment: Environment, shield: Shield, manager: str, *caches: Cache[Any]) -> None:
        self._client: Client = environment.client
        self._shield = shield
        self._manager = manager
        self._caches = caches
        self.controller = Controller(NAME, self._reconcile, workers=environment.workers, clock=environment.clock)
        for cache in caches:
            self.controller.watch(cache, _held)

    async def _reconcile(self, key: Key) -> Result:
        for cache in self._caches:
            pod = cache.get(key)
            gates = gates_to_remove(pod) if pod is not None else []
            if pod is None or not gates:
                continue
            change: Object = {
                "metadata": {"uid": pod.metadata.uid},
                "spec": {"schedulingGates": [{"name": gate, "$patch": "delete"} for gate in gates]},
            }
            request = verbs.patch(
                PODS, key.name, change, PatchType.STRATEGIC, key.namespace, field_manager=self._manager
            )
            try:
                answer = await self._shield(self._client.send_as(request, KubeObject))
            except NotFound:
                return DONE
            self.controller.wrote(key, cache, answer)
        return DONE


def _held(old: Any, new: Any) -> tuple[Key, ...]:
    del old
    return (new.key,) if new is not None and gates_to_remove(new) else ()
