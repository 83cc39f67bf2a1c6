"""Jobs, and how their pods end."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from rayward.kube.client.api import Client
from rayward.kube.client.errors import NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.meta import rfc3339
from rayward.kube.core.resource import EVENTS, JOBS, PODS
from tests.controllers.plays import Object, Play, make_node, ordered, set_status
from tests.controllers.scenarios import gone, until

_TIMES: Final = ("startTime", "completionTime")
_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_SUFFIX: Final = re.compile(r"-[a-z0-9]{5}$")


def _job(name: str, node: str, **spec: Any) -> Object:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}], "nodeName": node}
    template = {"metadata": {"labels": {"app": name}, "annotations": {"note": "n"}}, "spec": pod}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": template, **spec}}


def _ended(phase: str) -> Object:
    code = 0 if phase == "Succeeded" else 1
    terminated = {"exitCode": code, "finishedAt": rfc3339(datetime.now(UTC))}
    container = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0}
    return {
        "phase": phase,
        "conditions": [{"type": "Ready", "status": "False"}],
        "containerStatuses": [{**container, "state": {"terminated": terminated}}],
    }


_RUNNING: Final = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


class _Kubelet:
    """Says how the pods of jobs are."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def active(self, job: str, count: int = 1, *, index: int | None = None) -> list[str]:
        """So many pods of a job that have not ended, once they are there."""

        async def found() -> list[str]:
            labels = f"job-name={job}" + ("" if index is None else f",{_INDEX}={index}")
            pods = (await self._client.list(PODS, self._namespace, label_selector=labels)).items
            names = [
                pod["metadata"]["name"]
                for pod in pods
                if pod["status"]["phase"] in ("Pending", "Running") and "deletionTimestamp" not in pod["metadata"]
            ]
            return sorted(names) if len(names) >= count else []

        return (await until(found))[:count]

    async def set(self, job: str, status: Object, count: int = 1, *, index: int | None = None) -> None:
        """Report a status of so many pods of a job."""
        names = await self.active(job, count, index=index)
        await asyncio.gather(*(set_status(self._client, self._namespace, name, status) for name in names))

    async def end_terminating(self) -> None:
        """Pods that are going are gone."""
        for pod in (await self._client.list(PODS, self._namespace)).items:
            metadata = pod["metadata"]
            if "deletionTimestamp" not in metadata:
                continue
            if "finalizers" in metadata:
                await set_status(self._client, self._namespace, metadata["name"], _ended("Failed"))
            with suppress(NotFound):
                await self._client.delete(PODS, metadata["name"], self._namespace, grace_period_seconds=0)


