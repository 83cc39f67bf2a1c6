"""A server with one job, a node that does as told, and a controller that can be killed between any two writes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from rayward.kube.core.meta import rfc3339
from rayward.local.controllers.jobs.backoff import Failures
from rayward.local.controllers.jobs.decide import Decision, decide
from rayward.local.controllers.jobs.job import FINALIZER, INDEX, JobStatus, SeenJob
from rayward.local.controllers.pods import SeenPod

Object = dict[str, Any]
START = datetime(2026, 1, 1, tzinfo=UTC)


def job_of(status: JobStatus | None = None, **spec: Any) -> SeenJob:
    """A job."""
    made: Object = {"metadata": {"name": "j", "namespace": "x", "uid": "job"}, "spec": spec}
    if status is not None:
        made["status"] = msgspec.to_builtins(status)
    return msgspec.convert(made, SeenJob)


def pod_of(
    uid: str, phase: str = "Pending", *, index: int | None = None, when: datetime = START, **more: Any
) -> SeenPod:
    """A pod of the job; ``released`` without the finalizer, ``deleting`` while it is going."""
    metadata: Object = {"name": uid, "namespace": "x", "uid": uid, "creationTimestamp": rfc3339(when)}
    if not more.get("released"):
        metadata["finalizers"] = [FINALIZER]
    if more.get("deleting"):
        metadata["deletionTimestamp"] = rfc3339(when)
    if index is not None:
        metadata["annotations"] = {INDEX: str(index)}
    container: Object = {"name": "c", "restartCount": more.get("restarts", 0)}
    if phase in ("Succeeded", "Failed"):
        container["state"] = {"terminated": {"exitCode": 0, "finishedAt": rfc3339(when)}}
    ready = {"type": "Ready", "status": "True" if more.get("ready") else "False"}
    status = {"phase": phase, "containerStatuses": [container], "conditions": [ready]}
    spec = {"nodeName": more.get("node", "n")}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, SeenPod)


class World:
    """One job and its pods."""

    def __init__(self, **spec: Any) -> None:
        self.spec: Object = spec
        self.status = JobStatus()
        self.pods: dict[str, Object] = {}
        self.now = START
        self.released: dict[str, str] = {}
        """How each pod had ended when it lost its finalizer, unless it was dropped."""
        self._dropped: set[str] = set()
        self._failures = Failures()
        self._made = 0

    @property
    def ended(self) -> bool:
        """Whether the job has."""
        return self._job.end is not None

    @property
    def active(self) -> list[str]:
        """The pods that have not ended and are not going."""
        return [pod.metadata.uid for pod in self._seen() if not pod.over and not pod.deleting]

    def control(self, writes: int | None = None) -> bool:
        """Let the controller decide and write; killed after so many writes. Whether there was anything to do."""
        if self.ended:
            return False
        decision = decide(self._job, self._seen(), self._failures, self.now)
        todo = self._writes(decision)
        for write in todo[:writes]:
            write()
        killed = writes is not None and writes < len(todo)
        self._failures = Failures() if killed else decision.failures
        return bool(todo)

    def end(self, uid: str, phase: str) -> None:
        """A pod ends."""
        self.pods[uid].update(phase=phase, when=self.now)

    def delete(self, uid: str) -> None:
        """A user deletes a pod."""
        self.pods[uid].update(deleting=True, when=self.now)

    def sweep(self) -> None:
        """Pods that are going have ended, and those that nothing holds are gone."""
        for uid, pod in list(self.pods.items()):
            if not pod.get("deleting"):
                continue
            if pod["phase"] not in ("Succeeded", "Failed"):
                self.end(uid, "Failed")
            if pod.get("released"):
                del self.pods[uid]

    def pass_time(self, seconds: float) -> None:
        """Later."""
        self.now += timedelta(seconds=seconds)

    @property
    def _job(self) -> SeenJob:
        return job_of(self.status, **self.spec)

    def _seen(self) -> list[SeenPod]:
        return [pod_of(uid, **pod) for uid, pod in self.pods.items()]

    def _writes(self, decision: Decision) -> list[Callable[[], None]]:
        writes: list[Callable[[], None]] = []
        writes += [lambda pod=pod: self.delete(pod.metadata.uid) for pod in decision.delete]
        for pod in decision.drop:
            writes.append(lambda pod=pod: self._release(pod.metadata.uid, counted=False))
            writes.append(lambda pod=pod: self.delete(pod.metadata.uid))
        writes += [lambda index=index: self._create(index) for index in decision.create]
        if decision.status != self.status:
            writes.append(lambda: setattr(self, "status", decision.status))
        writes += [lambda pod=pod: self._release(pod.metadata.uid, counted=True) for pod in decision.release]
        return writes

    def _create(self, index: int | None) -> None:
        self._made += 1
        self.pods[f"u{self._made}"] = {"phase": "Pending", "index": index, "when": self.now}

    def _release(self, uid: str, *, counted: bool) -> None:
        pod = self.pods.get(uid)
        if pod is None or pod.get("released"):
            return
        pod["released"] = True
        if counted:
            self.released[uid] = pod["phase"]
