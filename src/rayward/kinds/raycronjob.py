"""RayCronJob, typed as far as the operator reads it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from rayward.kinds.rayjob import RayJobSpec
from rayward.kube.core.objects import Condition, KubeObject, Slim


class ConcurrencyPolicy(StrEnum):
    """What a tick does while an earlier job still runs."""

    ALLOW = "Allow"
    FORBID = "Forbid"
    REPLACE = "Replace"


_NO_JOB: Final = RayJobSpec()


class RayCronJobSpec(Slim, frozen=True, gc=False):
    """What the user asks for; from ``concurrencyPolicy`` on the fields are ours."""

    job_template: RayJobSpec = _NO_JOB
    schedule: str = ""
    time_zone: str | None = None
    suspend: bool | None = None
    concurrency_policy: str | None = None
    starting_deadline_seconds: int | None = None
    successful_jobs_history_limit: int | None = None
    failed_jobs_history_limit: int | None = None


class ActiveJob(Slim, frozen=True, gc=False):
    """A RayJob that has not ended."""

    name: str = ""
    uid: str = ""


class RayCronJobStatus(Slim, frozen=True, gc=False):
    """What is, as last written."""

    last_schedule_time: str | None = None
    last_successful_time: str | None = None
    active: tuple[ActiveJob, ...] | None = None
    conditions: tuple[Condition, ...] | None = None
    observed_generation: int = 0


_NO_SPEC: Final = RayCronJobSpec()
_NO_STATUS: Final = RayCronJobStatus()


class RayCronJob(KubeObject, frozen=True, gc=False):
    """RayJobs on a schedule."""

    spec: RayCronJobSpec = _NO_SPEC
    status: RayCronJobStatus = _NO_STATUS