class _Stage:
    """A namespace with a node, and the verbs of the plays."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self.kubelet = _Kubelet(client, namespace)

    async def prepare(self) -> None:
        """The node on which the pods are."""
        await make_node(self.client, self.namespace)

    async def make(self, name: str, **spec: Any) -> None:
        """A job."""
        await self.client.create(JOBS, _job(name, self.namespace, **spec), self.namespace)

    async def change(self, name: str, **spec: Any) -> None:
        """Another spec."""
        await self.client.patch(JOBS, name, {"spec": spec}, PatchType.MERGE, self.namespace)


async def _completing(client: Client, namespace: str) -> AsyncIterator[str]:
    stage = _Stage(client, namespace)
    await stage.prepare()
    await stage.make("plain", parallelism=2, completions=3)
    await stage.make("queue", parallelism=2, completions=None)
    await stage.make("nothing", completions=0)
    yield "three jobs, one of which asks for nothing"
    await stage.kubelet.set("plain", _RUNNING, 2)
    yield "pods are ready"
    await stage.kubelet.set("plain", _ended("Succeeded"))
    await stage.kubelet.set("queue", _ended("Succeeded"))
    yield "one pod of each is done"
    await stage.kubelet.set("plain", _ended("Succeeded"), 2)
    await stage.kubelet.set("queue", _ended("Succeeded"))
    yield "all are done"
    await stage.make("short", ttlSecondsAfterFinished=0)
    await stage.kubelet.set("short", _ended("Succeeded"))
    await until(lambda: gone(client, JOBS, "short", namespace))
    yield "a job that is not kept"
    await client.delete(JOBS, "plain", namespace, propagation_policy="Foreground")
    yield "a job is deleted"


async def _failing(client: Client, namespace: str) -> AsyncIterator[str]:
    stage = _Stage(client, namespace)
    await stage.prepare()
    await stage.make("failing", parallelism=2, completions=2, backoffLimit=0)
    await stage.kubelet.set("failing", _ended("Failed"))
    yield "one failure too many"
    await stage.kubelet.end_terminating()
    yield "and the other pod is gone"
    await stage.make("late", activeDeadlineSeconds=1)
    yield "a deadline is over"
    await stage.kubelet.end_terminating()
    yield "and its pod is gone"


async def _trying_again(client: Client, namespace: str) -> AsyncIterator[str]:
    stage = _Stage(client, namespace)
    kubelet = stage.kubelet
    await stage.prepare()
    await stage.make("retried", backoffLimit=2)
    await stage.make("replaced")
    await stage.make("patient", podReplacementPolicy="Failed")
    await stage.make("indexed", parallelism=3, completions=4, completionMode="Indexed")
    yield "jobs have pods"
    await kubelet.set("retried", _ended("Failed"))
    for job in ("replaced", "patient"):
        await client.delete(PODS, (await kubelet.active(job))[0], namespace, grace_period_seconds=30)
    await kubelet.set("indexed", _ended("Failed"), index=1)
    await kubelet.set("indexed", _ended("Succeeded"), index=2)
    for job in ("retried", "replaced"):
        await kubelet.active(job)
    await kubelet.active("indexed", index=1)
    yield "those that failed are tried again after a while, but not one whose end is waited for"
    await kubelet.end_terminating()
    for index in (0, 1, 3):
        await kubelet.set("indexed", _ended("Succeeded"), index=index)
    for job in ("retried", "replaced", "patient"):
        await kubelet.set(job, _ended("Succeeded"))
    yield "all are done"


async def _suspending(client: Client, namespace: str) -> AsyncIterator[str]:
    stage = _Stage(client, namespace)
    await stage.prepare()
    await stage.make("paused", suspend=True, parallelism=2, completions=2)
    yield "a job is suspended"
    await stage.change("paused", suspend=False)
    yield "it is resumed"
    await stage.kubelet.set("paused", _RUNNING, 2)
    yield "its pods run"
    await stage.change("paused", suspend=True)
    yield "it is suspended again"
    await stage.kubelet.end_terminating()
    yield "its pods are gone"
    await stage.change("paused", suspend=False, parallelism=1)
    yield "it is resumed with one pod at a time"
    await stage.change("paused", parallelism=2)
    await stage.kubelet.active("paused", 2)
    yield "and has one more"
    await stage.change("paused", parallelism=1)
    yield "and has one less"
    await client.delete(JOBS, "paused", namespace, propagation_policy="Orphan")
    yield "it is deleted without its pods"


async def _observe(client: Client, namespace: str) -> Object:
    jobs = (await client.list(JOBS, namespace)).items
    pods = (await client.list(PODS, namespace)).items
    events = (await client.list(EVENTS, namespace)).items
    return {
        "jobs": {job["metadata"]["name"]: _status(job["status"]) for job in jobs},
        "pods": ordered(_pod(pod) for pod in pods),
        "events": _told(events),
    }


def _status(status: Object) -> Object:
    shown = {name: "<time>" if name in _TIMES else value for name, value in status.items()}
    shown["conditions"] = [
        {name: value for name, value in found.items() if not name.endswith("Time")}
        for found in status.get("conditions") or []
    ]
    shown["uncountedTerminatedPods"] = {
        name: len(uids) for name, uids in (status.get("uncountedTerminatedPods") or {}).items()
    }
    return shown


def _pod(pod: Object) -> Object:
    metadata, spec = pod["metadata"], pod["spec"]
    owners = metadata.get("ownerReferences") or []
    labels: dict[str, str] = dict(metadata["labels"])
    for name in ("controller-uid", "batch.kubernetes.io/controller-uid"):
        if owners and labels.get(name) == owners[0]["uid"]:
            labels[name] = "<uid>"
        else:
            labels[name] = "<another>"
    return {
        "prefix": metadata["generateName"],
        "labels": labels,
        "annotations": metadata.get("annotations"),
        "finalizers": metadata.get("finalizers"),
        "owners": [{**owner, "uid": "<uid>"} for owner in owners],
        "deleting": "deletionTimestamp" in metadata,
        "phase": pod["status"]["phase"],
        "hostname": spec.get("hostname"),
        "env": spec["containers"][0].get("env"),
    }


def _told(events: list[Object]) -> list[Object]:
    counted: Counter[tuple[str, str, str, str, str]] = Counter()
    for event in events:
        about = event["involvedObject"]
        if about["kind"] != "Job":
            continue
        message = _SUFFIX.sub("-<suffix>", event["message"])
        told = (about["name"], event["type"], event["reason"], message, event["source"]["component"])
        counted[told] += event["count"]
    return [{"about": list(told), "count": count} for told, count in sorted(counted.items())]


JOB_PLAYS: Final = (
    Play("jobs-completing", _completing, _observe),
    Play("jobs-failing", _failing, _observe),
    Play("jobs-trying-again", _trying_again, _observe),
    Play("jobs-suspending", _suspending, _observe),
)
