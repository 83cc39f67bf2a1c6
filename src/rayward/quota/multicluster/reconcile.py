"""Observe, decide, apply, report: RayServices of a manager cluster that run on worker clusters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.admission import Queueing
from rayward.kinds.kueue import AdmissionCheck, MultiKueueCluster, Workload, names
from rayward.kinds.rayservice import RayService
from rayward.kinds.resources import ADMISSION_CHECKS, MULTI_KUEUE_CLUSTERS, RAY_SERVICES, WORKLOADS
from rayward.kube.client import verbs
from rayward.kube.client.options import PatchType
from rayward.kube.core.meta import condition_of, with_condition
from rayward.kube.core.objects import Condition, Key, KubeObject
from rayward.kube.machinery.jsonvalue import section
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.events import EventFilter
from rayward.kube.runtime.predicates import label_key
from rayward.kube.runtime.registry import Environment, Source
from rayward.kube.runtime.shield import DRAIN_SECONDS, Shield
from rayward.quota.checks import UNSUPPORTED, where_checks_change
from rayward.quota.multicluster.apply import MANAGER, Applier
from rayward.quota.multicluster.decide import decide
from rayward.quota.multicluster.observe import caches_of, is_dispatched, observe, our_checks, workers_of
from rayward.quota.multicluster.remote import Remote, Remotes, service_key
from rayward.quota.multicluster.state import Decision, Forward, Pin, State
from rayward.quota.multicluster.status import status_of

NAME: Final = "multicluster"
_WARNED_OF: Final = ("NameConflict", "WorkerUnreachable", "InvalidSpec", UNSUPPORTED)
_CLUSTERS: Final = Source(MULTI_KUEUE_CLUSTERS, MultiKueueCluster)


class MulticlusterReconciler:
    """Takes quota on both clusters, then forwards the edit; answers the AdmissionChecks that are about that."""

    def __init__(self, environment: Environment, queueing: Queueing, services: Source[RayService]) -> None:
        self._client = environment.client
        self._clock = environment.clock
        self._recorder = environment.recorder
        self._queueing = queueing
        self._shield = Shield()
        self._caches = caches = caches_of(environment.informers, services)
        self._emitted: dict[Key, EventFilter] = {}
        self.controller = Controller(
            NAME,
            self._reconcile,
            workers=environment.workers,
            observer=environment.observer,
            clock=environment.clock,
        )
        self._checks = Controller(f"{NAME}-checks", self._reconcile_check, workers=1, clock=environment.clock)
        self._remotes = Remotes(
            environment.informers.cache(_CLUSTERS), environment.clock, self._opened, self._reconnected
        )
        self.background: Sequence[Callable[[], Awaitable[Any]]] = (self._remotes.run, self._checks.run)
        self.controller.watch(caches.services, self._dispatched)
        self.controller.watch(caches.claims, label_key(labels.ORIGIN_NAME))
        self.controller.watch(caches.checks, lambda old, new: self._all_services())
        self.controller.watch(caches.cluster_queues, where_checks_change(self._all_services))
        self.controller.watch(caches.local_queues, self._where_one_comes_or_goes)
        self.controller.watch(caches.configs, lambda old, new: self._all_services())
        self._checks.watch(caches.checks)
        self._checks.watch(caches.configs, lambda old, new: self._all_checks())

    async def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Wait for the answers to what was sent."""
        await self._shield.drain(seconds)

    async def _reconcile(self, key: Key) -> Result:
        state = observe(self._caches, self._remotes, key, self._queueing)
        if state.service is None and not state.claims:
            self._emitted.pop(key, None)
            return DONE
        if state.service is not None and not self._is_ours(state.service):
            return DONE
        decision = decide(state)

        def wrote(cache: Cache[Any], answer: KubeObject) -> None:
            self.controller.wrote(key, cache, answer)

        caches: dict[Any, Cache[Any]] = {RAY_SERVICES: self._caches.services, WORKLOADS: self._caches.claims}
        applier = Applier(self._client, self._remotes, self._shield, caches, wrote)
        for write in decision.writes:
            await applier.apply(write, state.service, self._clock.utc())

        await self._report(key, state, decision)
        return DONE

    async def _report(self, key: Key, state: State, decision: Decision) -> None:
        service, report = state.service, decision.report
        if service is None or report is None:
            return
        for write in decision.writes:
            if isinstance(write, Pin):
                self._emit(service, "Normal", "ChoseWorkerCluster", f"Worker cluster {write.worker} has quota for it")
            elif isinstance(write, Forward):
                message = f"Applied the RayService on worker cluster {write.worker}"
                self._emit(service, "Normal", "AppliedOnWorkerCluster", message)
        if report.reason in _WARNED_OF:
            self._emit(service, "Warning", report.reason, report.message)
        whole = self._caches.services.whole(key)
        if whole is None:
            return
        remote = self._remotes.get(state.pinned)
        theirs = remote.services.whole(key) if remote is not None else None
        before = section(whole, "status")
        made = status_of(service.metadata.generation, before, theirs, report, self._clock.utc())
        if made == before:
            return
        gone = {name: None for name in before if name not in made}
        body = {"metadata": {"uid": service.metadata.uid}, "status": {**gone, **made}}
        request = verbs.patch(
            RAY_SERVICES, key.name, body, PatchType.MERGE, key.namespace, subresource="status", field_manager=MANAGER
        )
        answer = await self._shield(self._client.send_as(request, KubeObject))
        self.controller.wrote(key, self._caches.services, answer)

    def _emit(self, service: RayService, kind: Any, reason: str, message: str) -> None:
        known = self._emitted.setdefault(service.key, EventFilter())
        if known.is_new(service.metadata.generation, reason, message):
            self._recorder.event(RAY_SERVICES, service, kind, reason, message)

    # whether the checks can be answered

    async def _reconcile_check(self, key: Key) -> Result:
        check = self._caches.checks.get(key)
        if check is None or check not in our_checks(self._caches):
            return DONE
        condition = self._activity(check)
        known = condition_of(check.status.conditions, names.ACTIVE)
        if known is not None and (known.status, known.message) == (condition.status, condition.message):
            return DONE
        conditions = with_condition(check.status.conditions, condition, self._clock.utc())
        body = {"metadata": {"uid": check.metadata.uid}, "status": {"conditions": msgspec.to_builtins(conditions)}}
        request = verbs.patch(
            ADMISSION_CHECKS, key.name, body, PatchType.MERGE, subresource="status", field_manager=MANAGER
        )
        answer = await self._shield(self._client.send_as(request, KubeObject))
        self._checks.wrote(key, self._caches.checks, answer)
        return DONE

    def _activity(self, check: AdmissionCheck) -> Condition:
        workers = workers_of(self._caches, check)
        problems = {name: self._remotes.problem(name) for name in workers}
        lost = "; ".join(f"{name}: {problem}" for name, problem in problems.items() if problem)
        generation = check.metadata.generation
        if not workers:
            found = check.spec.parameters
            name = found.name if found is not None else ""
            message = f"MultiKueueConfig {name} does not exist" if name else "spec.parameters names no MultiKueueConfig"
            return Condition(names.ACTIVE, "False", "BadConfig", message, observed_generation=generation)
        if all(problems.values()):
            message = f"No worker cluster is connected: {lost}"
            return Condition(names.ACTIVE, "False", "NoUsableClusters", message, observed_generation=generation)
        message = "All worker clusters are connected" if not lost else f"Worker clusters not connected: {lost}"
        return Condition(names.ACTIVE, "True", names.ACTIVE, message, observed_generation=generation)

    # whom a change concerns

    def _is_ours(self, service: RayService) -> bool:
        finalizers = service.metadata.finalizers or ()
        return is_dispatched(service, self._queueing) or labels.MULTICLUSTER in finalizers

    def _dispatched(self, old: RayService | None, new: RayService | None) -> Iterable[Key]:
        found = new or old
        return (found.key,) if found is not None and self._is_ours(found) else ()

    def _where_one_comes_or_goes(self, old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
        return self._all_services() if old is None or new is None else ()

    def _all_services(self) -> list[Key]:
        return [one.key for one in self._caches.services if self._is_ours(one)]

    def _all_checks(self) -> list[Key]:
        return [one.key for one in our_checks(self._caches)]

    def _opened(self, remote: Remote) -> None:
        def of_service(old: Workload | None, new: Workload | None) -> Iterable[Key]:
            return (service_key(old, new),)

        self.controller.watch(remote.services, self._copied)
        self.controller.watch(remote.workloads, of_service)
        self.controller.watch(remote.clusters, lambda old, new: (service_key(old, new),))

    def _copied(self, old: RayService | None, new: RayService | None) -> Iterable[Key]:
        found = new or old
        return (found.key,) if found is not None and found.key in self._caches.services else ()

    def _reconnected(self, name: str) -> None:
        for key in self._all_services():
            self.controller.add(key)
        for key in self._all_checks():
            self._checks.add(key)
