"""What a decision means in writes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from datetime import datetime
from typing import Final

from rayward.kinds import labels
from rayward.kinds.raycluster import Object
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.errors import ApiError, Conflict
from rayward.kube.machinery.jsonvalue import section
from rayward.operator.service import children, memory
from rayward.operator.service.carry import Carrier
from rayward.operator.service.goal import Goal
from rayward.operator.service.observe import Look
from rayward.operator.service.rules import rules_of
from rayward.operator.service.situation import ABORTED, Decision, Release
from rayward.operator.service.telling import Teller
from rayward.operator.service.tools import Tools
from rayward.operator.service.upkeep import Upkeep

_DENIED: Final = frozenset({400, 403, 413, 422})
"""Answers to a write that the next attempt gets too: a quota, a policy, a webhook."""


class Enactment:
    """Carries out one decision.

    Attributes:
        refusals: The writes that were refused.
    """

    def __init__(
        self, tools: Tools, service: RayService, look: Look, carrier: Carrier, teller: Teller, now: datetime
    ) -> None:
        self._tools = tools
        self._service = service
        self._key = service.key
        self._look = look
        self._carrier = carrier
        self._teller = teller
        self._now = now
        self._upkeep = Upkeep(tools.caches, service, look, carrier, teller)
        self.refusals: list[ApiError] = []

    async def carry_out(self, decision: Decision, goal: Goal, release: Release | None) -> None:
        """Write what was decided; a write that is refused keeps no other from being made that does not need it."""
        noted = await self._attempt(self._remember(decision, goal))
        if noted and await self._attempt(self._delete(decision)) and decision.create is not None:
            await self._attempt(self._create(decision.create, decision, goal))
        await self._attempt(self._upkeep.cluster_services())
        await self._attempt(self._upkeep.label_heads())
        leads_to = decision.active.name if decision.active else ""
        if decision.switch_to and noted:
            # A cluster that takes requests and does not remember it would be deleted as one that never did.
            leads_to = decision.switch_to
        if leads_to:
            await self._attempt(self._upkeep.point_services(leads_to, selectors_only=bool(goal.refused)))
        target = decision.pending or decision.active
        if target is not None and release is not None and target.cluster_hash == release.cluster_hash:
            await self._attempt(self._upkeep.resize(target.name, self._raw_cluster_config()))
        if not self.refusals and not self._upkeep.troubles:
            await self._attempt(self._fulfilled(decision))

    async def _attempt(self, write: Awaitable[None]) -> bool:
        try:
            await write
        except ApiError as error:
            if not isinstance(error, Conflict):
                self._teller.say("Warning", "FailedWrite", str(error))
            self.refusals.append(error)
            return False
        return True

    @property
    def trouble(self) -> str:
        """What stands in the way and does not pass by itself."""
        denied = [str(error) for error in self.refusals if error.code in _DENIED]
        return "; ".join((*self._upkeep.troubles, *denied))

    async def _remember(self, decision: Decision, goal: Goal) -> None:
        texts = {memory.config_hash(goal.config): goal.config}
        for seen in self._look.clusters.values():
            texts |= {memory.config_hash(text): text for text in (seen.memory.config, seen.memory.good_config)}
        await asyncio.gather(
            *(self._note(note.member, memory.written(note, texts, self._now)) for note in decision.notes)
        )

    async def _delete(self, decision: Decision) -> None:
        """What is given up goes before its successor comes: there is never a third cluster on its way."""
        for name in decision.delete:
            cluster = self._look.clusters[name].cluster
            self._tools.poller.drop(cluster.key)
            await self._carrier.delete(RAY_CLUSTERS, cluster)
            self._teller.say("Normal", "DeletedRayCluster", f"Deleted RayCluster {cluster.key}")

    async def _create(self, release: Release, decision: Decision, goal: Goal) -> None:
        name = children.cluster_name(self._service, release.cluster_hash, frozenset(self._look.clusters))
        spec, config, serve = self._service.spec.ray_cluster_config, self._raw_cluster_config(), goal.config
        if decision.heals and decision.active is not None:
            replaced = self._look.clusters[decision.active.name]
            # The cache keeps no clusters as they were written.
            whole = await self._tools.client.get(RAY_CLUSTERS, decision.active.name, self._key.namespace)
            spec, config, serve = replaced.cluster.spec, section(whole, "spec"), replaced.memory.config
        hashed = release.cluster_hash
        body = children.child_cluster(self._service, spec, config, name, hashed, serve, decision.heals)
        await self._carrier.create_cluster(body)
        self._teller.say("Normal", "CreatedRayCluster", f"Created RayCluster {self._key.namespace}/{name}")

    async def _fulfilled(self, decision: Decision) -> None:
        """Wishes that name no cluster count once, for the change that is on its way; without one they mean nothing."""
        rules = rules_of(self._service)
        if decision.active is not None and decision.pending is None and decision.create is None:
            for annotation, value in ((labels.PROMOTE, rules.promote), (labels.ABORT, rules.abort)):
                if value:
                    await self._carrier.forget(annotation)
            if rules.abort and not (decision.failure and decision.failure.reason == ABORTED):
                self._teller.say("Warning", "NothingToAbort", "no upgrade is on its way; the annotation is taken away")
            return
        if decision.switch_to:
            self._teller.say("Normal", "SwitchedTraffic", f"RayCluster {decision.switch_to} takes the requests now")
            if rules.promote == "true":
                await self._carrier.forget(labels.PROMOTE)

    async def _note(self, member: str, annotations: dict[str, str | None]) -> None:
        await self._carrier.annotate(self._look.clusters[member].cluster, annotations)

    def _raw_cluster_config(self) -> Object:
        whole = self._tools.caches.services.whole(self._key) or {}
        return section(section(whole, "spec"), "rayClusterConfig")
