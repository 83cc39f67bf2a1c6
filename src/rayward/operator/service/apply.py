"""Decision -> writes, in one place and in one order.

1. annotations of RayClusters: what the next operator must know comes before it is acted upon;
2. deletions, then the new RayCluster: there is never a third one on its way;
3. the Services of each RayCluster and the serve labels of its pods;
4. traffic: the selectors of the stable Services;
5. templates and sizes of worker groups, and whether the cluster is suspended;
6. which dashboards are polled, and the Serve config that each is sent;
7. removal of annotations that were acted upon.

A write that is refused keeps no other from being made that does not need it. Each write may be sent twice without harm.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.raycluster import Object
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_CLUSTERS, RAY_SERVICES
from rayward.kube.client.errors import AlreadyExists, ApiError, Conflict
from rayward.kube.client.options import PatchType
from rayward.kube.core.meta import controller_of, is_controlled_by, rfc3339_micro
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import PODS, SERVICES, Resource
from rayward.kube.core.service import Service
from rayward.kube.machinery.jsonvalue import entries
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.writer import Writer
from rayward.operator.cluster.services import listening_port
from rayward.operator.ray.observation import Deploy, Observation, Target
from rayward.operator.ray.poller import Poller
from rayward.operator.ray.reach import PodPort
from rayward.operator.ray.schedule import Pace
from rayward.operator.service import children, mark, routing
from rayward.operator.service.annotations import annotation_patch
from rayward.operator.service.desired import Desired
from rayward.operator.service.events import ServiceEvents
from rayward.operator.service.observe import Observed, ObservedCluster
from rayward.operator.service.serveconfig import config_hash, deploy_text
from rayward.operator.service.state import Decision, PodLabel, Release, ServeConfigTarget

_DENIED: Final = frozenset({400, 403, 413, 422})
"""Answers to a write that the next attempt gets too: a quota, a policy, a webhook."""


class _WrittenCluster(KubeObject, frozen=True):
    """A RayCluster with its spec as it was written."""

    spec: Object = msgspec.field(default_factory=dict[str, Any])


@dataclass(slots=True)
class Outcome:
    """What stood in the way."""

    errors: list[ApiError] = field(default_factory=list[ApiError])
    conflicts: list[str] = field(default_factory=list[str])
    """Names that belong to other objects, as messages."""
    reshaped: bool = False
    """A RayCluster was given other sizes, or was suspended or resumed: what was decided is of before that."""

    @property
    def clean(self) -> bool:
        """Whether every write was made."""
        return not self.errors and not self.conflicts

    @property
    def denied(self) -> str:
        """What does not pass by itself, as a condition's message."""
        return "; ".join((*self.conflicts, *(str(error) for error in self.errors if error.code in _DENIED)))


