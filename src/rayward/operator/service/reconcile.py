"""The reconciler of RayServices: observe, decide, apply, report."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from rayward.kinds.admission import NO_QUEUES, Queueing
from rayward.kinds.effects import ReleaseChange, release_change
from rayward.kinds.managedby import is_managed_here
from rayward.kinds.raycluster import Object, RayCluster
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import RAY_SERVICES
from rayward.kube.core.meta import rfc3339
from rayward.kube.core.objects import Key
from rayward.kube.core.resource import Resource
from rayward.kube.machinery.jsonvalue import section
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Result
from rayward.kube.runtime.events import EventFilter
from rayward.kube.runtime.predicates import controller_key
from rayward.kube.runtime.reconciler import Reconciler
from rayward.kube.runtime.registry import Environment
from rayward.operator.base.tokens import RETRY_SECONDS, Tokens
from rayward.operator.base.writing import WRITE
from rayward.operator.ray.poller import Poller
from rayward.operator.ray.reach import Reach
from rayward.operator.ray.serve import ServeProbe
from rayward.operator.service import suspension
from rayward.operator.service.apply import Applier
from rayward.operator.service.children import serve_service_name
from rayward.operator.service.conditions import Conditions, Facts, conditions, failure_of, observed_generation
from rayward.operator.service.decide import decide
from rayward.operator.service.desired import Desired, desired_of, policy_of
from rayward.operator.service.events import ServiceEvents
from rayward.operator.service.finalize import finalizers_left
from rayward.operator.service.metrics import ServiceMetrics
from rayward.operator.service.observe import RAY_SERVICES_WHOLE, Observed, caches_of, observe
from rayward.operator.service.state import Decision, Policy, State
from rayward.operator.service.status import patch, status_of

NAME: Final = "rayservice"
_Written = tuple[int, dict[str, str] | None, dict[str, str] | None]


@dataclass(slots=True)
class LocalState:
    """What this process knows of a RayService beyond the API."""

    events: EventFilter = field(default_factory=EventFilter)
    tokens: Tokens = field(default_factory=Tokens)
    status: Object = field(default_factory=dict[str, Any])
    """As it was last written."""
    generation: int = 0
    edited_at: datetime | None = None
    """When this generation came, if it came while this process was there to see it."""
    _desired: tuple[_Written, Desired] | None = None

    def saw(self, generation: int, now: datetime) -> None:
        """Note when a generation came."""
        if generation != self.generation:
            self.edited_at = now if self.generation else None
            self.generation = generation

    def desired(self, service: RayService) -> Desired:
        """What the service asks for; annotations and labels are validated too, and are no part of the generation."""
        metadata = service.metadata
        written = (metadata.generation, metadata.annotations, metadata.labels)
        if self._desired is None or self._desired[0] != written:
            self._desired = (written, desired_of(service))
        return self._desired[1]


class ServiceReconciler(Reconciler[RayService, LocalState]):
    def __init__(
        self, environment: Environment, metrics: ServiceMetrics, reach: Reach, queueing: Queueing = NO_QUEUES
    ) -> None:
        super().__init__(NAME, environment, RAY_SERVICES_WHOLE, WRITE, LocalState)
        self._queueing = queueing
        self._caches = caches = caches_of(environment.informers)
        self._metrics = metrics
        self.poller = Poller(ServeProbe(reach), self._dashboard_changed, clock=self.clock)
        self.background = (self.poller.run,)
        metrics.follow(caches.services)
        self.controller.watch(caches.clusters.clusters, controller_key(RAY_SERVICES))
        self.controller.watch(caches.clusters.services, caches.keys_of_service)
        self.controller.watch(caches.clusters.pods, caches.keys_of_pod)
        self.controller.watch(caches.slices, caches.keys_of_slice)
        caches.clusters.clusters.subscribe(self._cluster_changed)

    def caches(self) -> Mapping[Resource, Cache[Any]]:
        """Where its writes show."""
        return {**self._caches.clusters.by_resource, RAY_SERVICES: self._caches.services}

    def manages(self, found: RayService) -> bool:
        """Whether ``spec.managedBy`` leaves the service to this operator."""
        return is_managed_here(found.spec.managed_by)

    async def reconcile(self, found: RayService, local: LocalState) -> Result:
        """Observe, decide, apply, report."""
        now = self.clock.utc()
        local.saw(found.metadata.generation, now)
        observed = observe(self._caches, found, self.poller.latest)
        events = ServiceEvents(self.recorder, found, local.events)
        services, kueues = self._caches.clusters.services, self._queueing.is_kueues(found.metadata)
        applier = Applier(self.writer(found), self.poller, services, events, found, observed, kueues=kueues)
        if found.deleting:
            await applier.finalize(finalizers_left(found.metadata.finalizers, len(observed.clusters)))
            return DONE
        left = len(observed.clusters) + len(observed.owned_services)
        before, generation, desired = found.status.conditions, found.metadata.generation, local.desired(found)
        suspended = suspension.decide(before, found.spec.suspend, left, generation, now, desired.rejected)
        if suspended is not None:
            events.spec(desired)
            if suspended.delete:
                await applier.delete_all()
            report = _Report(found, observed, events, local, now)
            # A resume that came meanwhile is of a generation that has not begun.
            complete = found.spec.suspend and not suspended.in_progress
            generation = generation if complete else found.status.observed_generation
            written = await self._write_status(report, Decision(), suspended.conditions, generation)
            # The next step begins with what was written, and nothing else may change meanwhile.
            return Result(requeue_after=0.0) if written else DONE
        return await self._reconcile_release(_Report(found, observed, events, local, now), applier)

    async def _reconcile_release(self, report: _Report, applier: Applier) -> Result:
        service, observed, now, local = report.service, report.observed, report.now, report.local
        desired, policy = local.desired(service), policy_of(service, self._queueing)
        report.events.spec(desired)
        state = _state_of(service, observed, desired, policy)
        decision = decide(state, now)
        facts = Facts(
            service.metadata.generation,
            observed.endpoints,
            decision,
            observed.silent(now),
            desired.rejected,
            observed=service.status.observed_generation,
            moving=observed.backends.awaited(decision.active.name) if decision.active is not None else "",
        )
        # The next leader would try again what it does not know to have failed: written before it is acted upon.
        failed = decision.failure is not None and decision.failure != state.failure
        if failed:
            await self._report(report, facts)
            if decision.failure and state.failure is None and not desired.rejected:
                self._metrics.failed(service, decision.failure.reason)
        found = ((each.cluster, each.observation) for each in observed.clusters.values())
        unauthorized = await local.tokens.learn(self.client, found)
        outcome = await applier.apply(decision, desired, self._config_of(service), local.tokens.known, now)
        report.events.decided(decision, abort=policy.abort, cleared=outcome.clean)
        if decision.active is not None:
            serving = observed.clusters[decision.active.name]
            if desired.rejected is None:
                report.events.dropped_groups(serving.cluster.spec)
                report.events.ray_version(serving.cluster, serving.observation.ray_version)
                if not decision.roll and decision.active.rolling_since is None:
                    report.events.edited_cluster(serving.cluster)
        if decision.switch_to and outcome.clean:
            self._observe_duration(service, decision, local, now)
        if outcome.denied or not (failed or decision.switch_to or outcome.reshaped):
            # Of a switch, and of other sizes, the next reconcile reports, which sees what came of it.
            await self._report(report, dataclasses.replace(facts, denied=outcome.denied))
        if outcome.errors:
            raise outcome.errors[0]
        waits = [RETRY_SECONDS] if unauthorized or outcome.denied else []
        if decision.requeue_at is not None:
            waits.append(max((decision.requeue_at - now).total_seconds(), 0.0) + 0.01)
        return Result(requeue_after=min(waits)) if waits else DONE

    async def _report(self, report: _Report, facts: Facts) -> None:
        after = conditions(report.service.status.conditions, facts, report.now)
        await self._write_status(report, facts.decision, after, observed_generation(facts))

    async def _write_status(self, report: _Report, decision: Decision, after: Conditions, generation: int) -> bool:
        """Write the status where it differs; whether it did."""
        service, now = report.service, report.now
        status = status_of(service, report.observed, decision, after, generation=generation, now=now)
        before = section(self._caches.services.whole(service.key) or {}, "status")
        changes = patch(before, status, report.local.status)
        if changes:
            report.local.status = status
            changes["lastUpdateTime"] = rfc3339(now)
            await self.writer(service).patch_status(RAY_SERVICES, service, changes, wait=True)
            report.events.transitions(service.status.conditions, after)
        return bool(changes)

    def _observe_duration(self, service: RayService, decision: Decision, local: LocalState, now: datetime) -> None:
        """Of an upgrade; the first release has nothing to switch from."""
        pending = decision.pending
        if pending is None or decision.active is None:
            return
        since = local.edited_at or (None if pending.promoted else pending.created)
        if since is not None:
            self._metrics.switched(service, (now - since).total_seconds())

    def _config_of(self, service: RayService) -> Object:
        whole = self._caches.services.whole(service.key) or {}
        return section(section(whole, "spec"), "rayClusterConfig")

    def _cluster_changed(self, old: RayCluster | None, new: RayCluster | None) -> None:
        """The dashboard of a cluster that is gone is polled no longer, whether its RayService exists or not."""
        if new is None and old is not None:
            self.poller.drop(old.key)

    def _dashboard_changed(self, cluster: Key) -> None:
        for key in self._caches.keys_of_cluster(cluster.namespace, cluster.name):
            self.controller.add(key)


@dataclass(frozen=True, slots=True)
class _Report:
    """What a report of one reconcile needs."""

    service: RayService
    observed: Observed
    events: ServiceEvents
    local: LocalState
    now: datetime


def _state_of(service: RayService, observed: Observed, desired: Desired, policy: Policy) -> State:
    return State(
        desired=desired.release,
        policy=policy,
        clusters=observed.children,
        serving=observed.serving,
        failure=failure_of(service.status.conditions, service.metadata.generation),
        change=_change_of(service, observed, desired, policy),
        serve_service=serve_service_name(service),
        serve_services=tuple(found.metadata.name for found in observed.serve_services if not found.deleting),
    )


def _change_of(service: RayService, observed: Observed, desired: Desired, policy: Policy) -> ReleaseChange | None:
    serving = observed.clusters.get(observed.serving)
    if desired.release is None or serving is None or serving.cluster.deleting:
        return None
    return release_change(
        serving.cluster.spec,
        service.spec.ray_cluster_config,
        in_place_only=policy.in_place_only,
        rolls_workers=policy.rolls_workers,
        running_hash=serving.child.cluster_hash,
    )
