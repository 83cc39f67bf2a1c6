"""One pod of this node: observes it, asks what to do next, does that, and tells the API."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import signal
from typing import Any, Final

import msgspec

from rayward.kube.client.errors import ApiError, Conflict, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import PODS
from rayward.local.node import runs
from rayward.local.node.container.environment import ConfigError
from rayward.local.node.container.images import NoImage
from rayward.local.node.folders import Record
from rayward.local.node.ground.logfile import write_whole
from rayward.local.node.logs.tail import last_lines
from rayward.local.node.pod import backoff
from rayward.local.node.pod.decide import Step, deadline_passed, decide
from rayward.local.node.pod.facts import UNKNOWN, Container, Pod, Run, Waiting
from rayward.local.node.pod.status import pod_status
from rayward.local.node.sandbox import Line, SandboxError
from rayward.local.node.volumes.content import VolumeError
from rayward.local.node.work import sandboxing, starting
from rayward.local.node.work.contents import Contents
from rayward.local.node.work.host import Host
from rayward.local.node.work.tending import Ward
from rayward.net.errors import NetworkError

Object = dict[str, Any]

_log = logging.getLogger(__name__)
_RETRY: Final = 2.0
_LONGEST_RETRY: Final = 120.0
_LEAST_GRACE: Final = 2.0
_TERMINAL: Final = ("Succeeded", "Failed")


class PodWorker:
    """The life of one pod on this node."""

    def __init__(self, host: Host, pod: Object) -> None:
        self.pod = pod
        self.uid: str = pod["metadata"]["uid"]
        self.containers: dict[str, Container] = {}
        self.line: Line | None = None
        self._host = host
        self._node = host.nodes[pod["spec"]["nodeName"]]
        self.folder = host.folders.pod(self.uid)
        self._record = self.folder.read()
        self._contents = Contents(host, self._node, self.folder)
        self._poked = asyncio.Event()
        self._gone = False
        self._stale_contents = True
        self._ended: tuple[str, str] | None = None
        self._trouble = 0
        self._retry_at = 0.0
        self._blocked_until: dict[str, float] = {}
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._written: Object | None = None

    def update(self, pod: Object) -> None:
        """The pod's object changed."""
        grace = pod["metadata"].get("deletionGracePeriodSeconds")
        before = self.pod["metadata"].get("deletionGracePeriodSeconds")
        if grace is not None and before is not None and grace < before:
            self._hurry()
        self.pod = pod
        self.poke()

    def vanish(self) -> None:
        """The pod's object is gone: so must be all of it."""
        self._gone = True
        self.poke()

    def refresh(self) -> None:
        """Something that the pod's volumes or variables are made from changed."""
        self._stale_contents = True
        self._blocked_until.clear()
        self._retry_at = 0.0
        self.poke()

    def poke(self) -> None:
        """Look again."""
        self._poked.set()

    async def run(self) -> None:
        """Until nothing is left of the pod."""
        try:
            await self._adopt()
            while True:
                self._poked.clear()
                try:
                    wait = await self._step()
                except (ApiError, NetworkError, SandboxError) as error:
                    _log.info("pod %s: %s", self._name, error)
                    wait = self._next_try()
                if wait is not None and wait < 0:
                    return
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._poked.wait()
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)
            if self.line is not None:
                self.line.close()

    @property
    def _name(self) -> str:
        metadata = self.pod["metadata"]
        return f"{metadata['namespace']}/{metadata['name']}"

    @property
    def _deleting(self) -> bool:
        return self._gone or bool(self.pod["metadata"].get("deletionTimestamp"))

    def _next_try(self) -> float:
        self._trouble += 1
        return min(_RETRY * 2 ** min(self._trouble - 1, 8), _LONGEST_RETRY)

    async def _adopt(self) -> None:
        record = self._record
        if record is None:
            return
        running: dict[str, frozenset[int]] = {}
        if record.address and self.uid in await self._host.sandboxes.pods():
            self.line = await self._host.sandboxes.connect(self.uid, self._heard, self._lost)
            listed, _ = await self.line.ask("list")
            running = {one["name"]: frozenset({one["attempt"]}) for one in listed["containers"] if one["running"]}
        told = sandboxing.told_statuses(self.pod)
        for container in sandboxing.all_containers(self.pod):
            name = container["name"]
            found = runs.recorded(
                self.folder, name, record.sandbox, running=running.get(name, frozenset()), now=self._host.now()
            )
            self.containers[name] = found
            if found.running:
                status = told.get(name) or {}
                # Without this a ready pod would be unready for as long as its first probe takes.
                self._change(name, startup=bool(status.get("started")), ready=bool(status.get("ready")))
                self._tend(name, greet=False)

    def _facts(self) -> Pod:
        record = self._record
        return Pod(
            containers=self.containers,
            address=record.address if record is not None and self.line is not None else "",
            host=self._node.address,
            begun=record.begun if record is not None else 0.0,
            ended=self._ended,
        )

    async def _step(self) -> float | None:
        """One round; returns the seconds until the next, None to wait for news, or less than 0 at the end."""
        now = self._host.now()
        if not self._deleting and (self.pod.get("status") or {}).get("phase") not in _TERMINAL:
            await self._prepare(now)
        if self._ended is None and not self._deleting and deadline_passed(self.pod, self._facts(), now):
            message = "Pod was active on the node longer than the specified deadline"
            self._ended = ("DeadlineExceeded", message)
            self._host.tell(self.pod, "Normal", "DeadlineExceeded", message)
        step = self._decide(now)
        for name, why in step.stop:
            self._stop(name, why)
        for name in step.start:
            if now >= self._blocked_until.get(name, 0.0):
                await self._start(name, now)
        if step.over:
            await self._end_sandbox()
        await self._write_status()
        if step.over and self._deleting:
            await self._delete()
            return -1.0
        return self._wait(step, now)

    def _decide(self, now: float) -> Step:
        pod = self.pod
        if self._gone:
            pod = {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "now"}}
        elif (pod.get("status") or {}).get("phase") in _TERMINAL and self._ended is None:
            # What ended once never starts again, whatever is left of it here.
            return decide(pod, msgspec.structs.replace(self._facts(), ended=("", "")), now)
        return decide(pod, self._facts(), now)

    def _wait(self, step: Step, now: float) -> float | None:
        moments = [moment for moment in self._blocked_until.values() if moment > now]
        if self._retry_at > now:
            moments.append(self._retry_at)
        if step.look_again is not None:
            moments.append(step.look_again)
        if self.line is not None and (due := self._contents.due) is not None:
            self._stale_contents = self._stale_contents or now >= due
            moments.append(due)
        return max(min(moments) - now, 0.01) if moments else None

    async def _prepare(self, now: float) -> None:
        if now < self._retry_at:
            return
        if self._record is None:
            metadata = self.pod["metadata"]
            self._record = Record(
                self.uid, metadata["namespace"], metadata["name"], self._node.name, begun=now, spec=self.pod["spec"]
            )
            self.folder.write(self._record)
        try:
            if self._stale_contents or (self._contents.due is not None and now >= self._contents.due):
                await self._contents.put(self.pod)
                self._stale_contents = False
            if self.line is None:
                await self._make_sandbox()
            self._trouble, self._retry_at = 0, 0.0
        except VolumeError as error:
            self._host.tell(self.pod, "Warning", "FailedMount", str(error))
            self._retry_at = now + self._next_try()
        except (SandboxError, LookupError) as error:
            self._host.tell(self.pod, "Warning", "FailedCreatePodSandBox", f"Failed to create pod sandbox: {error}")
            self._retry_at = now + self._next_try()

    async def _make_sandbox(self) -> None:
        record = self._record
        assert record is not None
        if record.sandbox and record.address:
            self._host.tell(
                self.pod, "Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created."
            )
            await self._host.sandboxes.kill(self.uid)
            self._host.addresses.free(record.address)
        shared = bool(self.pod["spec"].get("hostNetwork"))
        address = self._node.address if shared else self._host.addresses.take(self._node.network)
        record = msgspec.structs.replace(record, address=address, sandbox=record.sandbox + 1)
        # First the record: a node that dies here finds out which address the sandbox has.
        self.folder.write(record)
        self._record = record
        settings = sandboxing.write_settings(self.folder, self.pod, address, own_network=not shared)
        await self._host.sandboxes.make(self.uid, settings)
        self.line = await self._host.sandboxes.connect(self.uid, self._heard, self._lost)
        for name, found in self.containers.items():
            if found.run is not None:
                self._change(name, run=msgspec.structs.replace(found.run, stale=True))

    async def _start(self, name: str, now: float) -> None:
        assert self._record is not None
        assert self.line is not None
        found = self.containers.get(name, UNKNOWN)
        container = sandboxing.container_named(self.pod, name)
        attempt = found.run.attempt + 1 if found.run is not None else 0
        wait = backoff.after_start(found.run, found.backoff, now)
        self.pod.setdefault("status", {}).update(
            podIP=self._record.address, podIPs=[{"ip": self._record.address}], hostIP=self._node.address
        )
        start = starting.Start(attempt, wait, self._record.sandbox, self._contents.folders)
        try:
            spec = starting.spec_of(self._host, self._node, self.pod, container, self.folder, start)
        except NoImage as error:
            self._block_image(name, container, error, now)
            return
        except ConfigError as error:
            self._host.tell(self.pod, "Warning", "Failed", f"Error: {error}", name)
            self._block(name, Waiting("CreateContainerConfigError", str(error)), now)
            return
        path = self.folder.container(name) / f"{attempt}.json"
        write_whole(path, msgspec.json.encode(spec))
        self._host.tell(
            self.pod, "Normal", "Pulled", f'Container image "{container.get("image")}" already present on machine', name
        )
        self._host.tell(self.pod, "Normal", "Created", "Container created", name)
        fresh = Container(run=Run(attempt), previous=found.run, backoff=wait, greeted=False)
        self.containers[name] = fresh
        self._blocked_until.pop(name, None)
        await self.line.ask("start", spec=str(path))
        if attempt:
            shutil.rmtree(self.folder.container(name) / str(attempt - 1), ignore_errors=True)

    def _block(self, name: str, waiting: Waiting, now: float) -> None:
        self._change(name, blocked=waiting)
        self._blocked_until[name] = now + self._next_try()

    def _block_image(self, name: str, container: Object, error: NoImage, now: float) -> None:
        image, before = container.get("image", ""), self.containers.get(name, UNKNOWN).blocked
        if error.reason == "InvalidImageName" or before is None:
            self._host.tell(self.pod, "Warning", "Failed", f'Failed to pull image "{image}": {error}', name)
            self._host.tell(self.pod, "Warning", "Failed", f"Error: {error.reason}", name)
            self._block(name, Waiting(error.reason, str(error)), now)
            return
        message = f'Back-off pulling image "{image}": {error.reason}: {error}'
        self._host.tell(self.pod, "Normal", "BackOff", f'Back-off pulling image "{image}"', name)
        self._block(name, Waiting("ImagePullBackOff", message), now)

    def _change(self, name: str, **fields: Any) -> None:
        self.containers[name] = msgspec.structs.replace(self.containers.get(name, UNKNOWN), **fields)

    def _heard(self, message: Object) -> None:
        name = message["name"]
        found = self.containers.get(name, UNKNOWN)
        if found.run is None or found.run.attempt != message["attempt"] or found.run.over:
            return
        if message["event"] == "started":
            self._change(name, run=msgspec.structs.replace(found.run, started=message["at"]), blocked=None)
            self._host.tell(self.pod, "Normal", "Started", "Container started", name)
            self._tend(name, greet=True)
        elif message["event"] == "ended":
            if message.get("failed"):
                self._host.tell(self.pod, "Warning", "Failed", f"Error: {message['failed']}", name)
            self._over(name, runs.from_record(message, message=self._last_words(name, message)))
        self.poke()

    def _over(self, name: str, run: Run) -> None:
        self._cancel("tend", name)
        self._change(name, run=run, stopping=False, condemned="", ready=None, startup=None, blocked=None, greeted=True)
        found = self.containers[name]
        if not self._deleting and backoff.wait_until(run, found.backoff) is not None and not run.succeeded:
            metadata = self.pod["metadata"]
            where = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
            text = f"Back-off restarting failed container {name} in pod {where}"
            self._host.tell(self.pod, "Warning", "BackOff", text, name)

    def _last_words(self, name: str, record: Object) -> str:
        container = sandboxing.container_named(self.pod, name)
        place, attempt = self.folder.container(name), record["attempt"]
        said = runs.termination(place, attempt)
        policy = container.get("terminationMessagePolicy")
        if not said and policy == "FallbackToLogsOnError" and record["code"] != 0:
            said = last_lines(self.folder.log(name, attempt))
            (place / f"{attempt}.message").write_text(said)
        return said

    def _lost(self) -> None:
        """The pod's init is gone, and all its containers with it."""
        self.line = None
        for name, found in list(self.containers.items()):
            if found.alive and found.run is not None:
                now = self._host.now()
                reason, message = "ContainerStatusUnknown", runs.LOST
                lost = msgspec.structs.replace(found.run, ended=now, code=137, reason=reason, message=message)
                self._over(name, lost)
        self.poke()

    def _ward(self, name: str) -> Ward | None:
        found = self.containers.get(name, UNKNOWN)
        if self.line is None or self._record is None or found.run is None:
            return None
        container = sandboxing.container_named(self.pod, name)
        return Ward(
            self._host.sandboxes.ground,
            self.line,
            self._record.address,
            container,
            found.run.started or self._host.now(),
            self._host.now,
            lambda reason, message: self._host.tell(self.pod, "Warning", reason, message, name),
        )

    def _tend(self, name: str, *, greet: bool) -> None:
        ward, found = self._ward(name), self.containers[name]
        if ward is None:
            return

        def change(fields: Object) -> None:
            self._change(name, **fields)
            self.poke()

        self._spawn("tend", name, ward.tend(found.startup, found.ready, greet, change))

    def _stop(self, name: str, why: str) -> None:
        self._change(name, stopping=True)
        self._host.tell(self.pod, "Normal", "Killing", why or f"Stopping container {name}", name)
        self._spawn("stop", name, self._stop_gently(name, self._grace(name)))

    def _grace(self, name: str) -> float:
        found, spec = self.containers[name], self.pod["spec"]
        if self.pod["metadata"].get("deletionGracePeriodSeconds") is not None:
            return float(self.pod["metadata"]["deletionGracePeriodSeconds"])
        grace = spec.get("terminationGracePeriodSeconds")
        if found.condemned:
            kind = "startupProbe" if "startup probe" in found.condemned else "livenessProbe"
            probe = sandboxing.container_named(self.pod, name).get(kind) or {}
            grace = probe.get("terminationGracePeriodSeconds", grace)
        return float(30 if grace is None else grace)

    async def _stop_gently(self, name: str, grace: float) -> None:
        line, ward = self.line, self._ward(name)
        if line is None or ward is None:
            return
        deadline = self._host.now() + grace
        with contextlib.suppress(SandboxError):
            if grace > 0:
                if self.containers[name].running:
                    await ward.say_goodbye(grace)
                await line.ask("signal", name=name, number=int(signal.SIGTERM))
                left = max(deadline - self._host.now(), min(grace, _LEAST_GRACE))
                while left > 0 and self.containers[name].alive:
                    await asyncio.sleep(min(left, 0.05 if left < 1 else 0.2))
                    left = deadline - self._host.now()
            if self.containers[name].alive:
                await line.ask("signal", name=name, number=int(signal.SIGKILL))

    def _hurry(self) -> None:
        for name, found in list(self.containers.items()):
            if found.stopping:
                self._cancel("stop", name)
                self._change(name, stopping=False)

    def _spawn(self, kind: str, name: str, work: Any) -> None:
        self._cancel(kind, name)
        self._tasks[(kind, name)] = asyncio.create_task(work)

    def _cancel(self, kind: str, name: str) -> None:
        task = self._tasks.pop((kind, name), None)
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    async def _end_sandbox(self) -> None:
        if self.line is not None:
            self.line.close()
            self.line = None
        if self._record is not None and self._record.address:
            await self._host.sandboxes.kill(self.uid)
            self._host.addresses.free(self._record.address)

    async def _write_status(self) -> None:
        if self._gone:
            return
        if (self.pod.get("status") or {}).get("phase") in _TERMINAL and self._written is None:
            return
        known = self._facts()
        if not known.address and self._record is not None and (self.pod.get("status") or {}).get("podIP"):
            known = msgspec.structs.replace(known, address=self._record.address)
        environments = self._host.settings.environments
        status = pod_status(self.pod, known, self._host.now(), lambda image: starting.image_id(environments, image))
        if status == self._written:
            return
        metadata = self.pod["metadata"]
        body = {"metadata": {"uid": self.uid}, "status": status}
        try:
            answer = await self._host.client.patch(
                PODS, metadata["name"], body, PatchType.MERGE, metadata["namespace"], subresource="status"
            )
        except (NotFound, Conflict):
            # Gone, or another of the same name: the watch will tell.
            return
        self._written = status
        self.pod.setdefault("status", {})["conditions"] = (answer.get("status") or {}).get("conditions") or []

    async def _delete(self) -> None:
        if not self._gone:
            metadata = self.pod["metadata"]
            with contextlib.suppress(NotFound, Conflict):
                await self._host.client.delete(
                    PODS, metadata["name"], metadata["namespace"], grace_period_seconds=0, uid=self.uid
                )
        await asyncio.to_thread(self.folder.remove)
