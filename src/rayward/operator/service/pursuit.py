"""One run for one service: look, decide, write, tell."""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass, field
from datetime import datetime

from rayward.kinds import labels
from rayward.kinds.hashing import release_hash
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.core.meta import rfc3339
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import SERVICES, Resource
from rayward.kube.machinery.jsonvalue import section
from rayward.kube.runtime.controller import DONE, Result
from rayward.operator.base.tokens import RETRY_SECONDS, Tokens
from rayward.operator.service.carry import Carrier
from rayward.operator.service.conditions import Conditions, Seen, conditions, failure_of
from rayward.operator.service.decide import decide
from rayward.operator.service.enactment import Enactment
from rayward.operator.service.following import follow
from rayward.operator.service.goal import Goal, goal_of
from rayward.operator.service.observe import Look, observe
from rayward.operator.service.rules import rules_of
from rayward.operator.service.situation import Decision, Release, Situation
from rayward.operator.service.status import status_of
from rayward.operator.service.suspension import suspend
from rayward.operator.service.telling import Teller, Told
from rayward.operator.service.tools import Tools

_Asked = tuple[int, dict[str, str] | None, dict[str, str] | None]


@dataclass(slots=True)
class Known:
    """What the process knows of a service beyond its objects; losing it costs a write, never a decision."""

    told: Told = field(default_factory=Told)
    tokens: Tokens = field(default_factory=Tokens)
    goal: tuple[_Asked, Goal] | None = None
    """What a generation of the spec asks for."""
    generation: int = 0
    edited_at: datetime | None = None
    """When this generation came, if it came while this process was there to see it."""

    def saw(self, generation: int, now: datetime) -> None:
        """A service of this generation is there."""
        if generation != self.generation:
            self.edited_at = now if self.generation else None
            self.generation = generation


