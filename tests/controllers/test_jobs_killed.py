"""Controllers that die after every few writes still run a job to its end: no pod too many, none counted twice."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.request import Request, Response
from rayward.kube.client.transport.base import ByteStream, Transport
from rayward.kube.core.resource import JOBS, PODS
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.reflector import Reflector
from rayward.local.controllers.jobs.controller import BY_JOB, JobController, by_job
from rayward.local.controllers.jobs.job import SeenJob
from rayward.local.controllers.pods import SeenPod
from tests.controllers.plays import make_node, set_status
from tests.controllers.scenarios import running, space
from tests.controllers.test_on_our_server import kubeconfig

__all__ = ["kubeconfig"]


class _Mortal:
    """Lets so many writes of jobs and pods through; of the last nobody hears the answer."""

    def __init__(self, transport: Transport, writes: int) -> None:
        self.died = asyncio.Event()
        self._transport = transport
        self._left = writes

    async def request(self, request: Request) -> Response:
        written = request.method != "GET" and ("/pods" in request.target or "/jobs" in request.target)
        if written and self._left == 0:
            await asyncio.Event().wait()
        answer = await self._transport.request(request)
        if written:
            self._left -= 1
            if self._left == 0:
                self.died.set()
                await asyncio.Event().wait()
        return answer

    def stream(self, request: Request) -> AbstractAsyncContextManager[ByteStream]:
        return self._transport.stream(request)

    async def close(self) -> None:
        await self._transport.close()


async def _control(client: Client) -> None:
    jobs: Cache[SeenJob] = Cache(JOBS, SeenJob)
    pods: Cache[SeenPod] = Cache(PODS, SeenPod, indexes={BY_JOB: by_job})
    reflectors = (Reflector(client, jobs), Reflector(client, pods))
    events = EventRecorder(client, "job-controller")
    controller = JobController(client, jobs, pods, events)
    async with asyncio.TaskGroup() as tasks:
        for reflector in reflectors:
            tasks.create_task(reflector.run())
            await reflector.wait_synced()
        tasks.create_task(events.run())
        tasks.create_task(controller.run())


async def _live_once(theirs: Client, writes: int, over: asyncio.Event) -> None:
    mortal = _Mortal(theirs.transport, writes)
    works = (_control(Client(mortal)), mortal.died.wait(), over.wait())
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _live_and_die(kubeconfig: Path, writes: int, over: asyncio.Event) -> int:
    lives = 0
    async with Client.connect(find_access(kubeconfig)) as theirs:
        while not over.is_set():
            await _live_once(theirs, writes, over)
            lives += 1
    return lives


async def _succeed(client: Client, namespace: str) -> dict[str, Any]:
    """End every pod well until the job has ended."""
    while True:
        for pod in (await client.list(PODS, namespace)).items:
            if pod["status"]["phase"] == "Pending":
                await set_status(client, namespace, pod["metadata"]["name"], {"phase": "Succeeded"})
        status = (await client.get(JOBS, "j", namespace))["status"]
        if status.get("completionTime"):
            return status
        await asyncio.sleep(0.05)


@pytest.mark.anyio
@pytest.mark.parametrize("writes", [1, 2, 3])
async def test_a_job_outlives_its_controllers(kubeconfig: Path, writes: int) -> None:
    async with running(kubeconfig, without=("jobs",)) as client, space(client) as namespace:
        await make_node(client, namespace)
        pod = {"restartPolicy": "Never", "nodeName": namespace, "containers": [{"name": "c", "image": "i"}]}
        spec = {"parallelism": 2, "completions": 3, "template": {"spec": pod}}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}
        await client.create(JOBS, job, namespace)
        over = asyncio.Event()
        dying = asyncio.create_task(_live_and_die(kubeconfig, writes, over))
        status = await _succeed(client, namespace)
        over.set()
        assert await dying >= 3
        assert (status["succeeded"], status.get("failed", 0), status.get("active", 0)) == (3, 0, 0)
        pods = (await client.list(PODS, namespace)).items
        assert len(pods) == 3
        assert not any("finalizers" in each["metadata"] for each in pods)
