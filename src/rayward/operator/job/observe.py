"""One RayJob and what belongs to it, as one look at the caches and the poller found it."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from rayward.kinds import labels, names
from rayward.kinds.admission import QUOTA_RESERVED
from rayward.kinds.durations import duration
from rayward.kinds.raycluster import RayCluster
from rayward.kinds.rayjob import AttemptStatus, JobStatus, RayJob, SubmissionMode
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kinds.shapes import SUBMITTER
from rayward.kinds.shapes.features import fault_tolerant
from rayward.kinds.validation import job_problems, job_warnings, listed
from rayward.kube.core.job import Job
from rayward.kube.core.meta import condition_of, is_controlled_by
from rayward.kube.core.objects import Condition, Key
from rayward.kube.core.resource import JOBS, PODS, SERVICES, Resource
from rayward.kube.core.service import Service
from rayward.kube.core.status import status_body
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.runtime.cache import Cache, by_owner
from rayward.kube.runtime.events import EventFilter
from rayward.kube.runtime.registry import Informers, Source
from rayward.operator.base.tokens import Tokens
from rayward.operator.cluster.observe import ALL_SERVICES, BY_CLUSTER, BY_OWNER, CLUSTERS, RAY_PODS
from rayward.operator.cluster.pod import RayPod
from rayward.operator.job import annotations as memory
from rayward.operator.job.annotations import Attempt
from rayward.operator.job.facts import SPOKEN, Cluster, Hand, Submitter
from rayward.operator.job.state import PATIENCE, STATUS_CHECK_TIMEOUT, RayView, State, had
from rayward.operator.ray.jobprobe import JobsSeen
from rayward.operator.ray.jobs import JobInfo

BY_SELECTED: Final = "selected"
"""By the cluster that ``clusterSelector`` names: ``namespace/name``."""


def _by_selected(job: RayJob) -> Iterable[str]:
    name = (job.spec.cluster_selector or {}).get(labels.CLUSTER)
    return (f"{job.metadata.namespace}/{name}",) if name else ()


RAY_JOBS_WHOLE: Final = Source(RAY_JOBS, RayJob, keep_raw=True, indexes={BY_OWNER: by_owner, BY_SELECTED: _by_selected})
_SUBMITTERS: Final = Source(
    JOBS, Job, {"label_selector": f"{labels.ORIGIN_KIND}={RAY_JOBS.kind}"}, indexes={BY_OWNER: by_owner}
)
_STATUSES: Final = frozenset(JobStatus)
_SUBMITTING: Final = frozenset(("", "Initializing", "Running", "Suspending"))
_BEGINNING: Final = frozenset(("Initializing", "Waiting"))
_ENDED: Final = frozenset(("Failed", "Succeeded"))
"""Phases of a pod that runs no more."""
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True, slots=True)
class Caches:
    """What decisions about jobs are made from."""

    jobs: Cache[RayJob]
    clusters: Cache[RayCluster]
    pods: Cache[RayPod]
    services: Cache[Service]
    submitters: Cache[Job]

    @property
    def by_resource(self) -> Mapping[Resource, Cache[Any]]:
        return {
            RAY_JOBS: self.jobs,
            RAY_CLUSTERS: self.clusters,
            PODS: self.pods,
            SERVICES: self.services,
            JOBS: self.submitters,
        }


def caches_of(informers: Informers) -> Caches:
    """The caches that decisions about jobs read; those of clusters are shared with their own controller."""
    return Caches(
        jobs=informers.cache(RAY_JOBS_WHOLE),
        clusters=informers.cache(CLUSTERS),
        pods=informers.cache(RAY_PODS),
        services=informers.cache(ALL_SERVICES),
        submitters=informers.cache(_SUBMITTERS),
    )


@dataclass(slots=True)
class Local:
    """What this process knows of a job beyond its objects; losing it costs a request, never a decision."""

    events: EventFilter = field(default_factory=EventFilter)
    tokens: Tokens = field(default_factory=Tokens)
    checked: tuple[Any, str] | None = None
    """What was validated last, and what is wrong with it."""
    warnings: str = ""
    """What of that works otherwise than it seems."""
    words: dict[str, Submitter] = field(default_factory=dict[str, Submitter])
    """What submitters that ended said, by their uid."""
    unread_since: dict[str, datetime] = field(default_factory=dict[str, datetime])
    """Since when the logs of submitters are asked for, by their uid."""
    submitter_tails: dict[int, str] = field(default_factory=dict[int, str])
    """Ends of submitters' logs, by the number of the attempt."""
    tails: dict[int, str] = field(default_factory=dict[int, str])
    """Ends of logs, by the number of the attempt."""
    refusals: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Why a job will not be taken, by its cluster and id."""
    uncreated: dict[str, str] = field(default_factory=dict[str, str])
    """Why children could not be created, by their kind."""
    sent: tuple[str, int] = ("", 0)
    """The uid of the cluster to whose head something was last sent, and its turn: what was seen there before does not
    count."""
    submitting: str = ""
    """The uid of the submitter that was last seen at work."""
    unanswered_since: datetime | None = None
    """Since when the head is asked and does not answer."""
    lost_since: datetime | None = None
    """Since when nobody but a submitter that still runs may know the end."""
    stop_sent: datetime | None = None
    """When Ray was last asked to stop the job."""
    roused: bool = False
    """Whether a silent head was looked at anew for the deletion of the job."""
    reported: bool = False
    """Whether a status was written whose conditions a definition of KubeRay's would drop."""


