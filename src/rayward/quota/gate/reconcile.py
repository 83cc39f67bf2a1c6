"""Observe, decide, apply, report: the gate before the pods of one RayCluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from rayward.kinds import labels
from rayward.kinds.admission import BY_KUEUE, NEVER_FITS, Queueing
from rayward.kinds.kueue import Workload, names
from rayward.kinds.rayjob import DeploymentStatus, RayJob
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES, WORKLOADS
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import PODS, Resource
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.events import EventFilter
from rayward.kube.runtime.predicates import label_key
from rayward.kube.runtime.registry import Environment
from rayward.kube.runtime.shield import DRAIN_SECONDS, Shield
from rayward.quota.checks import where_checks_change
from rayward.quota.gate.apply import GATE, MANAGER, Applier
from rayward.quota.gate.decide import decide, gives_back
from rayward.quota.gate.metrics import GateMetrics
from rayward.quota.gate.observe import (
    BY_ORIGIN,
    SUBMITTER_PODS,
    SURGE,
    GatePod,
    LivePods,
    Shared,
    caches_of,
    is_prebuilt,
    job_of,
    keys_of_job,
    observe,
    siblings,
    submitting,
)
from rayward.quota.gate.podgates import PodGates
from rayward.quota.gate.standing import REJECT, Standings, overdue
from rayward.quota.gate.state import AbortUpgrade, State, WriteGrant

NAME: Final = "quota-gate"
_SAY_AGAIN_SECONDS: Final = 5.0
"""How old the numbers in the condition of a cluster that waits may be."""
_TOLD_A_SECOND: Final = 4
_RETRY_SECONDS: Final = 1.0


class GateReconciler:
    """Asks for quota for RayClusters, and lets them run what was admitted."""

    def __init__(self, environment: Environment, metrics: GateMetrics, queueing: Queueing, shared: Shared) -> None:
        self._client = environment.client
        self._clock = environment.clock
        self._recorder = environment.recorder
        self._metrics = metrics
        self._queueing = queueing
        self._pods = shared.pods.selectors.get("label_selector", "")
        self._shield = Shield()
        self._caches = caches = caches_of(environment.informers, shared)
        self._standings = Standings(caches, environment.clock)
        self._emitted: dict[Key, EventFilter] = {}
        self._told_at: dict[Key, float] = {}
        self.controller = Controller(
            NAME,
            self._reconcile,
            workers=environment.workers,
            observer=environment.observer,
            clock=environment.clock,
        )
        self._jobs = Controller("quota-gate-jobs", self._reconcile_job, workers=2, clock=environment.clock)
        held = PodGates(environment, self._shield, MANAGER, caches.pods, caches.submitters)
        self.background: Sequence[Callable[[], Awaitable[Any]]] = (self._jobs.run, held.controller.run)
        self.controller.watch(caches.clusters, self._keys_of_cluster)
        self.controller.watch(caches.workloads, self._keys_of_workload)
        self.controller.watch(caches.pods, label_key(labels.CLUSTER))
        self.controller.watch(caches.submitters, self._keys_of_submitter)
        self.controller.watch(caches.services, self._keys_of_service)
        self.controller.watch(caches.priorities, self._keys_of_priority)
        self.controller.watch(caches.flavors, self._keys_of_flavor)
        self.controller.watch(caches.cluster_queues, where_checks_change(self._gated))
        self.controller.watch(caches.local_queues, self._where_one_comes_or_goes)
        self.controller.watch(caches.checks, self._where_one_comes_or_goes)
        self.controller.watch(caches.jobs, lambda old, new: self._keys_of_job(new or old))
        self._jobs.watch(caches.jobs)
        self._jobs.watch(caches.workloads, self._job_of_workload)

    async def drain(self, seconds: float = DRAIN_SECONDS) -> None:
        """Wait for the answers to what was sent."""
        await self._shield.drain(seconds)

    async def _reconcile(self, key: Key) -> Result:
        state = self._observe(key)
        decision = decide(state)
        if gives_back(decision) or decision.violation:
            # the operator's acknowledgement may be newer than what the caches know of its pods
            state = self._observe(key, await self._read_pods(key, state))
            decision = decide(state)

        if decision.violation:
            self._metrics.violated(key.namespace)
        self._emit(key, state, [(event.type, event.reason, event.message) for event in decision.events])

        applier = self._applier(self.controller, key)
        for write in decision.writes:
            await applier.apply(write, state.cluster, self._clock.utc())
            if isinstance(write, WriteGrant) and state.standing.message:
                self._told_at[key] = self._clock.now()
            elif isinstance(write, AbortUpgrade):
                self._tell_service(key, state, write)

        self._report(key, state)
        waits = state.cluster is not None and state.terms is not None and _waiting(state) is not None
        return Result(requeue_after=_say_again_seconds(state)) if waits else DONE

    async def _read_pods(self, key: Key, state: State) -> LivePods:
        """What runs, as the server has it now and not as a cache does."""
        pods = await self._list_pods(key.namespace, f"{self._pods},{labels.CLUSTER}={key.name}")
        job = job_of(state.workloads)
        if not job:
            return LivePods(pods)
        return LivePods(pods, await self._list_pods(key.namespace, f"{SUBMITTER_PODS},{labels.ORIGIN_NAME}={job}"))

    async def _list_pods(self, namespace: str, selector: str) -> list[GatePod]:
        found = await self._client.list(PODS, namespace, label_selector=selector)
        return [msgspec.convert(one, GatePod) for one in found.items]

    def _observe(self, key: Key, live: LivePods | None = None) -> State:
        cluster = self._caches.clusters.get(key)
        stopped = ""
        if cluster is not None and self._queueing.queue_of(cluster.metadata):
            successor = self._standings.replaced_by(cluster)
            if successor:
                stopped = f"Stopped to make room for RayCluster {successor} ({labels.QUOTA_POLICY}=Recreate)"
        state = observe(self._caches, key, self._queueing, stopped, live)
        if cluster is None or state.terms is None:
            return state
        waiting = _waiting(state)
        if waiting is None:
            return state
        state = dataclasses.replace(state, standing=self._standings.of(cluster, waiting))
        if state.terms is not None and state.terms.role == SURGE:
            timeout = self._standings.queue_timeout(cluster)
            state = dataclasses.replace(
                state,
                upgrade_of=cluster.metadata.label(labels.ORIGIN_NAME),
                rejects=self._standings.policy(cluster) == REJECT,
                overdue=overdue(waiting, timeout, self._clock.utc()) if timeout is not None else "",
            )
        told = self._told_at.get(key)
        lately = told is not None and self._clock.now() - told < _say_again_seconds(state)
        return dataclasses.replace(state, told_lately=lately)

    def _report(self, key: Key, state: State) -> None:
        """An event where the condition that an operator will report is news."""
        if state.cluster is None:
            self._emitted.pop(key, None)
            self._told_at.pop(key, None)
        elif state.terms is None:
            if message := self._queueing.left_to_kueue(state.cluster.metadata):
                self._emit(key, state, [("Warning", BY_KUEUE, message)])
        elif state.problem is not None:
            self._emit(key, state, [("Warning", *state.problem)])
        elif state.standing.never_fits:
            self._emit(key, state, [("Warning", NEVER_FITS, state.standing.never_fits)])
        elif state.standing.problem:
            self._emit(key, state, [("Warning", "Inadmissible", state.standing.problem)])

    def _emit(self, key: Key, state: State, events: Iterable[tuple[Any, str, str]]) -> None:
        if state.cluster is None:
            return
        known = self._emitted.setdefault(key, EventFilter())
        for kind, reason, message in events:
            if known.is_new(state.cluster.metadata.generation, reason, message):
                self._recorder.event(RAY_CLUSTERS, state.cluster, kind, reason, message)

    def _tell_service(self, key: Key, state: State, given_up: AbortUpgrade) -> None:
        """The RayCluster that was given up goes, and its events with it."""
        service = self._caches.services.get(Key(key.namespace, given_up.service))
        known = self._emitted.setdefault(key, EventFilter())
        assert state.cluster is not None
        if service is not None and known.is_new(state.cluster.metadata.generation, given_up.reason, given_up.service):
            self._recorder.event(RAY_SERVICES, service, "Warning", given_up.reason, given_up.message)

    def _applier(self, controller: Controller, key: Key) -> Applier:
        shown: dict[Resource, Cache[Any]] = {
            RAY_CLUSTERS: self._caches.clusters,
            WORKLOADS: self._caches.workloads,
            RAY_JOBS: self._caches.jobs,
        }

        def wrote(resource: Resource, answer: KubeObject) -> None:
            if resource in shown:
                controller.wrote(key, shown[resource], answer)

        return Applier(self._client, self._shield, key.namespace, wrote)

    # jobs that the gate suspended

    async def _reconcile_job(self, key: Key) -> Result:
        """Resume a RayJob once nothing of its preempted attempt is left: its next one waits in the queue."""
        caches = self._caches
        if not all(
            cache.synced for cache in (caches.jobs, caches.clusters, caches.workloads, caches.pods, caches.submitters)
        ):
            return Result(requeue_after=_RETRY_SECONDS)
        job = caches.jobs.get(key)
        if job is None or job.deleting or job.metadata.annotation(labels.SUSPENDED_BY) != GATE:
            return DONE
        applier = self._applier(self._jobs, key)
        if not job.spec.suspend:
            await applier.resume(job, clear=True)
        elif job.status.job_deployment_status == DeploymentStatus.SUSPENDED and not self._left_of(job):
            await applier.resume(job, clear=False)
        return DONE

    def _left_of(self, job: RayJob) -> bool:
        namespace, name = job.metadata.namespace, job.metadata.name
        if submitting(self._caches, namespace, name):
            return True
        states = (observe(self._caches, key, self._queueing) for key in keys_of_job(self._caches, namespace, name))
        return any(
            state.cluster is not None or any(not one.finished for one in state.workloads) or any(state.pods.values())
            for state in states
        )

    # whom a change concerns

    def _where_one_comes_or_goes(self, old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
        return self._gated() if old is None or new is None else ()

    def _gated(self) -> list[Key]:
        return [one.key for one in self._caches.clusters if self._queueing.queue_of(one.metadata)]

    def _keys_of_cluster(self, old: Any, new: Any) -> Iterable[Key]:
        found = new or old
        return {found.key, *(one.key for one in siblings(self._caches, found))}

    def _keys_of_workload(self, old: Workload | None, new: Workload | None) -> Iterable[Key]:
        found = new or old
        if found is None or not is_prebuilt(found):
            return label_key(labels.CLUSTER)(old, new)
        origin = Key(found.metadata.namespace, found.metadata.label(labels.ORIGIN_NAME))
        return [one.key for one in self._caches.clusters.find(BY_ORIGIN, str(origin))]

    def _keys_of_service(self, old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
        found = new or old
        if found is None:
            return ()
        clusters = self._caches.clusters.find(BY_ORIGIN, str(found.key))
        return [one.key for one in clusters if one.metadata.label(labels.ORIGIN_KIND) == RAY_SERVICES.kind]

    def _keys_of_priority(self, old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
        found = new or old
        name = found.metadata.name if found is not None else ""
        return [one.key for one in self._caches.clusters if one.metadata.label(names.PRIORITY_CLASS) == name]

    def _keys_of_flavor(self, old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
        found = new or old
        name = found.metadata.name if found is not None else ""
        return {
            Key(one.metadata.namespace, one.metadata.label(labels.CLUSTER))
            for one in self._caches.workloads
            if one.metadata.label(labels.CLUSTER_UID)
            and one.status.admission is not None
            and any(name in (each.flavors or {}).values() for each in one.status.admission.pod_set_assignments)
        }

    def _keys_of_submitter(self, old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
        found = new or old
        if found is None:
            return ()
        meta = found.metadata
        return keys_of_job(self._caches, meta.namespace, meta.label(labels.ORIGIN_NAME))

    def _keys_of_job(self, job: RayJob | None) -> Iterable[Key]:
        return () if job is None else keys_of_job(self._caches, job.metadata.namespace, job.metadata.name)

    def _job_of_workload(self, old: Workload | None, new: Workload | None) -> Iterable[Key]:
        found = new or old
        if found is None or found.metadata.label(labels.ORIGIN_KIND) != RAY_JOBS.kind:
            return ()
        return (Key(found.metadata.namespace, found.metadata.label(labels.ORIGIN_NAME)),)


def _say_again_seconds(state: State) -> float:
    """How old numbers may be: all who wait in one queue together write a few times a second."""
    return max(_SAY_AGAIN_SECONDS, state.standing.waiting / _TOLD_A_SECOND)


def _waiting(state: State) -> Workload | None:
    """The newest Workload of the cluster that waits for quota."""
    assert state.cluster is not None
    uid = state.cluster.metadata.uid
    mine = [one for one in state.workloads if one.metadata.label(labels.CLUSTER_UID) == uid]
    return next((one for one in reversed(mine) if not one.finished and not one.reserved), None)
