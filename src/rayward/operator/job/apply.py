"""Carries out a decision: the attempt is put on record, then the status is written, then the actions are done.

Every action may be done twice. One that fails fails the reconcile, which comes again; a request to Ray that fails does
not: the next look tells what came of it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, Protocol
from urllib.parse import urlencode

import msgspec

from rayward.kinds import labels, names
from rayward.kinds.admission import NO_QUEUES, Queueing
from rayward.kinds.rayjob import DeploymentStatus as Phase
from rayward.kinds.rayjob import RayJobStatus
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS
from rayward.kinds.shapes import SUBMITTER
from rayward.kube.client.api import Client
from rayward.kube.client.errors import AlreadyExists, ApiError, BadRequest, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.client.request import Request
from rayward.kube.client.verbs import object_path
from rayward.kube.core.job import Job
from rayward.kube.core.meta import controller_of, is_controlled_by
from rayward.kube.core.resource import JOBS, PODS, SERVICES, Resource
from rayward.kube.core.status import status_body, status_change
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.kube.runtime.writer import Writer
from rayward.net.errors import NetworkError
from rayward.operator.base.writing import REFUSALS
from rayward.operator.job import annotations as memory
from rayward.operator.job import children, submission
from rayward.operator.job.annotations import Attempt
from rayward.operator.job.ending import LONGEST_TAIL
from rayward.operator.job.facts import SPOKEN, Submitter
from rayward.operator.job.observe import Local, Observed
from rayward.operator.job.state import Action, Decision, State
from rayward.operator.ray.errors import RayError, Refused
from rayward.operator.ray.jobs import JobDashboard

_LOG_BYTES: Final = 1024 * 1024
_LOG_LINES: Final = (100, 5)
"""How many lines of a log are read, and how many where these are too long: Ray's verdict is in the last five."""
_LOG_SECONDS: Final = 10.0
_MOST_ROWS_TEXT: Final = 64 * 1024
_ANSWERING: Final = frozenset((Phase.WAITING.value, Phase.RUNNING.value))
"""Before these phases there is no dashboard to name."""


class Record(Protocol):
    """Records an event about the job, once."""

    def __call__(self, reason: str, message: str, *, warning: bool = False) -> None: ...