@dataclass(frozen=True, slots=True)
class Observed:
    job: RayJob
    attempt: Attempt | None
    cluster: RayCluster | None
    head: RayPod | None
    submitter: Job | None
    submitter_uid: str
    service: Service | None
    job_id: str
    info: JobInfo | None
    """What Ray last told of the job."""
    rival: str = ""
    """Another RayJob that has the same id on the same cluster."""


def observe(caches: Caches, found: RayJob, latest: JobsSeen) -> Observed:
    """Look at one job; ``latest`` is what its head answered last."""
    job = _whole(found)
    attempt = memory.read(job.metadata.annotations) or _adopted(job)
    namespace = job.metadata.namespace
    name = attempt.cluster if attempt is not None else ""
    cluster = caches.clusters.get(Key(namespace, name)) if name else None
    selected = bool((memory.remembered(attempt) if attempt is not None else job.spec).cluster_selector)
    if cluster is not None and not selected and not is_controlled_by(cluster, job):
        cluster = None
    head = _head(caches, cluster)
    submitter = next(iter(caches.submitters.find(BY_OWNER, job.metadata.uid)), None)
    job_id = (attempt.job_id if attempt is not None else "") or job.spec.job_id
    if attempt is not None and not attempt.job_id and had(job.status, job_id, name):
        # Of a job that was suspended: the user has not given another id yet.
        job_id = ""
    return Observed(
        job=job,
        attempt=attempt,
        cluster=cluster,
        head=head,
        submitter=submitter,
        submitter_uid=submitter.metadata.uid if submitter is not None else head.metadata.uid if head else "",
        service=caches.services.get(Key(namespace, names.head_service(job.metadata.name))),
        job_id=job_id,
        info=latest.jobs.get(job_id),
        rival=_rival(caches, job, name, job_id) if selected and job_id else "",
    )


def view(observed: Observed, latest: JobsSeen, local: Local) -> RayView:
    """What the head says of the job, unless it said so before something was sent to it."""
    job_id, cluster = observed.job_id, observed.cluster
    outdated = cluster is not None and local.sent[0] == cluster.metadata.uid and latest.turn < local.sent[1]
    if latest.failure is not None or not latest.session or outdated:
        return RayView()
    if job_id not in latest.jobs:
        # In InteractiveMode there is no id to ask for until the user gives one.
        return RayView(answered=not job_id, session=latest.session)
    info = latest.jobs[job_id]
    if info is None:
        return RayView(True, latest.session)
    return RayView(
        True,
        latest.session,
        JobStatus(info.status) if info.status in _STATUSES else JobStatus.RUNNING,
        info.message or "",
        info.driver_exit_code,
        _time(info.start_time),
        _time(info.end_time),
        info.driver_node_id in latest.dead_nodes,
    )


def submitting(observed: Observed) -> str:
    """The uid of the Kubernetes Job that may still submit; empty once it ended or is gone with its pods."""
    job = observed.submitter
    return job.metadata.uid if job is not None and job.finished() is None else ""


