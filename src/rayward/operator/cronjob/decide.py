"""When a RayCronJob makes a RayJob, and which old ones go. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec.structs import replace

from rayward.kinds import labels, names
from rayward.kinds.raycronjob import ActiveJob, ConcurrencyPolicy, RayCronJob, RayCronJobStatus
from rayward.kinds.rayjob import DeploymentStatus, RayJob
from rayward.kinds.schedule import parse
from rayward.kube.core.meta import condition_of, parse_time, rfc3339, with_condition
from rayward.kube.core.objects import Condition
from rayward.operator.job.annotations import moment

STALLED: Final = "Stalled"
SUSPENDED: Final = "Suspended"
RECONCILING: Final = "Reconciling"
_MOST_ACTIVE: Final = 100
_CLOCKS_DIFFER: Final = timedelta(minutes=1)
"""Clocks of two machines that are right may differ by as much."""
_LONGEST: Final = 4096
_ENDED: Final = frozenset(
    (DeploymentStatus.COMPLETE.value, DeploymentStatus.FAILED.value, DeploymentStatus.VALIDATION_FAILED.value)
)
"""A RayJob whose spec is rejected never runs by itself. One that is suspended is active, as a Kubernetes Job is."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What KubeRay's definition has no fields for: from our fields, else from annotations."""

    policy: ConcurrencyPolicy = ConcurrencyPolicy.ALLOW
    deadline: timedelta | None = None
    time_zone: str | None = None
    successful: int | None = None
    failed: int | None = None


@dataclass(frozen=True, slots=True)
class Creation:
    """One RayJob to make; ``tick`` is None for a run that somebody asked for."""

    name: str
    tick: datetime | None


@dataclass(frozen=True, slots=True)
class Decision:
    """What to create and delete, then what to report; the lists are empty when there is nothing to do."""

    status: RayCronJobStatus
    create: tuple[Creation, ...] = ()
    delete: tuple[RayJob, ...] = ()
    asked: str = ""
    """The request for a run that is answered by this decision."""
    events: tuple[tuple[str, str], ...] = ()
    wake_at: datetime | None = None


def settings_of(cron_job: RayCronJob) -> Settings:
    """The settings of a valid RayCronJob."""
    spec, metadata = cron_job.spec, cron_job.metadata

    def number(given: int | None, name: str) -> int | None:
        text = metadata.annotation(name)
        return given if given is not None else int(text) if text else None

    seconds = number(spec.starting_deadline_seconds, labels.STARTING_DEADLINE)
    policy = spec.concurrency_policy or metadata.annotation(labels.CONCURRENCY_POLICY)
    return Settings(
        policy=ConcurrencyPolicy(policy) if policy else ConcurrencyPolicy.ALLOW,
        time_zone=spec.time_zone or metadata.annotation(labels.TIME_ZONE) or None,
        deadline=timedelta(seconds=seconds) if seconds is not None else None,
        successful=number(spec.successful_jobs_history_limit, labels.SUCCESSFUL_HISTORY),
        failed=number(spec.failed_jobs_history_limit, labels.FAILED_HISTORY),
    )


def decide(cron_job: RayCronJob, jobs: Sequence[RayJob], problems: str, now: datetime) -> Decision:
    """What is due. Of ticks that were missed at most the latest is made up for.

    Args:
        cron_job: The schedule.
        jobs: The RayJobs that it owns.
        problems: Why its spec cannot be acted upon.
        now: The time.
    """
    now = now.astimezone(UTC)
    active = [job for job in jobs if not _is_ended(job) and not job.deleting]
    if problems:
        return Decision(_reported(cron_job, active, jobs, problems, now), events=(("InvalidRayCronJobSpec", problems),))
    settings = settings_of(cron_job)
    asked = cron_job.metadata.annotation(labels.RUN_NOW)
    creations = [Creation(_asked_name(cron_job, asked), None)] if asked else []
    delete = _old(jobs, settings)
    status, events, wake_at = cron_job.status, list[tuple[str, str]](), None
    if not cron_job.spec.suspend:
        schedule = parse(cron_job.spec.schedule, settings.time_zone)
        last = _last(cron_job, jobs, now)
        if last > _said(cron_job):
            status = replace(status, last_schedule_time=rfc3339(last))
        if last > now + _CLOCKS_DIFFER:
            text = f"status.lastScheduleTime {rfc3339(last)} is in the future: no tick before it makes a RayJob"
            events.append(("FutureScheduleTime", text))
        due = schedule.latest(last, now)
        if due is not None:
            late = settings.deadline is not None and now - due > settings.deadline
            if late:
                status = replace(status, last_schedule_time=rfc3339(due))
                events.append(("MissSchedule", f"The run of {rfc3339(due)} was missed by more than its deadline"))
            elif active and settings.policy is ConcurrencyPolicy.FORBID:
                text = f"RayJob {active[0].metadata.name} still runs (concurrencyPolicy Forbid)"
                events.append(("JobAlreadyActive", f"Not started at {rfc3339(due)}: {text}"))
            else:
                if active and settings.policy is ConcurrencyPolicy.REPLACE:
                    delete = [*delete, *active]
                creations.append(Creation(_tick_name(cron_job, due), due))
                status = replace(status, last_schedule_time=rfc3339(due))
        wake_at = schedule.next(due if due is not None and schedule.every is None else max(last, due or last))
        if wake_at is not None and wake_at <= now:
            wake_at = schedule.next(now)
    if cron_job.deleting:
        return Decision(cron_job.status)
    reported = _reported(RayCronJob(cron_job.metadata, cron_job.spec, status), active, jobs, "", now)
    return Decision(reported, tuple(creations), tuple(delete), asked, tuple(events), wake_at)


