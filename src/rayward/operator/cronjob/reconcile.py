"""The controller of RayCronJobs: observe, decide, write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rayward.kinds import labels
from rayward.kinds.raycronjob import RayCronJob, RayCronJobStatus
from rayward.kinds.rayjob import RayJob
from rayward.kinds.resources import RAY_CRON_JOBS, RAY_JOBS
from rayward.kinds.validation import cron_job_problems, cron_job_warnings, listed
from rayward.kube.client.errors import AlreadyExists, Invalid
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import Resource
from rayward.kube.core.status import status_body, status_change
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import DONE, Result
from rayward.kube.runtime.events import EventFilter
from rayward.kube.runtime.predicates import controller_key
from rayward.kube.runtime.reconciler import Reconciler
from rayward.kube.runtime.registry import Environment, Source
from rayward.kube.runtime.writer import Writer
from rayward.operator.base.writing import REFUSALS, WRITE
from rayward.operator.cluster.observe import BY_OWNER
from rayward.operator.cronjob.annotations import completed, fields, has_own_definition, kept
from rayward.operator.cronjob.children import ray_job
from rayward.operator.cronjob.decide import Creation, decide, held_up
from rayward.operator.job.observe import RAY_JOBS_WHOLE

NAME: Final = "raycronjob"
_CRON_JOBS: Final = Source(RAY_CRON_JOBS, RayCronJob, keep_raw=True)
_LONGEST_SLEEP: Final = 600.0
"""A clock that is set forward is noticed after so many seconds at the latest."""


@dataclass(slots=True)
class Local:
    """What this process knows of a RayCronJob beyond its objects."""

    events: EventFilter = field(default_factory=EventFilter)
    reported: bool = False
    """Whether a status was written, of which a definition of KubeRay's keeps little."""
    _checked: tuple[Any, str] | None = None

    def warnings(self, found: RayCronJob) -> str:
        """What of it works otherwise than it seems; annotations and labels count, and are no part of the generation."""
        metadata = found.metadata
        asked = (metadata.generation, metadata.annotations, metadata.labels)
        if self._checked is None or self._checked[0] != asked:
            self._checked = (asked, listed(cron_job_warnings(found)))
        return self._checked[1]


class CronJobReconciler(Reconciler[RayCronJob, Local]):
    """Makes RayJobs on schedule."""

    def __init__(self, environment: Environment, metrics: Any) -> None:
        super().__init__(NAME, environment, _CRON_JOBS, WRITE, Local)
        self._jobs: Cache[RayJob] = environment.informers.cache(RAY_JOBS_WHOLE)
        self.controller.watch(self._jobs, controller_key(RAY_CRON_JOBS))

    def caches(self) -> Mapping[Resource, Cache[Any]]:
        """Where its writes show."""
        return {RAY_CRON_JOBS: self.objects, RAY_JOBS: self._jobs}

    async def reconcile(self, found: RayCronJob, local: Local) -> Result:
        """Delete what goes, create what is due, then say so: the same end wherever it is cut off."""
        if found.deleting:
            return DONE
        found = completed(found)
        jobs = list(self._jobs.find(BY_OWNER, found.metadata.uid))
        now = self.clock.utc()
        decision = decide(found, jobs, listed(cron_job_problems(found)), now)
        writer = self.writer(found)
        for job in decision.delete:
            if await writer.delete(RAY_JOBS, job.metadata.name, job.metadata.uid):
                self._record(found, local, "DeletedRayJob", f"Deleted RayJob {job.key}")
        for creation in decision.create:
            try:
                await self._create(found, creation, writer, local)
            except REFUSALS as error:
                await self._report(found, held_up(found, decision.status, error.message, now), writer, local)
                raise
        if decision.asked:
            await _answer(found, decision.asked, writer)
        if warnings := local.warnings(found):
            self._record(found, local, "UnexpectedRayCronJobSpec", warnings, warning=True)
        for reason, message in decision.events:
            self._record(found, local, reason, message, warning=True)
        if await self._report(found, decision.status, writer, local):
            return Result(requeue_after=0.0)
        if decision.wake_at is None:
            return DONE
        seconds = max((decision.wake_at - self.clock.utc()).total_seconds(), 0.0)
        return Result(requeue_after=min(seconds, _LONGEST_SLEEP))

    async def _report(self, cron_job: RayCronJob, status: RayCronJobStatus, writer: Writer, local: Local) -> bool:
        """Write the status; whether to look once more at what the server kept of it."""
        change = status_change(status_body(cron_job.status), status_body(status))
        if local.reported and not has_own_definition(self.objects.whole(cron_job.key) or {}):
            text, change = kept(cron_job, status), fields(change)
            if text:
                body = {"metadata": {"uid": cron_job.metadata.uid, "annotations": text}}
                await writer.patch(RAY_CRON_JOBS, cron_job.metadata.name, body)
        if not change:
            return False
        await writer.patch_status(RAY_CRON_JOBS, cron_job, change, wait=True)
        first, local.reported = not local.reported, True
        return first

    async def _create(self, cron_job: RayCronJob, creation: Creation, writer: Writer, local: Local) -> None:
        whole = self.objects.whole(cron_job.key) or {}
        template = section(section(whole, "spec"), "jobTemplate")
        try:
            await writer.create(RAY_JOBS, ray_job(cron_job, template, creation))
        except AlreadyExists:
            return
        except REFUSALS as error:
            self._record(cron_job, local, "FailedToCreateRayJob", error.message, warning=True)
            raise
        self._record(cron_job, local, "CreatedRayJob", f"Created RayJob {cron_job.metadata.namespace}/{creation.name}")

    def _record(self, about: RayCronJob, local: Local, reason: str, message: str, *, warning: bool = False) -> None:
        if local.events.is_new(about.metadata.generation, reason, message):
            self.recorder.event(RAY_CRON_JOBS, about, "Warning" if warning else "Normal", reason, message)


async def _answer(cron_job: RayCronJob, asked: str, writer: Writer) -> None:
    """Take the request away, unless another one has taken its place."""
    place = f"/metadata/annotations/{labels.RUN_NOW.replace('/', '~1')}"
    change: list[Object] = [{"op": "test", "path": place, "value": asked}, {"op": "remove", "path": place}]
    try:
        await writer.patch(RAY_CRON_JOBS, cron_job.metadata.name, change, PatchType.JSON)
    except Invalid:
        return
