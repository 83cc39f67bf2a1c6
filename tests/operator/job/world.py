"""A world in which a RayJob lives: a head that restarts, a submitter, an operator that dies between writes.

Only the decision under test is real. Runs are counted where they begin, in Ray; what the operator is shown of it may be
old or missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.kinds.rayjob import JobStatus, RayJob, RayJobSpec
from rayward.operator.job import annotations as memory
from rayward.operator.job.annotations import Attempt
from rayward.operator.job.decide import decide
from rayward.operator.job.facts import Cluster, Submitter
from rayward.operator.job.state import Action, Decision, RayView, State, had

START = datetime(2026, 1, 1, tzinfo=UTC)
_ALL = 99
"""More writes than a reconcile has."""


def job(**spec: Any) -> RayJob:
    return msgspec.convert(
        {
            "metadata": {"name": "j", "namespace": "default", "uid": "u", "generation": 1},
            "spec": {"entrypoint": "run", "rayClusterSpec": {}, "submissionMode": "HTTPMode", **spec},
        },
        RayJob,
    )


@dataclass
class Run:
    """A job that Ray took."""

    cluster: str
    job_id: str
    session: str
    status: JobStatus = JobStatus.RUNNING


@dataclass
class World:
    """What is the case; ``step`` lets the operator reconcile once."""

    job: RayJob
    attempt: Attempt | None = None
    now: datetime = START
    problems: str = ""
    retry_unknown: bool = False
    gone: bool = False
    """Whether the object is gone: it was deleted and has no finalizer any more."""
    clusters: dict[str, Cluster] = field(default_factory=dict[str, Cluster])
    sessions: dict[str, int] = field(default_factory=dict[str, int])
    runs: list[Run] = field(default_factory=list[Run])
    submitter: Submitter = Submitter.NONE
    submitter_session: str = ""
    leaving: bool = False
    """Whether the submitter is being deleted: until it is gone it may still submit."""
    down: bool = False
    dead: set[str] = field(default_factory=set[str])
    """Clusters whose head died and is not made again: in SidecarMode its pod runs once."""
    lagging: Cluster | None = None
    """What the cluster was before somebody else changed it, which a cache may still show."""
    log: str | None = None
    unanswered: datetime | None = None
    """What the operator's process remembers of a silence."""
    lost: datetime | None = None
    """What it remembers of a head that is lost."""
    made: int = 0
    looks: list[RayView] = field(default_factory=list[RayView])
    """What the operator's process saw since it last sent something or a submitter ended: nothing before that counts."""
    decisions: list[Decision] = field(default_factory=list[Decision])

    @property
    def phase(self) -> Phase:
        return Phase(self.job.status.job_deployment_status)

    @property
    def name(self) -> str:
        return self.job.status.ray_cluster_name

    @property
    def cluster(self) -> Cluster:
        return self.clusters.get(self.name, Cluster.ABSENT)

    @property
    def mode(self) -> str:
        return self.job.spec.submission_mode

    @property
    def job_id(self) -> str:
        """The id that Ray is asked for: in InteractiveMode the one that the user gave."""
        given = self.job.spec.job_id
        began = self.attempt.job_id if self.attempt is not None else ""
        return began or ("" if self.attempt is not None and had(self.job.status, given, self.name) else given)

    @property
    def session(self) -> str:
        return f"{self.name}#{self.sessions.get(self.name, 0)}"

    @property
    def run(self) -> Run | None:
        """What the head of now has under the id of now."""
        wanted = (self.session, self.job_id)
        return next((run for run in self.runs if (run.session, run.job_id) == wanted), None)

    def view(self) -> RayView:
        """What the head answers now."""
        if self.cluster is not Cluster.READY or self.down or self.name in self.dead:
            return RayView(head_lost=self.name in self.dead)
        run = self.run
        return RayView(True, self.session, run.status if run is not None else JobStatus.NEW)

    def submit(self) -> None:
        """A submission that reaches the head of now: Ray takes each id once."""
        if self.cluster is Cluster.READY and not self.down and self.name not in self.dead and self.run is None:
            self.runs.append(Run(self.name, self.job_id, self.session))

    def user_submits(self) -> None:
        """In InteractiveMode: a job of the user's, whose id is then written into the spec."""
        if self.mode == "InteractiveMode" and self.phase is Phase.WAITING and self.view().answered:
            name = f"mine-{len(self.runs)}"
            self.runs.append(Run(self.name, name, self.session))
            self.edit(job_id=name)

    def submitter_works(self) -> None:
        """The submitter's pod does its part: it submits to the session it was made for and to no other."""
        if self.submitter is Submitter.ACTIVE and self.submitter_session == self.session:
            self.submit()

    @property
    def left_running(self) -> list[Run]:
        """What this job's attempts have running on heads that are there."""
        mine = {row.job_id for row in self.job.status.attempts or ()} | {self.attempt.job_id if self.attempt else ""}
        return [
            run
            for run in self.runs
            if run.status is JobStatus.RUNNING
            and run.job_id in mine
            and self.clusters.get(run.cluster) is Cluster.READY
            and run.session == f"{run.cluster}#{self.sessions.get(run.cluster, 0)}"
        ]

    def end(self, status: JobStatus) -> None:
        if self.run is not None and self.run.status is JobStatus.RUNNING:
            self.run.status = status

    def away(self) -> None:
        """The operator is not there for a while, and the world goes on without it."""
        self.settle(400)
        self.unanswered = self.lost = None
        self.looks.clear()

    def delete(self) -> None:
        """The user deletes the RayJob; what it owns goes with it."""
        if not self.job.deleting:
            stamp = self.now.strftime("%Y-%m-%dT%H:%M:%SZ")
            meta = msgspec.structs.replace(self.job.metadata, deletion_timestamp=stamp)
            self.job = msgspec.structs.replace(self.job, metadata=meta)

    def head_restarts(self) -> None:
        if self.cluster is not Cluster.READY:
            return
        if self.mode == "SidecarMode":
            self.dead.add(self.name)
        else:
            self.sessions[self.name] = self.sessions.get(self.name, 0) + 1

    def delete_cluster(self) -> None:
        """Somebody else does it."""
        if self.cluster is not Cluster.ABSENT:
            self.lagging = self.cluster
            self.clusters[self.name] = Cluster.DELETING

    def state(self, view: RayView | None = None, cluster: Cluster | None = None) -> State:
        self.made += 1
        spec: RayJobSpec = (
            memory.remembered(self.attempt)
            if self.problems and self.attempt is not None
            else memory.in_force(self.attempt, self.job)
        )
        state = State(
            job=self.job,
            attempt=self.attempt,
            spec=spec,
            problems=self.problems,
            cluster=cluster or self.cluster,
            submitter=self.submitter,
            ray=self.view() if view is None else view,
            log_tail=self.log,
            retry_unknown=self.retry_unknown,
            deleting=self.job.deleting,
            suffix=f"{self.made:05}",
        ).waiting_since(self.unanswered, self.now)
        state = state.losing_since(self.lost, self.now)
        self.unanswered, self.lost = state.unanswered_since, state.lost_since
        return state

    def step(self, view: RayView | None = None, dies_after: int = _ALL, cluster: Cluster | None = None) -> Decision:
        """Reconcile once; an operator that dies after so many writes leaves the rest undone."""
        if self.gone:
            return self.decisions[-1]
        decision = decide(self.state(view, cluster), self.now)
        self.decisions.append(decision)
        if dies_after < _ALL:
            self.unanswered = self.lost = None
            self.looks.clear()
        writes = 0
        if decision.attempt != self.attempt:
            if writes >= dies_after:
                return decision
            self.attempt, writes = decision.attempt, writes + 1
        if decision.status != self.job.status:
            if writes >= dies_after:
                return decision
            if decision.status.job_deployment_status != self.job.status.job_deployment_status:
                self.log = None
            self.job, writes = msgspec.structs.replace(self.job, status=decision.status), writes + 1
        for action in decision.actions:
            if writes >= dies_after:
                return decision
            self._act(action)
            writes += 1
        return decision

    def _act(self, action: Action) -> None:
        if action is Action.REMOVE_FINALIZER:
            self.gone = True
            return
        assert self.attempt is not None
        if action in (Action.CREATE_CLUSTER, Action.DELETE_CLUSTER):
            assert not self.job.spec.cluster_selector, "the cluster is somebody else's"
            self.lagging = None
        if action is Action.CREATE_CLUSTER:
            self.clusters.setdefault(self.attempt.cluster, Cluster.STARTING)
        elif action is Action.DELETE_CLUSTER:
            if self.name in self.clusters:
                self.clusters[self.name] = Cluster.DELETING
        elif action is Action.SUBMIT:
            # whoever acts asks for the session right before
            if self.session == self.attempt.session:
                self.submit()
            self.looks.clear()
        elif action is Action.CREATE_SUBMITTER:
            if self.submitter is Submitter.NONE:
                self.submitter, self.submitter_session = Submitter.ACTIVE, self.attempt.session
        elif action is Action.DELETE_SUBMITTER:
            self.leaving = True
        elif action is Action.STOP:
            if not self.down:
                self.end(JobStatus.STOPPED)
            self.looks.clear()
        elif action is Action.READ_LOG:
            self.log = "the end"
        elif action is Action.READ_SUBMITTER_LOG and self.submitter is Submitter.UNREAD:
            self.submitter = Submitter.ENDED

    def settle(self, seconds: int = 5) -> None:
        """Time passes in a quiet world: clusters become ready or go, nothing breaks."""
        for name, cluster in list(self.clusters.items()):
            if cluster is Cluster.STARTING:
                self._turns(name, Cluster.READY)
                if self.mode == "SidecarMode":
                    self.submitter, self.submitter_session = Submitter.ACTIVE, self.session
            elif cluster is Cluster.DELETING:
                self._turns(name, Cluster.ABSENT)
                if self.mode == "SidecarMode":
                    self.submitter = Submitter.NONE
        if self.leaving:
            self.submitter, self.leaving = Submitter.NONE, False
            self.looks.clear()
        self.now += timedelta(seconds=seconds)

    def _turns(self, name: str, cluster: Cluster) -> None:
        if name == self.name:
            self.lagging = self.cluster
        if cluster is Cluster.ABSENT:
            del self.clusters[name]
            # who makes one of this name again gets a new head
            self.sessions[name] = self.sessions.get(name, 0) + 1
        else:
            self.clusters[name] = cluster

    def edit(self, **changes: Any) -> None:
        meta = msgspec.structs.replace(self.job.metadata, generation=self.job.metadata.generation + 1)
        spec = msgspec.structs.replace(self.job.spec, **changes)
        self.job = msgspec.structs.replace(self.job, metadata=meta, spec=spec)
