"""One run for one service: look, decide, write, tell."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from rayward.kinds import labels, names
from rayward.kinds.hashing import release_hash
from rayward.kinds.raycluster import Object
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.api import Client
from rayward.kube.client.errors import NotFound
from rayward.kube.core.meta import rfc3339
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import SECRETS, SERVICES, Resource
from rayward.kube.machinery.jsonvalue import entries, section
from rayward.kube.runtime.clock import Clock
from rayward.kube.runtime.controller import DONE, Result
from rayward.kube.runtime.events import EventRecorder
from rayward.operator.ray.poller import Poller
from rayward.operator.service import children, memory, scale
from rayward.operator.service.carry import Carrier
from rayward.operator.service.conditions import Conditions, Seen, conditions, failure_of
from rayward.operator.service.decide import decide
from rayward.operator.service.following import follow
from rayward.operator.service.goal import Goal, goal_of
from rayward.operator.service.observe import Caches, Look, observe
from rayward.operator.service.rules import ABORT, PROMOTE, rules_of
from rayward.operator.service.situation import Decision, Release, Situation
from rayward.operator.service.status import status_of
from rayward.operator.service.suspension import suspend
from rayward.operator.service.telling import Teller, Told

_TOKEN: Final = "auth_token"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Tools:
    """What a run works with."""

    client: Client
    caches: Caches
    recorder: EventRecorder
    poller: Poller
    clock: Clock
    wrote: Callable[[Key, Resource, KubeObject], None]


@dataclass(slots=True)
class Known:
    """What the process knows of a service beyond its objects; losing it costs a write, never a decision."""

    uid: str
    told: Told = field(default_factory=Told)
    tokens: dict[str, str] = field(default_factory=dict[str, str])
    """Of its clusters' dashboards, by the uid of the cluster."""
    goal: tuple[int, Goal] | None = None
    """What a generation of the spec asks for."""