class Pursuit:
    """One run for one service."""

    def __init__(self, tools: Tools, service: RayService, known: Known) -> None:
        self._tools = tools
        self._service = service
        self._known = known
        self._key = service.key
        self._now = tools.clock.utc()
        known.saw(service.metadata.generation, self._now)
        self._carrier = Carrier(tools.writer(service), service)
        self._look: Look = observe(tools.caches, service, tools.poller.latest)
        self._teller = Teller(tools.recorder, service, known.told)

    async def run(self) -> Result:
        """Do what is to be done now, and say when to look again."""
        service = self._service
        if service.deleting:
            return await self._depart()
        left = len(self._look.clusters) + len(self._tools.caches.owned_services(service))
        held = suspend(
            service.status.conditions,
            asked=service.spec.suspend,
            left=left,
            generation=service.metadata.generation,
            now=self._now,
        )
        if held is not None:
            if held.delete:
                await self._delete_everything()
            told = await self._tell(held.conditions, accepted=True)
            # The next step begins with what was told, and nothing else may change meanwhile.
            return Result(requeue_after=0.0) if told else DONE
        return await self._pursue(self._goal())

    def _goal(self) -> Goal:
        metadata = self._service.metadata
        known = self._known.goal
        # Annotations and labels are validated too, and are no part of the generation.
        asked = (metadata.generation, metadata.annotations, metadata.labels)
        if known is None or known[0] != asked:
            known = self._known.goal = (asked, goal_of(self._service))
        return known[1]

    async def _depart(self) -> Result:
        """Its clusters go at once, then the service itself; the finalizer is KubeRay's, on services it once had."""
        await self._delete_everything()
        finalizers = self._service.metadata.finalizers or ()
        if not self._look.clusters and labels.SERVICE_FINALIZER in finalizers:
            await self._carrier.unfinalize(labels.SERVICE_FINALIZER)
        return DONE

    async def _delete_everything(self) -> None:
        clusters = [seen.cluster for seen in self._look.clusters.values()]
        services = self._tools.caches.owned_services(self._service)
        for cluster in clusters:
            self._tools.poller.drop(cluster.key)
        doomed: list[tuple[Resource, KubeObject]] = [(SERVICES, found) for found in services if not found.deleting]
        doomed += [(RAY_CLUSTERS, found) for found in clusters if not found.deleting]
        await asyncio.gather(*(self._carrier.delete(resource, found) for resource, found in doomed))
        for resource, found in doomed:
            if resource is RAY_CLUSTERS:
                self._teller.say("Normal", "DeletedRayCluster", f"Deleted RayCluster {found.key}")

    async def _pursue(self, goal: Goal) -> Result:
        service, look = self._service, self._look
        if goal.refused:
            self._teller.say("Warning", "InvalidRayServiceSpec", goal.refused.message)
        for warning in goal.warnings:
            self._teller.say("Warning", "ServeConfigWarning", warning)
        rules = rules_of(service)
        release = self._release(goal)
        situation = Situation(
            goal=release,
            rules=rules,
            members=[seen.member for seen in look.clusters.values()],
            serving=look.serving,
            failure=failure_of(service.status.conditions, service.metadata.generation),
        )
        decision = decide(situation, self._now)
        seen = Seen(service.metadata.generation, look.endpoints, decision, look.silent, goal.refused)
        told = conditions(service.status.conditions, seen, self._now)
        # A failure that the next leader does not know of would be tried by it again: it is told before it is acted on.
        failed = decision.failure is not None and decision.failure != situation.failure
        if failed:
            await self._tell(told, decision, accepted=not goal.refused)
            if decision.failure and situation.failure is None and not goal.refused:
                self._tools.changes.failed(service, decision.failure.reason)
        refused = await self._known.tokens.learn(
            self._tools.client, ((seen.cluster, seen.observation) for seen in look.clusters.values())
        )
        enactment = Enactment(self._tools, service, look, self._carrier, self._teller, self._now)
        await enactment.carry_out(decision, goal, release)
        trouble = enactment.trouble
        if decision.switch_to and not enactment.refusals and not trouble:
            self._count_switch(decision)
        follow(self._tools.poller, look, decision, self._known.tokens.known)
        self._teller.announce(decision)
        if trouble:
            told = conditions(service.status.conditions, dataclasses.replace(seen, trouble=trouble), self._now)
        if trouble or not (failed or decision.switch_to):
            # Of a switch the next run tells, which sees what came of it.
            await self._tell(told, decision, accepted=not goal.refused)
        if enactment.refusals:
            raise enactment.refusals[0]
        waits = [RETRY_SECONDS] if refused or trouble else []
        if decision.next_look is not None:
            waits.append(max((decision.next_look - self._now).total_seconds(), 0.0) + 0.01)
        return Result(requeue_after=min(waits)) if waits else DONE

    def _count_switch(self, decision: Decision) -> None:
        """Of an upgrade; the first release has nothing to switch from."""
        changes, pending = self._tools.changes, decision.pending
        if pending is None or decision.active is None:
            return
        since = self._known.edited_at or (None if pending.promoted else pending.created)
        if since is not None:
            changes.switched(self._service, (self._now - since).total_seconds())

    def _release(self, goal: Goal) -> Release | None:
        """The release asked for; groups added at the end are no other release to the cluster that serves."""
        serving = self._look.clusters.get(self._look.serving)
        if goal.release is None or serving is None or serving.member.cluster_hash == goal.release.cluster_hash:
            return goal.release
        wanted, running = self._service.spec.ray_cluster_config, serving.cluster.spec
        count = len(running.worker_group_specs or ())
        if count >= len(wanted.worker_group_specs or ()):
            return goal.release
        if release_hash(wanted, count) != serving.member.cluster_hash:
            return goal.release
        return Release(serving.member.cluster_hash, goal.release.config)

    async def _tell(self, told: Conditions, decision: Decision | None = None, *, accepted: bool) -> bool:
        """Write the status, where it is another one."""
        clusters = self._look.clusters
        active = decision.active.name if decision and decision.active else ""
        pending = decision.pending.name if decision and decision.pending else ""
        status = status_of(
            self._service,
            told,
            active=clusters.get(active),
            pending=clusters.get(pending),
            endpoints=self._look.endpoints,
            accepted=accepted,
            now=self._now,
        )
        before = section(self._tools.caches.services.whole(self._key) or {}, "status")
        changes = self._teller.news(before, status)
        if changes:
            await self._carrier.write_status({**changes, "lastUpdateTime": rfc3339(self._now)})
            self._teller.transitions(self._service.status.conditions, told)
        return bool(changes)