def held_up(cron_job: RayCronJob, status: RayCronJobStatus, why: str, now: datetime) -> RayCronJobStatus:
    """The status of a schedule whose RayJob the server refuses: its tick is still due, and is tried again."""
    generation = cron_job.metadata.generation
    said = _said_of(generation, RECONCILING, True, "FailedToCreateRayJob", why)
    before = condition_of(cron_job.status.conditions, RECONCILING)
    # A new transition time at each retry would be a write each, which wakes the next retry.
    conditions = tuple(
        before if before is not None and each.type == RECONCILING else each for each in status.conditions or ()
    )
    return replace(
        status,
        last_schedule_time=cron_job.status.last_schedule_time,
        conditions=with_condition(conditions, said, now.astimezone(UTC)),
    )


def _said_of(generation: int, kind: str, holds: bool, reason: str, message: str) -> Condition:
    return Condition(
        type=kind, status=str(holds), reason=reason, message=message[:_LONGEST], observed_generation=generation
    )


def _last(cron_job: RayCronJob, jobs: Sequence[RayJob], now: datetime) -> datetime:
    """The latest tick that was acted upon: whoever made its RayJob may have died before the status said so."""
    ticks = (moment(job.metadata.annotation(labels.CRON_JOB_TIMESTAMP)) for job in jobs)
    known = [tick.astimezone(UTC) for tick in ticks if tick is not None]
    return max((_said(cron_job), *(tick for tick in known if tick <= now)))


def _said(cron_job: RayCronJob) -> datetime:
    text = cron_job.status.last_schedule_time or cron_job.metadata.creation_timestamp
    return parse_time(text).astimezone(UTC) if text else datetime.fromtimestamp(0, UTC)


def _tick_name(cron_job: RayCronJob, tick: datetime) -> str:
    """It follows from the tick, so that one tick makes one RayJob, whoever makes it and how often."""
    seconds = int(tick.timestamp())
    return names.scheduled_job(cron_job.metadata.name, seconds if seconds % 60 else seconds // 60)


def _asked_name(cron_job: RayCronJob, asked: str) -> str:
    digest = hashlib.sha256(f"{cron_job.metadata.uid}/{asked}".encode()).hexdigest()[:6]
    return f"{cron_job.metadata.name}-run-{digest}"


def _is_ended(job: RayJob) -> bool:
    return job.status.job_deployment_status in _ENDED


def _succeeded(job: RayJob) -> bool:
    return job.status.job_status == "SUCCEEDED"


def _old(jobs: Sequence[RayJob], settings: Settings) -> list[RayJob]:
    """What the history limits let go, the oldest first."""
    ended = sorted((job for job in jobs if _is_ended(job) and not job.deleting), key=_ended_at)
    found: list[RayJob] = []
    for limit, won in ((settings.successful, True), (settings.failed, False)):
        kept = [job for job in ended if _succeeded(job) is won]
        if limit is not None and len(kept) > limit:
            found += kept[: len(kept) - limit]
    return found


def _ended_at(job: RayJob) -> tuple[str, str]:
    return job.status.end_time or job.metadata.creation_timestamp or "", job.metadata.name


def _reported(
    cron_job: RayCronJob, active: Sequence[RayJob], jobs: Sequence[RayJob], problems: str, now: datetime
) -> RayCronJobStatus:
    status, generation = cron_job.status, cron_job.metadata.generation
    won = max((job.status.end_time or "" for job in jobs if _is_ended(job) and _succeeded(job)), default="")
    suspended = bool(cron_job.spec.suspend)
    conditions = status.conditions
    ready = "ValidationFailed" if problems else "Suspended" if suspended else "Scheduled"
    for kind, holds, reason, message in (
        (RECONCILING, False, ready, ""),
        (STALLED, bool(problems), "ValidationFailed" if problems else "SpecAccepted", problems),
        (SUSPENDED, suspended, "Suspended" if suspended else "NotSuspended", ""),
    ):
        conditions = with_condition(conditions, _said_of(generation, kind, holds, reason, message), now)
    running = sorted((ActiveJob(job.metadata.name, job.metadata.uid) for job in active), key=lambda each: each.name)
    return replace(
        status,
        active=tuple(running[:_MOST_ACTIVE]) or None,
        last_successful_time=max(won, status.last_successful_time or "") or None,
        conditions=conditions,
        observed_generation=generation,
    )