class Pursuit:
    """One run for one service."""

    def __init__(self, tools: Tools, service: RayService, known: Known) -> None:
        self._tools = tools
        self._service = service
        self._known = known
        self._key = service.key
        self._now = tools.clock.utc()
        self._carrier = Carrier(tools.client, service, self._wrote)
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
            await self._tell(held.conditions, accepted=True)
            return DONE
        return await self._pursue(self._goal())

    def _goal(self) -> Goal:
        generation = self._service.metadata.generation
        known = self._known.goal
        if known is None or known[0] != generation:
            known = self._known.goal = (generation, goal_of(self._service))
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
            self._teller.say("Warning", "InvalidRayServiceSpec", goal.refused)
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
        await self._learn_tokens()
        await self._carry_out(decision, goal, release)
        follow(self._tools.poller, look, decision, self._known.tokens)
        self._teller.announce(decision)
        seen = Seen(service.metadata.generation, look.endpoints, decision, goal.refused)
        told = conditions(service.status.conditions, seen, self._now)
        await self._tell(told, decision, accepted=not goal.refused)
        if decision.next_look is None:
            return DONE
        return Result(requeue_after=max((decision.next_look - self._now).total_seconds(), 0.0) + 0.01)

    async def _carry_out(self, decision: Decision, goal: Goal, release: Release | None) -> None:
        texts = {memory.config_hash(goal.config): goal.config}
        for seen in self._look.clusters.values():
            texts |= {memory.config_hash(text): text for text in (seen.memory.config, seen.memory.good_config)}
        await asyncio.gather(
            *(self._note(note.member, memory.written(note, texts, self._now)) for note in decision.notes)
        )
        if decision.create is not None:
            taken = frozenset(self._look.clusters)
            name = children.cluster_name(self._service, decision.create.cluster_hash, taken)
            config = self._raw_cluster_config()
            body = children.child_cluster(
                self._service, config, name, decision.create.cluster_hash, goal.config, decision.heals
            )
            await self._carrier.create_cluster(body)
            self._teller.say("Normal", "CreatedRayCluster", f"Created RayCluster {self._key.namespace}/{name}")
        await self._serve_services()
        await self._resize(decision, release)
        await self._label_heads()
        await self._point_services(decision.switch_to or (decision.active.name if decision.active else ""))
        if decision.switch_to:
            self._teller.say("Normal", "SwitchedTraffic", f"RayCluster {decision.switch_to} takes the requests now")
            if rules_of(self._service).promote == "true":
                await self._carrier.forget(PROMOTE)
        if decision.failure and decision.failure.reason == "Aborted" and rules_of(self._service).abort == "true":
            await self._carrier.forget(ABORT)
        for name in decision.delete:
            cluster = self._look.clusters[name].cluster
            self._tools.poller.drop(cluster.key)
            await self._carrier.delete(RAY_CLUSTERS, cluster)
            self._teller.say("Normal", "DeletedRayCluster", f"Deleted RayCluster {cluster.key}")

    async def _note(self, member: str, annotations: dict[str, str | None]) -> None:
        await self._carrier.annotate(self._look.clusters[member].cluster, annotations)

    async def _serve_services(self) -> None:
        """Each cluster has a way to its applications of its own."""
        caches = self._tools.caches.clusters
        for seen in self._look.clusters.values():
            if seen.cluster.deleting:
                continue
            body = children.cluster_serve_service(self._service, seen.cluster)
            if body is not None:
                key = Key(self._key.namespace, body["metadata"]["name"])
                await self._carrier.bring(body, caches.services.get(key))

    async def _point_services(self, cluster: str) -> None:
        if not cluster:
            return
        caches = self._tools.caches.clusters
        for body in (children.serve_service(self._service, cluster), children.head_service(self._service, cluster)):
            if body is None:
                self._teller.say(
                    "Warning",
                    "NoServePort",
                    "the head's first container has no port named serve: add {name: serve, containerPort: 8000}",
                )
                continue
            key = Key(self._key.namespace, body["metadata"]["name"])
            found = caches.services.get(key)
            if await self._carrier.bring(body, found):
                verb = "Created" if found is None else "Updated"
                self._teller.say("Normal", f"{verb}Service", f"{verb} Service {key}")

    async def _resize(self, decision: Decision, release: Release | None) -> None:
        """Sizes reach the cluster of the goal, whether it serves already or is on its way."""
        target = decision.pending or decision.active
        if target is None or release is None or target.cluster_hash != release.cluster_hash:
            return
        seen = self._look.clusters[target.name]
        whole = entries(self._raw_cluster_config(), "workerGroupSpecs")
        given = seen.cluster.metadata.annotation(memory.REPLICAS)
        wanted = self._service.spec.ray_cluster_config
        operations = scale.resize(wanted, whole, seen.cluster.spec, given)
        if not operations:
            return
        marks = {labels.SPEC_HASH: release_hash(wanted), labels.WORKER_GROUP_COUNT: str(len(whole))}
        operations += [
            {"op": "add", "path": f"/metadata/annotations/{name.replace('/', '~1')}", "value": value}
            for name, value in marks.items()
        ]
        await self._carrier.resize(seen.cluster, operations)
        self._teller.say("Normal", "UpdatedRayCluster", f"Updated RayCluster {seen.cluster.key}: sizes of its groups")

    async def _label_heads(self) -> None:
        """A head takes requests while Serve's proxy on it is healthy, unless the user keeps heads out."""
        for seen in self._look.clusters.values():
            head = seen.head
            if head is None or seen.observation.serve is None:
                continue
            proxies = seen.observation.serve.proxies.values()
            healthy = any(
                proxy.node_instance_id == head.metadata.name and proxy.status == "HEALTHY" for proxy in proxies
            )
            wanted = str(healthy and not self._service.spec.exclude_head_pod_from_serve_svc).lower()
            if head.metadata.label(labels.SERVE) != wanted:
                await self._carrier.label_head(head, wanted)

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

    async def _learn_tokens(self) -> None:
        for seen in self._look.clusters.values():
            auth = seen.cluster.spec.auth_options
            uid = seen.cluster.metadata.uid
            if auth is None or auth.mode != "token" or uid in self._known.tokens:
                continue
            name = auth.secret_name or names.auth_secret(seen.cluster.metadata.name)
            try:
                secret = await self._tools.client.get(SECRETS, name, self._key.namespace)
            except NotFound:
                continue
            text: str = section(secret, "data").get(_TOKEN, "")
            self._known.tokens[uid] = base64.b64decode(text).decode()

    async def _tell(self, told: Conditions, decision: Decision | None = None, *, accepted: bool) -> None:
        clusters = self._look.clusters
        active = decision.switch_to or (decision.active.name if decision.active else "") if decision else ""
        pending = decision.pending.name if decision and decision.pending and not decision.switch_to else ""
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

    def _wrote(self, resource: Resource, answer: KubeObject) -> None:
        self._tools.wrote(self._key, resource, answer)

    def _raw_cluster_config(self) -> Object:
        whole = self._tools.caches.services.whole(self._key) or {}
        return section(section(whole, "spec"), "rayClusterConfig")