class Applier:
    """The writes of one reconcile of one RayService."""

    def __init__(
        self,
        writer: Writer,
        poller: Poller[Target, Observation],
        services: Cache[Service],
        events: ServiceEvents,
        service: RayService,
        observed: Observed,
        *,
        kueues: bool,
    ) -> None:
        """``kueues``: Kueue's own integration starts and stops the service."""
        self._writer = writer
        self._kueues = kueues
        self._poller = poller
        self._services = services
        self._events = events
        self._service = service
        self._namespace = service.metadata.namespace
        self._observed = observed
        self._outcome = Outcome()

    async def apply(
        self, decision: Decision, desired: Desired, config: Object, tokens: Mapping[str, str], now: datetime
    ) -> Outcome:
        """Make a decision true.

        Args:
            decision: What to do.
            desired: The release of the spec, and the text of its Serve config.
            config: ``spec.rayClusterConfig`` as the user wrote it.
            tokens: Those of dashboards, by the uid of their RayCluster.
            now: What times in annotations count from.
        """
        annotated = await self._attempt(self._annotate(decision, desired, now))
        if annotated and await self._attempt(self._delete_clusters(decision)) and decision.create is not None:
            await self._attempt(self._create_cluster(decision.create, decision, desired, config))
        await self._attempt(self._apply_cluster_services(decision))
        await self._attempt(self._label_pods(decision))
        # Traffic moves to no cluster whose annotation does not say so: it would be deleted as one that never served.
        serving = decision.switch_to if annotated else ""
        serving = serving or (decision.active.name if decision.active else "")
        if serving and await self._attempt(self._route(serving, selectors_only=desired.rejected is not None)):
            await self._attempt(self._delete_services(decision))
        if decision.roll:
            await self._attempt(self._roll(decision.roll, config, now))
        if decision.scale:
            await self._attempt(self._scale(decision.scale, config))
        if desired.rejected is None:
            for name in decision.suspend:
                await self._attempt(self._resuspend(name))
        self._poll(decision, tokens)
        await self._attempt(self._note_refreshed(decision))
        if self._outcome.clean:
            await self._attempt(self._clear_annotations(decision))
        if self._outcome.clean and decision.switch_to:
            self._events.event("Normal", "SwitchedTraffic", f"Switched traffic to RayCluster {decision.switch_to}")
        return self._outcome

    async def delete_all(self) -> None:
        """Delete every RayCluster and Service of the RayService."""
        clusters = [found.cluster for found in self._observed.clusters.values()]
        for cluster in clusters:
            self._poller.drop(cluster.key)
        doomed: list[tuple[Resource, KubeObject]] = [(SERVICES, found) for found in self._observed.owned_services]
        doomed += [(RAY_CLUSTERS, cluster) for cluster in clusters]
        doomed = [(resource, found) for resource, found in doomed if not found.deleting]
        await asyncio.gather(*(self._delete(resource, found) for resource, found in doomed))
        for resource, found in doomed:
            if resource is RAY_CLUSTERS:
                self._events.event("Normal", "DeletedRayCluster", f"Deleted RayCluster {found.key}")

    async def finalize(self, finalizers: list[str] | None) -> None:
        """Delete what the RayService owns, then set the finalizers that are left, unless they stay as they are."""
        await self.delete_all()
        if finalizers is not None:
            await self._writer.set_finalizers(RAY_SERVICES, self._service, finalizers)

    async def _attempt(self, write: Awaitable[None]) -> bool:
        try:
            await write
        except ApiError as error:
            if not isinstance(error, Conflict):
                self._events.event("Warning", "FailedWrite", str(error))
            self._outcome.errors.append(error)
            return False
        return True

    async def _annotate(self, decision: Decision, desired: Desired, now: datetime) -> None:
        configs = {config_hash(desired.config): desired.config}
        for found in self._observed.clusters.values():
            noted = found.annotations
            configs |= {config_hash(text): text for text in (noted.config, noted.good_config)}
        changes = ((change.cluster, annotation_patch(change, configs, now)) for change in decision.annotate)
        await asyncio.gather(*(self._annotate_cluster(name, change) for name, change in changes))

    async def _annotate_cluster(self, name: str, change: dict[str, str | None]) -> None:
        uid = self._observed.clusters[name].cluster.metadata.uid
        await self._writer.patch(RAY_CLUSTERS, name, {"metadata": {"uid": uid, "annotations": change}})

    async def _delete_clusters(self, decision: Decision) -> None:
        for name in decision.delete:
            cluster = self._observed.clusters[name].cluster
            self._poller.drop(cluster.key)
            await self._delete(RAY_CLUSTERS, cluster)
            self._events.event("Normal", "DeletedRayCluster", f"Deleted RayCluster {cluster.key}")

    async def _create_cluster(self, release: Release, decision: Decision, desired: Desired, config: Object) -> None:
        hashed = release.cluster_hash
        name = children.cluster_name(self._service, hashed, frozenset(self._observed.clusters))
        spec, serve = self._service.spec.ray_cluster_config, desired.config
        if decision.remedies and decision.active is not None:
            replaced = self._observed.clusters[decision.active.name]
            # The cache does not keep clusters as they were written.
            config = (await self._writer.get(RAY_CLUSTERS, decision.active.name, _WrittenCluster)).spec
            # The suspend of the live one was opened by whoever admitted it: the replacement has to be admitted too.
            config = {name: value for name, value in config.items() if name != "suspend"}
            if (suspend := self._service.spec.ray_cluster_config.suspend) is not None:
                config["suspend"] = suspend
            spec = msgspec.structs.replace(replaced.cluster.spec, suspend=suspend)
            serve = replaced.annotations.config
        body = children.child_cluster(self._service, spec, config, name, hashed, serve, decision.remedies)
        await self._create(RAY_CLUSTERS, body, self._service.metadata.uid)
        self._events.event("Normal", "CreatedRayCluster", f"Created RayCluster {self._namespace}/{name}")

    async def _apply_cluster_services(self, decision: Decision) -> None:
        for name in decision.cluster_services:
            cluster = self._observed.clusters[name].cluster
            body = children.cluster_serve_service(cluster)
            if body is not None:
                await self._apply_service(body, cluster)

    async def _label_pods(self, decision: Decision) -> None:
        await asyncio.gather(*(self._label(change) for change in decision.pod_labels))

    async def _label(self, change: PodLabel) -> None:
        metadata = {"uid": change.uid, "labels": {labels.SERVE: change.label}}
        await self._writer.patch(PODS, change.pod, {"metadata": metadata})

    async def _route(self, name: str, *, selectors_only: bool) -> None:
        """Have the stable Services select a cluster; ``selectors_only`` leaves the rest of them as it is."""
        cluster = self._observed.clusters[name].cluster
        serve = children.serve_service(self._service, cluster)
        if serve is None:
            message = "Head container has no port named serve: add {name: serve, containerPort: 8000}"
            self._events.event("Warning", "NoServePort", message)
        for body in (serve, children.head_service(self._service, cluster)):
            if body is None:
                continue
            key = Key(self._namespace, body["metadata"]["name"])
            exists = self._services.get(key) is not None
            if await self._apply_service(body, self._service, selector_only=selectors_only):
                verb = "Updated" if exists else "Created"
                self._events.event("Normal", f"{verb}Service", f"{verb} Service {key}")

    async def _apply_service(self, body: Object, owner: KubeObject, *, selector_only: bool = False) -> bool:
        """Create a Service, or change what differs; whether anything was written."""
        key = Key(self._namespace, body["metadata"]["name"])
        found = self._services.get(key)
        if found is None:
            await self._create(SERVICES, mark.marked(body), owner.metadata.uid)
            return True
        if found.deleting:
            return False
        if not is_controlled_by(found, owner):
            kind = RAY_SERVICES.kind if owner is self._service else RAY_CLUSTERS.kind
            message = f"Service {key} already exists and is not owned by {kind} {owner.metadata.name}: "
            message += "delete it, or set another spec.serveService.metadata.name"
            self._outcome.conflicts.append(message)
            self._events.event("Warning", "ServiceNameTaken", message)
            return False
        change = mark.selector_change(found, body) if selector_only else mark.change(found, body)
        if change is None:
            return False
        await self._writer.patch(SERVICES, key.name, change)
        return True

    async def _delete_services(self, decision: Decision) -> None:
        renamed = children.serve_service_name(self._service)
        for found in self._observed.serve_services:
            if found.metadata.name in decision.delete_services:
                await self._delete(SERVICES, found)
                self._events.event("Normal", "DeletedService", f"Deleted Service {found.key}: renamed to {renamed}")

    async def _roll(self, name: str, config: Object, now: datetime) -> None:
        # The cache does not keep clusters as they were written.
        live = await self._writer.get(RAY_CLUSTERS, name, _WrittenCluster)
        wanted, whole = self._service.spec.ray_cluster_config, entries(config, "workerGroupSpecs")
        change = children.rework(wanted, whole, entries(live.spec, "workerGroupSpecs"), live.metadata)
        change["metadata"]["annotations"][labels.PROGRESSED_AT] = rfc3339_micro(now)
        await self._writer.patch(RAY_CLUSTERS, name, change)
        message = f"Updated worker templates of RayCluster {live.key}: its workers are replaced one by one"
        self._events.event("Normal", "UpdatedRayCluster", message)

    async def _scale(self, name: str, config: Object) -> None:
        found = self._observed.clusters[name]
        whole = entries(config, "workerGroupSpecs")
        operations = children.resize(self._service.spec.ray_cluster_config, whole, found.cluster)
        if operations:
            await self._writer.patch(RAY_CLUSTERS, name, operations, PatchType.JSON)
            self._outcome.reshaped = True
            message = f"Updated worker group sizes of RayCluster {found.cluster.key}"
            self._events.event("Normal", "UpdatedRayCluster", message)

    async def _resuspend(self, name: str) -> None:
        cluster = self._observed.clusters[name].cluster
        operations = children.resuspend(self._service.spec.ray_cluster_config, cluster, kueues=self._kueues)
        if not operations:
            return
        await self._writer.patch(RAY_CLUSTERS, name, operations, PatchType.JSON)
        if len(operations) > 1:
            self._outcome.reshaped = True
            suspend = bool(self._service.spec.ray_cluster_config.suspend)
            verb = "Suspended" if suspend else "Resumed"
            message = f"{verb} RayCluster {cluster.key}: spec.rayClusterConfig.suspend is {str(suspend).lower()}"
            self._events.event("Normal", f"{verb}RayCluster", message)

    def _poll(self, decision: Decision, tokens: Mapping[str, str]) -> None:
        """Poll the dashboards that were decided on, and no others; the poller sends each its config."""
        wanted = {target.cluster: target for target in decision.serve_configs}
        changing = decision.pending is not None or decision.create is not None
        for name, found in self._observed.clusters.items():
            target = wanted.get(name)
            address = _dashboard_of(found)
            if target is None or address is None:
                self._poller.drop(found.cluster.key)
                continue
            in_place = found.child.config != found.child.good_config
            self._poller.follow(
                found.cluster.key,
                Target(
                    place=address,
                    head=found.head.metadata.uid if found.head else "",
                    token=tokens.get(found.cluster.metadata.uid, ""),
                    pace=Pace.UPGRADING if changing or in_place else Pace.IDLE,
                    deploy=_deploy(target, found),
                    proxies=routing.proxy_pods(found.cluster, found.pods),
                    routed=routing.required_routes(found.annotations),
                ),
            )

    async def _note_refreshed(self, decision: Decision) -> None:
        for target in decision.serve_configs:
            if target.cluster in decision.refreshed:
                await self._annotate_cluster(target.cluster, {labels.RESTARTED_AT: target.refresh})
                self._events.refreshed(target.cluster)

    async def _clear_annotations(self, decision: Decision) -> None:
        if decision.clear_annotations:
            metadata = self._service.metadata
            change = {"metadata": {"uid": metadata.uid, "annotations": dict.fromkeys(decision.clear_annotations)}}
            await self._writer.patch(RAY_SERVICES, metadata.name, change)

    async def _create(self, resource: Resource, body: Object, owner: str) -> None:
        """Create an object; one of its name that has the same owner is it."""
        try:
            await self._writer.create(resource, body)
        except AlreadyExists:
            found = await self._writer.get(resource, body["metadata"]["name"])
            controller = controller_of(found)
            if controller is None or controller.uid != owner:
                raise
            self._writer.seen(resource, found)

    async def _delete(self, resource: Resource, found: KubeObject) -> None:
        await self._writer.delete(resource, found.metadata.name, found.metadata.uid, "Background")


def _deploy(target: ServeConfigTarget, found: ObservedCluster) -> Deploy:
    text = deploy_text(found.annotations.config, target.redeployment, target.surges)
    surged = frozenset(each[:2] for each in target.surges if each.per_node)
    return Deploy(target.key, text, anew=target.anew, surged=surged)


def _dashboard_of(found: ObservedCluster) -> PodPort | None:
    """Its address; None while the head is not ready."""
    head = found.head
    if head is None or not head.ready:
        return None
    cluster = found.cluster
    return PodPort(cluster.metadata.namespace, head.metadata.name, head.status.pod_ip, listening_port(cluster))