def state_of(observed: Observed, ray: RayView, local: Local, now: datetime) -> State:
    """What a decision reads."""
    job, attempt = observed.job, observed.attempt
    problems = _problems(job, local)
    spec = memory.remembered(attempt) if problems and attempt is not None else memory.in_force(attempt, job)
    timeout = duration(job.metadata.annotation(labels.STATUS_CHECK_TIMEOUT)) or STATUS_CHECK_TIMEOUT
    state = State(
        job=job,
        attempt=attempt,
        spec=spec,
        problems=problems,
        cluster=_cluster_state(observed.cluster, observed.head),
        headless=_is_headless(observed.cluster, observed.head),
        cluster_status=_cluster_status(observed),
        ray=ray,
        workers_suspended=_are_workers_suspended(observed.cluster),
        log_tail=local.tails.get(attempt.number) if attempt is not None else None,
        submitter_log=local.submitter_tails.get(attempt.number, "") if attempt is not None else "",
        quota=_quota(observed.cluster),
        refusal=local.refusals.get((attempt.cluster, observed.job_id), "") if attempt is not None else "",
        rival=observed.rival,
        uncreated=dict(local.uncreated),
        stop_sent=local.stop_sent,
        timeout=timeout,
        retry_unknown=job.metadata.annotation(labels.RETRY_UNKNOWN) == "true",
        suffix=_suffix(job.metadata.uid, attempt.number + 1 if attempt is not None else 1),
        deleting=job.deleting,
    )
    if state.hand is Hand.SIDECAR and not ray.answered and _is_head_lost(observed):
        state = dataclasses.replace(state, ray=dataclasses.replace(ray, head_lost=True))
    submitter, message = _submitter(observed, state.hand, _said(observed.submitter_uid, local, now))
    state = dataclasses.replace(state, submitter=submitter, submitter_message=message)
    state = state.waiting_since(local.unanswered_since, now).losing_since(local.lost_since, now)
    local.unanswered_since, local.lost_since = state.unanswered_since, state.lost_since
    return state


def _rival(caches: Caches, job: RayJob, cluster: str, job_id: str) -> str:
    """An older RayJob that submits under the same id to the same cluster, or one that has begun to."""
    mine = job.metadata
    for other in caches.jobs.find(BY_SELECTED, f"{mine.namespace}/{cluster}"):
        if other.key == job.key or other.status.job_deployment_status not in _SUBMITTING:
            continue
        if other.spec.submission_mode == SubmissionMode.INTERACTIVE:
            continue
        attempt, its = memory.read(other.metadata.annotations), other.metadata
        older = (its.creation_timestamp, its.uid) < (mine.creation_timestamp, mine.uid)
        its_id = attempt.job_id if attempt is not None else other.spec.job_id
        if its_id == job_id and (older or (attempt is not None and attempt.session)):
            return f"RayJob {other.key}"
    return ""


def _quota(cluster: RayCluster | None) -> Condition | None:
    found = condition_of(cluster.status.conditions, QUOTA_RESERVED) if cluster is not None else None
    if cluster is None or found is None:
        return None
    return msgspec.structs.replace(found, message=f"RayCluster {cluster.metadata.name}: {found.message}")


def _problems(job: RayJob, local: Local) -> str:
    # Annotations and labels are validated too, and are no part of the generation.
    metadata = job.metadata
    users = {name: text for name, text in (metadata.annotations or {}).items() if name != labels.ATTEMPT}
    asked = (metadata.generation, users, metadata.labels)
    if local.checked is None or local.checked[0] != asked:
        local.checked = (asked, listed(job_problems(job)))
        local.warnings = listed(job_warnings(job))
    return local.checked[1]


def _whole(job: RayJob) -> RayJob:
    """With what KubeRay's definition has no field for, from annotations."""
    status = job.status
    rows, conditions = job.metadata.annotation(labels.ATTEMPTS), job.metadata.annotation(labels.CONDITIONS)
    try:
        if status.attempts is None and rows:
            status = replace(status, attempts=msgspec.json.decode(rows, type=tuple[AttemptStatus, ...]))
        if status.conditions is None and conditions:
            status = replace(status, conditions=msgspec.json.decode(conditions, type=tuple[Condition, ...]))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return job
    return replace(job, status=status) if status is not job.status else job


def _adopted(job: RayJob) -> Attempt | None:
    """The attempt of a job that another operator began."""
    status = job.status
    if not status.ray_cluster_name:
        return None
    number = (status.failed or 0) + (status.succeeded or 0 if not status.end_time else 0) + 1
    return Attempt(
        number=number,
        job_id=status.job_id,
        cluster=status.ray_cluster_name,
        **memory.frozen(job.spec),
    )


