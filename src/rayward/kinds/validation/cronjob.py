"""What is wrong with a RayCronJob."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rayward.kinds import labels, names
from rayward.kinds.raycronjob import ConcurrencyPolicy, RayCronJob
from rayward.kinds.schedule import ScheduleError, parse
from rayward.kinds.validation.cluster import label_problems, label_warnings, name_problems
from rayward.kinds.validation.job import job_spec_problems, job_spec_warnings
from rayward.kinds.validation.problem import Problem
from rayward.kinds.validation.unread import unread_annotations

_POLICIES: Final = frozenset(ConcurrencyPolicy)
_COUNTS: Final = (labels.STARTING_DEADLINE, labels.SUCCESSFUL_HISTORY, labels.FAILED_HISTORY)
_MOST_DIGITS: Final = 9


def cron_job_problems(cron_job: RayCronJob) -> list[Problem]:
    """Why the schedule cannot be followed; empty when it can."""
    metadata, spec = cron_job.metadata, cron_job.spec
    return [
        *name_problems("RayCronJob", metadata.name, names.CRON_JOB_MAX),
        *label_problems(metadata.labels or {}),
        *_schedule_problems(cron_job),
        *_annotation_problems(metadata.annotations or {}),
        *_policy_problems(cron_job),
        *job_spec_problems(spec.job_template, metadata.annotations or {}, "spec.jobTemplate"),
    ]


def cron_job_warnings(cron_job: RayCronJob) -> list[Problem]:
    """What works otherwise than its author may think."""
    found = [
        *label_warnings(cron_job.metadata.labels or {}),
        *unread_annotations(cron_job.metadata.annotations or {}),
        *job_spec_warnings(cron_job.spec.job_template, "spec.jobTemplate"),
    ]
    if cron_job.spec.job_template.suspend:
        message = "every RayJob is made suspended: delete it, or suspend the schedule by spec.suspend"
        found.append(Problem("spec.jobTemplate.suspend", "Invalid", message))
    if cron_job.spec.job_template.job_id:
        message = "every RayJob gets the same submission id: delete it unless each has a cluster of its own"
        found.append(Problem("spec.jobTemplate.jobId", "Invalid", message))
    return found


def _schedule_problems(cron_job: RayCronJob) -> Iterator[Problem]:
    spec = cron_job.spec
    written = cron_job.metadata.annotation(labels.TIME_ZONE)
    for at, zone in (("spec.timeZone", spec.time_zone), ("metadata.annotations", written or None)):
        try:
            parse("@daily", zone)
        except ScheduleError as error:
            yield Problem(at, "Invalid", str(error))
    try:
        parse(spec.schedule)
    except ScheduleError as error:
        yield Problem("spec.schedule", "Invalid", str(error))


def _policy_problems(cron_job: RayCronJob) -> Iterator[Problem]:
    spec = cron_job.spec
    written = cron_job.metadata.annotation(labels.CONCURRENCY_POLICY)
    for at, value in (("spec.concurrencyPolicy", spec.concurrency_policy), ("metadata.annotations", written)):
        if value and value not in _POLICIES:
            message = f"{value[:64]!r} is not a policy: write one of {', '.join(ConcurrencyPolicy)}"
            yield Problem(at, "Invalid", message)
    for field, number in (
        ("startingDeadlineSeconds", spec.starting_deadline_seconds),
        ("successfulJobsHistoryLimit", spec.successful_jobs_history_limit),
        ("failedJobsHistoryLimit", spec.failed_jobs_history_limit),
    ):
        if number is not None and number < 0:
            yield Problem(f"spec.{field}", "Invalid", f"{number} is less than 0: write 0 or more")


def _annotation_problems(annotations: dict[str, str]) -> Iterator[Problem]:
    for name in _COUNTS:
        value = annotations.get(name, "0")
        if not (value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS):
            message = f"{name} is {value[:64]!r}: write a whole number from 0"
            yield Problem("metadata.annotations", "Invalid", message)
