"""Binds waiting pods, one after the other, the most important first."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any, Final

import msgspec

from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError, Conflict, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.event import ObjectReference
from rayward.kube.core.lease import Lease
from rayward.kube.core.node import Node
from rayward.kube.core.objects import Key
from rayward.kube.core.pod import Pod
from rayward.kube.core.resource import PODS
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.events import EventRecorder
from rayward.local.node.pod.status import stamp
from rayward.local.node.registering import LEASE_NAMESPACE
from rayward.local.node.scheduling.claims import Claim, obstacle
from rayward.local.node.scheduling.decide import Placed, Refused, place, refuse_everywhere
from rayward.local.node.scheduling.model import Candidate, Occupant, is_over
from rayward.local.node.scheduling.presence import is_ready
from rayward.net.errors import NetworkError

_log = logging.getLogger(__name__)
_RETRY: Final = 5.0


class Scheduler:
    """Gives pods without a node one of those that are there."""

    def __init__(
        self,
        client: Client,
        pods: Cache[Pod],
        nodes: Cache[Node],
        leases: Cache[Lease],
        claims: Cache[Claim],
        events: EventRecorder,
        *,
        served: frozenset[str] = frozenset(),
        trouble: str = "",
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._client = client
        self._pods = pods
        self._nodes = nodes
        self._leases = leases
        self._claims = claims
        # Of these we know that they live, whatever is told of them.
        self._served = served
        self._events = events
        self._trouble = trouble
        self._clock = clock
        self._changed = asyncio.Event()
        self._assumed: dict[Key, tuple[str, Occupant, str]] = {}
        for cache in (pods, nodes, claims):
            cache.subscribe(lambda _old, _new: self._changed.set())

    async def run(self) -> None:
        while True:
            self._changed.clear()
            try:
                await self._round()
            except (ApiError, NetworkError) as error:
                _log.info("scheduling: %s", error)
                await self._clock.sleep(1.0)
            with contextlib.suppress(TimeoutError):
                await self._clock.within(_RETRY, self._changed.wait())

    async def _round(self) -> None:
        waiting: list[Object] = []
        for pod in self._pods:
            spec = pod.spec
            if spec.node_name or pod.deleting or (spec.scheduler_name or "default-scheduler") != "default-scheduler":
                self._assumed.pop(pod.key, None)
            elif pod.key not in self._assumed:
                whole = self._pods.whole(pod.key)
                if whole is not None and not whole["spec"].get("schedulingGates") and not is_over(whole):
                    waiting.append(whole)
        if not waiting:
            return
        candidates = self._candidates()
        waiting.sort(key=lambda pod: (-(pod["spec"].get("priority") or 0), pod["metadata"]["creationTimestamp"]))
        for pod in waiting:
            if self._trouble:
                await self._say_no(pod, Refused(f"0/{len(candidates)} nodes are available: {self._trouble}"))
                continue
            if candidates and (reason := obstacle(pod, self._claims.get)):
                await self._say_no(pod, refuse_everywhere(reason, len(candidates)))
                continue
            decision = place(pod, list(candidates.values()))
            if isinstance(decision, Placed):
                await self._bind(pod, decision.node, candidates)
            else:
                await self._say_no(pod, decision)

    def _candidates(self) -> dict[str, Candidate]:
        occupants: dict[str, list[Occupant]] = {}
        for found in self._pods:
            whole = self._pods.whole(found.key)
            if found.spec.node_name and whole is not None and not is_over(whole):
                occupants.setdefault(found.spec.node_name, []).append(Occupant.of(whole))
        for key, (node, occupant, uid) in list(self._assumed.items()):
            seen = self._pods.get(key)
            if seen is None or seen.metadata.uid != uid or seen.spec.node_name:
                del self._assumed[key]
            else:
                occupants.setdefault(node, []).append(occupant)
        candidates: dict[str, Candidate] = {}
        for node in self._nodes:
            whole = self._nodes.whole(node.key)
            if whole is not None:
                name = node.metadata.name
                candidates[name] = Candidate.of(whole, occupants.get(name, ()), ready=self._is_ready(node))
        return candidates

    def _is_ready(self, node: Node) -> bool:
        name = node.metadata.name
        return name in self._served or is_ready(node, self._leases.get(Key(LEASE_NAMESPACE, name)), self._clock.utc())

    async def _bind(self, pod: Object, node: str, candidates: dict[str, Candidate]) -> None:
        metadata = pod["metadata"]
        key = Key(metadata["namespace"], metadata["name"])
        try:
            await self._client.bind(key.name, key.namespace, node)
        except (NotFound, Conflict) as error:
            _log.debug("binding %s: %s", key, error)
            return
        occupant = Occupant.of(pod)
        self._assumed[key] = (node, occupant, metadata["uid"])
        before = candidates[node]
        candidates[node] = msgspec.structs.replace(before, occupants=(*before.occupants, occupant))
        self._tell(pod, "Normal", "Scheduled", f"Successfully assigned {key} to {node}")

    async def _say_no(self, pod: Object, refused: Refused) -> None:
        metadata = pod["metadata"]
        status = section(pod, "status")
        conditions = entries(status, "conditions")
        old = next((found for found in conditions if found["type"] == "PodScheduled"), None)
        nominated = {"nominatedNodeName": refused.node} if refused.victims else {}
        told = "" if old is None or old.get("status") != "False" else str(old.get("message", ""))
        if told != refused.message and not (refused.shortage and told.startswith(f"{refused.message} The pod ")):
            message = f"{refused.message} {refused.shortage}".rstrip()
            self._tell(pod, "Warning", "FailedScheduling", message)
            now = self._clock.utc().timestamp()
            new = {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": message,
                "lastProbeTime": None,
                "lastTransitionTime": stamp(now),
            }
            body = {"metadata": {"uid": metadata["uid"]}, "status": {"conditions": [new], **nominated}}
            with contextlib.suppress(NotFound, Conflict):
                await self._client.patch(
                    PODS, metadata["name"], body, PatchType.STRATEGIC, metadata["namespace"], subresource="status"
                )
        for victim in refused.victims:
            if not victim.leaving:
                await self._preempt(victim, refused.node)

    async def _preempt(self, victim: Occupant, node: str) -> None:
        with contextlib.suppress(NotFound, Conflict):
            await self._client.delete(PODS, victim.name, victim.namespace, uid=victim.uid)
            about = ObjectReference(
                api_version="v1", kind="Pod", namespace=victim.namespace, name=victim.name, uid=victim.uid
            )
            self._events.record(about, "Normal", "Preempted", f"Preempted by a pod of higher priority on node {node}")

    def _tell(self, pod: Object, kind: Any, reason: str, message: str) -> None:
        metadata = pod["metadata"]
        about = ObjectReference(
            api_version="v1",
            kind="Pod",
            namespace=metadata["namespace"],
            name=metadata["name"],
            uid=metadata["uid"],
            resource_version=metadata.get("resourceVersion", ""),
        )
        self._events.record(about, kind, reason, message)