def _head(caches: Caches, cluster: RayCluster | None) -> RayPod | None:
    if cluster is None:
        return None
    metadata = cluster.metadata
    pods = caches.pods.find(BY_CLUSTER, f"{metadata.namespace}/{metadata.name}")
    heads = [pod for pod in pods if pod.is_head and is_controlled_by(pod, cluster)]
    return next((pod for pod in heads if not pod.deleting), heads[0] if heads else None)


def _is_head_lost(observed: Observed) -> bool:
    """Whether a head that runs once has ended: there is no other one until the next attempt."""
    head, cluster = observed.head, observed.cluster
    if cluster is None or cluster.deleting:
        return False
    if head is None or head.deleting or head.status.phase in _ENDED:
        return True
    name = head.spec.containers[0].name if head.spec.containers else ""
    states = [each.state for each in head.status.container_statuses or () if each.name == name]
    return any(state is not None and state.terminated is not None for state in states)


def _cluster_state(cluster: RayCluster | None, head: RayPod | None) -> Cluster:
    if cluster is None:
        return Cluster.ABSENT
    if cluster.deleting:
        return Cluster.DELETING
    ready = cluster.status.state == "ready" and head is not None and not head.deleting and head.ready
    return Cluster.READY if ready else Cluster.STARTING


def _is_headless(cluster: RayCluster | None, head: RayPod | None) -> bool:
    """Whether no head runs, as in a suspended cluster, and the next one knows nothing of what ran before it."""
    if cluster is None or cluster.deleting or fault_tolerant(cluster):
        return False
    return head is None or head.status.phase in _ENDED


def _cluster_status(observed: Observed) -> Object | None:
    """As KubeRay copies it: when an attempt begins, and not again for every change of the cluster."""
    if observed.cluster is None or observed.job.status.job_deployment_status not in _BEGINNING:
        return None
    return status_body(observed.cluster.status)


def _time(milliseconds: int | None) -> datetime | None:
    return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds else None


def _said(uid: str, local: Local, now: datetime) -> Submitter | None:
    """What a submitter's log said; None while it is still to be read, which is tried for a while."""
    since = local.unread_since.get(uid)
    given_up = since is not None and now >= since + PATIENCE
    return local.words.get(uid, Submitter.ENDED if given_up else None)


def _submitter(observed: Observed, hand: str, said: Submitter | None) -> tuple[Submitter, str]:
    if hand == "SidecarMode":
        return _sidecar(observed.head, said)
    job = observed.submitter
    if job is None:
        return Submitter.NONE, ""
    ended = job.finished()
    if ended is None:
        # Ray told it the end, and its pod still runs.
        return (said if said is not None and said in SPOKEN else Submitter.ACTIVE), ""
    message = next((each.message for each in job.status.conditions or () if each.type == ended), "")
    if said is None:
        return Submitter.UNREAD, message
    failed = ended == "Failed" and said is Submitter.ENDED
    return (Submitter.FAILED if failed else said), message


def _sidecar(head: RayPod | None, said: Submitter | None) -> tuple[Submitter, str]:
    for status in (head.status.container_statuses or ()) if head is not None else ():
        ended = status.state.terminated if status.name == SUBMITTER and status.state is not None else None
        if ended is not None:
            message = f"container {SUBMITTER} ended with exit code {ended.exit_code}"
            if said is None:
                return Submitter.UNREAD, message
            return (Submitter.FAILED if ended.exit_code and said is Submitter.ENDED else said), message
    if head is None:
        return Submitter.NONE, ""
    return (said if said is not None and said in SPOKEN else Submitter.ACTIVE), ""


def _are_workers_suspended(cluster: RayCluster | None) -> bool:
    return cluster is not None and all(group.suspend for group in cluster.groups)


def _suffix(uid: str, number: int) -> str:
    """Five characters that follow from the attempt: a creation whose answer is lost is found again."""
    digest = int.from_bytes(hashlib.sha256(f"{uid}/{number}".encode()).digest()[:8])
    letters: list[str] = []
    for _ in range(5):
        digest, index = divmod(digest, len(_LETTERS))
        letters.append(_LETTERS[index])
    return "".join(letters)
