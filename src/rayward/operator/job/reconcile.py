"""The controller of RayJobs: what wakes a reconcile, and its four steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from rayward.kinds import labels
from rayward.kinds.admission import NO_QUEUES, Queueing
from rayward.kinds.managedby import is_managed_here
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.kinds.rayjob import RayJob, SubmissionMode
from rayward.kinds.resources import RAY_JOBS
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import Resource
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Result
from rayward.kube.runtime.predicates import controller_key
from rayward.kube.runtime.reconciler import Reconciler
from rayward.kube.runtime.registry import Environment
from rayward.operator.base.tokens import RETRY_SECONDS
from rayward.operator.base.writing import WRITE
from rayward.operator.cluster.pod import RayPod
from rayward.operator.cluster.services import listening_port
from rayward.operator.job import annotations as memory
from rayward.operator.job.apply import Applier
from rayward.operator.job.decide import decide
from rayward.operator.job.facts import Submitter
from rayward.operator.job.metrics import JobMetrics
from rayward.operator.job.observe import (
    BY_SELECTED,
    RAY_JOBS_WHOLE,
    Local,
    Observed,
    caches_of,
    observe,
    state_of,
    submitting,
    view,
)
from rayward.operator.job.state import Action, Decision
from rayward.operator.ray.jobprobe import JobProbe, JobsSeen, JobTarget
from rayward.operator.ray.jobs import JobDashboard
from rayward.operator.ray.observation import Observation
from rayward.operator.ray.poller import Poller
from rayward.operator.ray.reach import PodPort, Reach

NAME: Final = "rayjob"
_OWNER: Final = controller_key(RAY_JOBS)
_POLLED: Final = frozenset((Phase.INITIALIZING, Phase.WAITING, Phase.RUNNING, Phase.SUSPENDING))


class JobReconciler(Reconciler[RayJob, Local]):
    def __init__(
        self,
        environment: Environment,
        metrics: JobMetrics,
        reach: Reach,
        queueing: Queueing = NO_QUEUES,
        domain: str = "cluster.local",
    ) -> None:
        super().__init__(NAME, environment, RAY_JOBS_WHOLE, WRITE, Local)
        self._caches = caches = caches_of(environment.informers)
        self._metrics = metrics
        metrics.follow(caches.jobs)
        self._reach = reach
        self._domain = domain
        self._queueing = queueing
        self.poller: Poller[JobTarget, JobsSeen] = Poller(
            JobProbe(reach, self.clock), self._head_changed, clock=self.clock
        )
        self.background = (self.poller.run,)
        self._followed: dict[Key, dict[Key, str]] = {}
        """By cluster: which jobs look at which of Ray's ids on it."""
        self._followed_by: dict[Key, Key] = {}
        """By job: the cluster that it looks at."""
        self._turns: dict[Key, int] = {}
        self.controller.watch(caches.clusters, self._jobs_of_cluster)
        self.controller.watch(caches.submitters, _OWNER)
        self.controller.watch(caches.services, _OWNER)
        self.controller.watch(caches.pods, self._jobs_of_pod)

    def caches(self) -> Mapping[Resource, Cache[Any]]:
        """Where its writes show."""
        return self._caches.by_resource

    def manages(self, found: RayJob) -> bool:
        """Whether the job is left to this operator."""
        return is_managed_here(found.spec.managed_by)

    def forget(self, key: Key) -> None:
        """A job that is gone is not asked for any more."""
        cluster = self._followed_by.get(key)
        if cluster is not None:
            self._leave(key, cluster)

    async def reconcile(self, found: RayJob, local: Local) -> Result:
        """Observe, decide, write and act, then look after what may change."""
        attempt = memory.read(found.metadata.annotations)
        on = Key(found.metadata.namespace, attempt.cluster if attempt is not None else found.status.ray_cluster_name)
        latest = self.poller.latest(on)
        observed = observe(self._caches, found, latest)
        if local.submitting not in ("", submitting(observed)):
            # What Ray said before the submitter's end does not tell what it submitted: the same below.
            local.sent = self._next_turn(observed.cluster)
        local.submitting = submitting(observed)
        now = self.clock.utc()
        state = state_of(observed, view(observed, latest, local), local, now)
        decision = decide(state, now)
        if local.warnings and not state.phase.ended:
            self._record(found, local, "UnexpectedRayJobSpec", local.warnings, warning=True)
        for event in decision.events:
            self._record(found, local, event.reason, event.message, warning=event.warning)
        refused = await self._learn_token(observed, on, local)
        applier = Applier(
            self.client,
            self.writer(found),
            observed,
            state,
            local,
            self._dashboard(observed, local),
            lambda: self.objects.whole(found.key),
            self._domain,
            partial(self._record, found, local),
            lambda: self._next_turn(observed.cluster),
            self._queueing,
        )
        if state.submitter is Submitter.UNREAD and observed.submitter_uid not in local.unread_since:
            local.unread_since[observed.submitter_uid], local.sent = now, self._next_turn(observed.cluster)
        if found.deleting and decision.stopping and not state.ray.answered and not local.roused:
            # A head that was silent for long is looked at rarely: it may answer again, and the deletion waits not long.
            local.roused, local.sent = True, self._next_turn(observed.cluster)
        await applier.apply(decision)
        if Action.STOP in decision.actions:
            local.stop_sent = now
        self._metrics.status_written(observed.job, decision.status)
        self._follow(found.key, on, observed, decision, local)
        if decision.status.job_deployment_status != found.status.job_deployment_status:
            return Result(requeue_after=0.0)
        again = None if decision.wake_at is None else max((decision.wake_at - now).total_seconds(), 0.1)
        if refused:
            again = min(again or RETRY_SECONDS, RETRY_SECONDS)
        if _has_read_a_log(observed, decision, local) or (not state.refusal and _is_refused(observed, local)):
            again = 0.0
        return DONE if again is None else Result(requeue_after=again)

    def _record(self, job: RayJob, local: Local, reason: str, message: str, *, warning: bool = False) -> None:
        if local.events.is_new(job.metadata.generation, reason, message):
            self.recorder.event(RAY_JOBS, job, "Warning" if warning else "Normal", reason, message)

    def _dashboard(self, observed: Observed, local: Local) -> JobDashboard | None:
        place = _place(observed)
        if place is None or observed.cluster is None:
            return None
        return JobDashboard(self._reach, place, token=local.tokens.known.get(observed.cluster.metadata.uid, ""))

    async def _learn_token(self, observed: Observed, on: Key, local: Local) -> bool:
        if observed.cluster is None:
            return False
        failure = self.poller.latest(on).failure
        seen = Observation(failure=failure)
        return await local.tokens.learn(self.client, [(observed.cluster, seen)])

    def _follow(self, key: Key, on: Key, observed: Observed, decision: Decision, local: Local) -> None:
        """Look at the head while something of this job may change there."""
        place = _place(observed)
        phase = Phase(decision.status.job_deployment_status)
        before = self._followed_by.get(key)
        if before is not None and before != on:
            self._leave(key, before)
        ready = state_ready(observed)
        asked = phase in _POLLED or decision.stopping
        if place is None or not asked or not ready or observed.cluster is None or observed.head is None:
            self._leave(key, on)
            return
        jobs = self._followed.setdefault(on, {})
        jobs[key] = observed.job_id
        self._followed_by[key] = on
        self.poller.follow(
            on,
            JobTarget(
                place,
                observed.head.metadata.uid,
                local.tokens.known.get(observed.cluster.metadata.uid, ""),
                frozenset(name for name in jobs.values() if name),
                self._turns.get(on, 0),
                _started(observed.head),
                self._submitted_here(jobs),
            ),
        )

    def _submitted_here(self, jobs: Mapping[Key, str]) -> frozenset[str]:
        found = ((self.objects.get(key), name) for key, name in jobs.items())
        return frozenset(
            name for job, name in found if job is not None and job.spec.submission_mode == SubmissionMode.HTTP
        )

    def _next_turn(self, cluster: RayCluster | None) -> tuple[str, int]:
        """Something is being sent to a head: from its answer on it is looked at anew."""
        if cluster is None:
            return "", 0
        self._turns[cluster.key] = turn = self._turns.get(cluster.key, 0) + 1
        return cluster.metadata.uid, turn

    def _leave(self, key: Key, cluster: Key) -> None:
        jobs = self._followed.get(cluster)
        if jobs is None:
            return
        jobs.pop(key, None)
        if self._followed_by.get(key) == cluster:
            del self._followed_by[key]
        if not jobs:
            del self._followed[cluster]
            self.poller.drop(cluster)

    def _head_changed(self, cluster: Key) -> None:
        for key in self._followed.get(cluster, ()):
            self.controller.add(key)

    def _jobs_of_cluster(self, old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
        found = new or old
        if found is None:
            return ()
        if new is None:
            self._turns.pop(found.key, None)
        return {*_OWNER(old, new), *self._followed.get(found.key, ()), *self._choosing(found)}

    def _choosing(self, found: KubeObject) -> Iterable[Key]:
        """The jobs that name a cluster by their selector."""
        return [job.key for job in self.objects.find(BY_SELECTED, f"{found.metadata.namespace}/{found.metadata.name}")]

    def _jobs_of_pod(self, old: KubeObject | None, new: KubeObject | None) -> Iterable[Key]:
        found = new or old
        if found is None or found.metadata.label(labels.NODE_TYPE) != labels.HEAD:
            return ()
        cluster = Key(found.metadata.namespace, found.metadata.label(labels.CLUSTER))
        return self._jobs_of_cluster(None, self._caches.clusters.get(cluster))


def state_ready(observed: Observed) -> bool:
    """Whether there is a head that can be asked."""
    head = observed.head
    return head is not None and not head.deleting and head.ready and bool(head.status.pod_ip)


def _place(observed: Observed) -> PodPort | None:
    head, cluster = observed.head, observed.cluster
    if head is None or cluster is None or not head.status.pod_ip:
        return None
    return PodPort(head.metadata.namespace, head.metadata.name, head.status.pod_ip, listening_port(cluster))


def _started(head: RayPod) -> float:
    """When a container of the head last started, in seconds since 1970; 0 where nobody says."""
    states = [each.state for each in head.status.container_statuses or () if each.state is not None]
    times = [memory.moment(state.running.started_at) for state in states if state.running is not None]
    return max((time.timestamp() for time in times if time is not None), default=0.0)


def _has_read_a_log(observed: Observed, decision: Decision, local: Local) -> bool:
    """Whether a log was read in this reconcile: the next one puts it into the status."""
    if Action.READ_SUBMITTER_LOG in decision.actions:
        return observed.submitter_uid in local.words
    return (
        Action.READ_LOG in decision.actions and observed.attempt is not None and observed.attempt.number in local.tails
    )


def _is_refused(observed: Observed, local: Local) -> bool:
    """Whether a submission was refused in this reconcile: the next one says so."""
    return observed.attempt is not None and (observed.attempt.cluster, observed.job_id) in local.refusals
