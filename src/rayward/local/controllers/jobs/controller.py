"""The controller of Jobs: it counts their pods, decides, and writes pods and status."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Never

import msgspec

from rayward.kube.client import verbs
from rayward.kube.client.api import Client
from rayward.kube.client.errors import ApiError, Conflict, Forbidden, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.core.meta import controller_of, parse_time
from rayward.kube.core.objects import Key, KubeObject
from rayward.kube.core.resource import JOBS, PODS
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.clock import SYSTEM_CLOCK, Clock
from rayward.kube.runtime.controller import DONE, Controller, Result
from rayward.kube.runtime.events import EventRecorder, reference
from rayward.local.controllers.jobs import decide
from rayward.local.controllers.jobs.backoff import Failures
from rayward.local.controllers.jobs.decide import Decision, is_held
from rayward.local.controllers.jobs.job import FINALIZER, NAME_LABEL, JobStatus, SeenJob
from rayward.local.controllers.jobs.template import pod_of
from rayward.local.controllers.pods import SeenPod

BY_JOB: Final = "job"
_RELEASED: Final = {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}


def by_job(pod: SeenPod) -> Iterable[str]:
    """Index of pods by the job that runs them; one that was let go and is still held, by the job that made it."""
    owner = controller_of(pod)
    if owner is not None:
        return (f"{pod.metadata.namespace}/{owner.name}",) if owner.kind == "Job" else ()
    name = pod.metadata.label(NAME_LABEL)
    return (f"{pod.metadata.namespace}/{name}",) if name and is_held(pod) else ()


def seconds_to_live(job: SeenJob, now: datetime) -> float | None:
    """How long a job that has ended is kept; None for ever."""
    end, ttl = job.end, job.spec.ttl_seconds_after_finished
    if end is None or ttl is None or job.deleting or not end.last_transition_time:
        return None
    return (parse_time(end.last_transition_time) + timedelta(seconds=ttl) - now).total_seconds()


class JobController:
    """Makes pods until a job has what it asks for; ``pods`` needs the index ``BY_JOB``."""

    def __init__(
        self,
        client: Client,
        jobs: Cache[SeenJob],
        pods: Cache[SeenPod],
        events: EventRecorder,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._client = client
        self._jobs = jobs
        self._pods = pods
        self._events = events
        self._clock = clock
        self._failures: dict[Key, tuple[str, Failures]] = {}
        self._controller = Controller("job", self._reconcile, workers=8, clock=clock)
        self._controller.watch(jobs)
        self._controller.watch(pods, _jobs_of_pod)

    async def run(self) -> Never:
        await self._controller.run()

    async def _reconcile(self, key: Key) -> Result:
        job = self._jobs.get(key)
        pods = self._pods.find(BY_JOB, str(key))
        if job is None or not job.ours or job.end is not None:
            self._failures.pop(key, None)
            if job is None or job.ours:
                # Nobody counts these any more.
                await self._release(key, pods)
            return DONE if job is None else await self._after_end(job)
        mine = [pod for pod in pods if (owner := controller_of(pod)) is not None and owner.uid == job.metadata.uid]
        await self._release(key, [pod for pod in pods if pod not in mine])
        uid, failures = self._failures.get(key, ("", Failures()))
        decision = decide.decide(job, mine, failures if uid == job.metadata.uid else Failures(), self._clock.utc())
        await self._apply(key, job, decision)
        return Result(requeue_after=decision.again_after)

    async def _after_end(self, job: SeenJob) -> Result:
        left = seconds_to_live(job, self._clock.utc())
        if left is None:
            return DONE
        if left > 0:
            return Result(requeue_after=left)
        key = job.key
        try:
            await self._client.delete(
                JOBS, key.name, key.namespace, propagation_policy="Foreground", uid=job.metadata.uid
            )
        except (NotFound, Conflict):
            return DONE
        return DONE

    async def _apply(self, key: Key, job: SeenJob, decision: Decision) -> None:
        await _all(self._delete(job, pod, held=True) for pod in decision.delete)
        await _all(self._delete(job, pod, held=False) for pod in decision.drop)
        refused = await self._create(job, decision.create)
        status = decision.status
        if refused is not None:
            missing, _ = refused
            status = msgspec.structs.replace(status, active=status.active - missing)
        if status != job.status:
            await self._write_status(key, status)
        self._failures[key] = (job.metadata.uid, decision.failures)
        for event in decision.events:
            self._events.record(reference(JOBS, job), event.kind, event.reason, event.message)
        await self._release(key, decision.release)
        if refused is not None:
            raise refused[1]

    async def _create(self, job: SeenJob, wanted: Sequence[int | None]) -> tuple[int, ApiError] | None:
        """Make pods, twice as many at once each time; if one is refused, how many are missing and why."""
        whole = self._jobs.whole(job.key) if wanted else None
        if whole is None:
            return None
        made, batch = 0, 1
        while made < len(wanted):
            some = wanted[made : made + batch]
            errors = [
                error for error in await asyncio.gather(*(self._create_one(job, whole, i) for i in some)) if error
            ]
            if errors:
                return len(wanted) - made - len(some) + len(errors), errors[0]
            made, batch = made + len(some), batch * 2
        return None

    async def _create_one(self, job: SeenJob, whole: dict[str, Any], index: int | None) -> ApiError | None:
        about = reference(JOBS, job)
        try:
            made = await self._write(job.key, verbs.create(PODS, pod_of(job, whole, index), job.metadata.namespace))
        except ApiError as error:
            going = isinstance(error, NotFound) or (
                isinstance(error, Forbidden) and error.has_cause("NamespaceTerminating")
            )
            if not going:
                self._events.record(about, "Warning", "FailedCreate", f"Error creating: {error.message}")
            return error
        self._events.record(about, "Normal", "SuccessfulCreate", f"Created pod: {made.metadata.name}")
        return None

    async def _delete(self, job: SeenJob, pod: SeenPod, *, held: bool) -> None:
        if not held:
            await self._release(job.key, [pod])
        name = pod.metadata.name
        try:
            await self._write(job.key, verbs.delete(PODS, name, pod.metadata.namespace, uid=pod.metadata.uid))
        except (NotFound, Conflict):
            return
        self._events.record(reference(JOBS, job), "Normal", "SuccessfulDelete", f"Deleted pod: {name}")

    async def _release(self, writer: Key, pods: Iterable[SeenPod]) -> None:
        await _all(self._release_one(writer, pod) for pod in pods if is_held(pod))

    async def _release_one(self, writer: Key, pod: SeenPod) -> None:
        about = pod.metadata
        change = {"metadata": {**_RELEASED, "uid": about.uid}}
        try:
            await self._write(writer, verbs.patch(PODS, about.name, change, PatchType.STRATEGIC, about.namespace))
        except (NotFound, Conflict):
            # Gone, or another of this name by now.
            return

    async def _write(self, writer: Key, request: Request) -> KubeObject:
        answer = await self._client.send_as(request, KubeObject)
        self._controller.wrote(writer, self._pods, answer)
        return answer

    async def _write_status(self, key: Key, status: JobStatus) -> None:
        whole = self._jobs.whole(key)
        if whole is None:
            return
        whole["status"] = msgspec.to_builtins(status)
        answer = await self._client.send_as(
            verbs.update(JOBS, whole, key.name, key.namespace, subresource="status"), KubeObject
        )
        self._controller.wrote(key, self._jobs, answer)


async def _all(writes: Iterable[Awaitable[None]]) -> None:
    """Do all, and none is given up because another was refused."""
    for outcome in await asyncio.gather(*writes, return_exceptions=True):
        if outcome is not None:
            raise outcome


def _jobs_of_pod(old: SeenPod | None, new: SeenPod | None) -> Iterable[Key]:
    return {Key(*place.split("/", 1)) for pod in (old, new) if pod is not None for place in by_job(pod)}