class Applier:
    """Carries out the decisions about one job in one reconcile."""

    def __init__(
        self,
        client: Client,
        writer: Writer,
        observed: Observed,
        state: State,
        local: Local,
        dashboard: JobDashboard | None,
        whole: Callable[[], Object | None],
        domain: str,
        event: Record,
        sent: Callable[[], tuple[str, int]],
        queueing: Queueing = NO_QUEUES,
    ) -> None:
        self._client = client
        self._writer = writer
        self._observed = observed
        self._job = observed.job
        self._state = state
        self._local = local
        self._dashboard = dashboard
        self._whole = whole
        self._domain = domain
        self._queueing = queueing
        self._event = event
        self._sent = sent
        self._actions: dict[Action, Callable[[Decision], Awaitable[None]]] = {
            Action.CREATE_CLUSTER: self._create_cluster,
            Action.DELETE_CLUSTER: self._delete_cluster,
            Action.SUSPEND_WORKERS: self._suspend_workers,
            Action.CREATE_SUBMITTER: self._create_submitter,
            Action.DELETE_SUBMITTER: self._delete_submitter,
            Action.READ_SUBMITTER_LOG: self._read_submitter_log,
            Action.SUBMIT: self._submit,
            Action.STOP: self._stop,
            Action.READ_LOG: self._read_log,
            Action.DELETE_SELF: self._delete_self,
            Action.REMOVE_FINALIZER: self._remove_finalizer,
        }

    async def apply(self, decision: Decision) -> None:
        """Write, then act."""
        await self._record(decision)
        await self._report(decision)
        for action in decision.actions:
            await self._actions[action](decision)
        if decision.status.job_deployment_status == "Running" and not self._state.selected:
            await self._lead_service()

    async def _record(self, decision: Decision) -> None:
        metadata, change = self._job.metadata, dict[str, Any]()
        annotations: dict[str, str] = {}
        if decision.attempt is not None:
            text = memory.written(decision.attempt)
            if metadata.annotation(labels.ATTEMPT) != text:
                annotations[labels.ATTEMPT] = text
        if self._local.reported and not self._has_own_definition():
            annotations |= self._kept(decision.status)
        if annotations:
            change["annotations"] = annotations
        finalizers = list(metadata.finalizers or ())
        begins = decision.attempt is not None and not self._job.deleting
        if begins and labels.JOB_FINALIZER not in finalizers:
            change["finalizers"] = [*finalizers, labels.JOB_FINALIZER]
            change["resourceVersion"] = metadata.resource_version
        if change:
            body = {"metadata": {"uid": metadata.uid, **change}}
            await self._writer.patch(RAY_JOBS, metadata.name, body)

    def _has_own_definition(self) -> bool:
        """Whether the server keeps conditions of jobs, which KubeRay's definition does not have."""
        return "conditions" in section(self._whole() or {}, "status")

    def _kept(self, status: RayJobStatus) -> dict[str, str]:
        rows = list(status.attempts or ())
        while rows and len(msgspec.json.encode(rows)) > _MOST_ROWS_TEXT:
            rows = rows[1:]
        kept = {
            labels.ATTEMPTS: msgspec.json.encode(rows).decode(),
            labels.CONDITIONS: msgspec.json.encode(status.conditions or ()).decode(),
        }
        return {name: text for name, text in kept.items() if self._job.metadata.annotation(name) != text}

    async def _report(self, decision: Decision) -> None:
        status, cluster = decision.status, self._observed.cluster
        if cluster is not None and status.job_deployment_status in _ANSWERING:
            status = msgspec.structs.replace(status, dashboard_url=children.dashboard_address(cluster, self._domain))
        change = status_change(status_body(self._job.status), status_body(status))
        if change:
            await self._writer.patch_status(RAY_JOBS, self._job, change, wait=True)
            self._local.reported = True

    async def _create_cluster(self, decision: Decision) -> None:
        assert decision.attempt is not None
        config = section(section(self._whole() or {}, "spec"), "rayClusterSpec")
        body = children.cluster(self._job, memory.remembered(decision.attempt), config, decision.attempt)
        if not await self._create(RAY_CLUSTERS, body, "FailedToCreateRayCluster"):
            return
        self._event(
            "CreatedRayCluster", f"Created RayCluster {self._job.metadata.namespace}/{decision.attempt.cluster}"
        )

    async def _create(self, kind: Resource, body: Object, failed: str) -> bool:
        """Create a child; False where the name is taken. A refusal is reported, and fails the reconcile."""
        try:
            await self._writer.create(kind, body)
        except AlreadyExists:
            # Also after a refusal: the answer to a creation since then may be lost.
            self._local.uncreated.pop(kind.kind, None)
            return False
        except REFUSALS as error:
            self._local.uncreated[kind.kind] = error.message
            name = f"{self._job.metadata.namespace}/{body['metadata']['name']}"
            self._event(failed, f"Failed to create {kind.kind} {name}: {error.message}", warning=True)
            raise
        self._local.uncreated.pop(kind.kind, None)
        return True

    async def _delete_cluster(self, decision: Decision) -> None:
        cluster = self._observed.cluster
        if cluster is not None and not cluster.deleting:
            await self._writer.delete(RAY_CLUSTERS, cluster.metadata.name, cluster.metadata.uid)
            self._event("DeletedRayCluster", f"Deleted RayCluster {cluster.key}")

    async def _suspend_workers(self, decision: Decision) -> None:
        cluster = self._observed.cluster
        if cluster is None:
            return
        change: list[Object] = [{"op": "test", "path": "/metadata/uid", "value": cluster.metadata.uid}]
        for index, group in enumerate(cluster.groups):
            place = f"/spec/workerGroupSpecs/{index}"
            change.append({"op": "test", "path": f"{place}/groupName", "value": group.group_name})
            change.append({"op": "add", "path": f"{place}/suspend", "value": True})
        await self._writer.patch(RAY_CLUSTERS, cluster.metadata.name, change, PatchType.JSON)

    async def _create_submitter(self, decision: Decision) -> None:
        cluster, attempt = self._observed.cluster, decision.attempt
        if cluster is None or attempt is None:
            return
        address = children.dashboard_address(cluster, self._domain)
        body = children.submitter_job(self._job, self._state.spec, attempt, cluster, address, self._queueing)
        if not await self._create(JOBS, body, "FailedToCreateRayJobSubmitter"):
            await self._check_owner(attempt)
            return
        self._event("CreatedRayJobSubmitter", f"Created Kubernetes Job {self._job.key}")

    async def _check_owner(self, attempt: Attempt) -> None:
        """The submitter's name is fixed, and another Job may have it."""
        name = names.submitter_job(self._job.metadata.name)
        found = await self._writer.get(JOBS, name, Job)
        owner = controller_of(found)
        if owner is not None and (owner.kind, owner.name) == (RAY_JOBS.kind, self._job.metadata.name):
            # Our own, which the cache has not shown yet; or that of a RayJob of this name that is gone: it goes too.
            return
        self._refuse(attempt, f"Job {found.key} already exists and is not owned by this RayJob: delete or rename one")

    def _refuse(self, attempt: Attempt, why: str) -> None:
        self._local.refusals[attempt.cluster, attempt.job_id] = why

    async def _delete_submitter(self, decision: Decision) -> None:
        found = self._observed.submitter
        if found is not None and not found.deleting:
            # On a cluster that stays, a pod that outlives its Job could still submit.
            propagation = "Foreground" if self._state.selected else "Background"
            await self._writer.delete(JOBS, found.metadata.name, found.metadata.uid, propagation)
            self._event("DeletedRayJobSubmitter", f"Deleted Kubernetes Job {found.key}")

    async def _submit(self, decision: Decision) -> None:
        dashboard, attempt = self._dashboard, decision.attempt
        if dashboard is None or attempt is None:
            return
        self._local.sent = self._sent()
        try:
            # A head that began anew since it was looked at gets nothing.
            await dashboard.version(attempt.session)
            await dashboard.submit(submission.request(self._state.spec, attempt.job_id))
        except Refused as refusal:
            self._refuse(attempt, f"Ray refused the job: {refusal}")
        except RayError:
            return
        else:
            self._event("SubmittedRayJob", f"Submitted job {attempt.job_id} to RayCluster {attempt.cluster}")

    async def _stop(self, decision: Decision) -> None:
        if self._dashboard is None or not self._observed.job_id:
            return
        self._local.sent = self._sent()
        try:
            await self._dashboard.stop(self._observed.job_id)
        except RayError:
            return

    async def _read_log(self, decision: Decision) -> None:
        attempt, text = self._observed.attempt, ""
        if attempt is None:
            return
        if self._dashboard is not None and self._observed.job_id:
            try:
                info = self._observed.info or await self._dashboard.job(self._observed.job_id)
                text = await self._dashboard.log_tail(info) if info is not None else ""
            except RayError:
                # Read again, as long as the decision is patient.
                return
        # A driver that never started has none; what Ray said of it is in the submitter's.
        asked = not text and self._state.submitter is not Submitter.NONE
        if asked and await self._submitter_log(attempt) is None:
            return
        self._local.tails[attempt.number] = text

    async def _read_submitter_log(self, decision: Decision) -> None:
        """What the submitter's log says of the job; a log that cannot be read now is read again."""
        if self._observed.attempt is None:
            return
        text = await self._submitter_log(self._observed.attempt)
        if text is None:
            return
        said = spoken(text, self._observed.job_id)
        if said in SPOKEN or self._state.submitter is not Submitter.ACTIVE:
            self._local.words[self._observed.submitter_uid] = said

    async def _submitter_log(self, attempt: Attempt) -> str | None:
        """The end of the logs of the submitter's pods, the latest last; None where one cannot be read now."""
        try:
            pods = await self._submitter_pods()
            text = "".join([await self._pod_log(pod, container) for pod, container in pods])
        except (ApiError, NetworkError):
            return None
        if text:
            self._local.submitter_tails[attempt.number] = text[-LONGEST_TAIL:]
        return text

    async def _pod_log(self, pod: str, container: str) -> str:
        """The end of a log; of one that is gone or never began, nothing."""
        path, body = object_path(PODS, self._job.metadata.namespace, pod, "log"), b""
        for lines in _LOG_LINES:
            query = urlencode({"container": container, "tailLines": lines, "limitBytes": _LOG_BYTES})
            request = Request("GET", f"{path}?{query}", accept="*/*", seconds=_LOG_SECONDS)
            try:
                body = (await self._client.attempt(request)).body
            except (NotFound, BadRequest):
                return ""
            # What is above the limit is cut off at the end, where the verdict is.
            if len(body) < _LOG_BYTES:
                break
        return body.decode(errors="replace")

    async def _submitter_pods(self) -> list[tuple[str, str]]:
        if self._observed.submitter is None:
            head = self._observed.head
            return [(head.metadata.name, SUBMITTER)] if head is not None else []
        selector = f"job-name={names.submitter_job(self._job.metadata.name)}"
        found = await self._client.list(PODS, self._job.metadata.namespace, label_selector=selector)
        pods = sorted(found.items, key=lambda pod: pod["metadata"].get("creationTimestamp") or "")
        return [(pod["metadata"]["name"], pod["spec"]["containers"][0]["name"]) for pod in pods]

    async def _delete_self(self, decision: Decision) -> None:
        await self._writer.delete(RAY_JOBS, self._job.metadata.name, self._job.metadata.uid)

    async def _remove_finalizer(self, decision: Decision) -> None:
        finalizers = self._job.metadata.finalizers or ()
        if labels.JOB_FINALIZER in finalizers:
            kept = [each for each in finalizers if each != labels.JOB_FINALIZER]
            await self._writer.set_finalizers(RAY_JOBS, self._job, kept)

    async def _lead_service(self) -> None:
        """The stable name of the head: made once, and turned to the cluster of each attempt."""
        cluster, found = self._observed.cluster, self._observed.service
        if cluster is None:
            return
        if found is None:
            # Its name is for people; the job does not need it.
            with suppress(*REFUSALS):
                await self._create(SERVICES, children.head_service(self._job, cluster), "FailedToCreateService")
        elif not is_controlled_by(found, self._job):
            if not found.deleting:
                self._event("ServiceNameTaken", f"Service {found.key} already exists and is not owned by this RayJob")
        elif (found.spec.selector or {}).get(labels.CLUSTER) != cluster.metadata.name:
            spec = children.head_service(self._job, cluster)["spec"]
            change = {"metadata": {"uid": found.metadata.uid}, "spec": {"selector": spec["selector"]}}
            await self._writer.patch(SERVICES, found.metadata.name, change)


def spoken(log: str, job_id: str) -> Submitter:
    """What Ray's command line says last of a job in ``log``."""
    words = {
        f"Job '{job_id}' succeeded": Submitter.SAID_SUCCEEDED,
        f"Job '{job_id}' failed": Submitter.SAID_FAILED,
        f"Job '{job_id}' was stopped": Submitter.SAID_STOPPED,
    }
    found = max(words, key=log.rfind)
    return words[found] if found in log else Submitter.ENDED
