"""The containers of one pod: what is known of them, starting, looking after and stopping them."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
from collections.abc import Callable, Coroutine
from typing import Any, Final

import msgspec

from rayward.kube.machinery.jsonvalue import Object, section
from rayward.kube.machinery.podrequests import amounts, container_requests, pod_requests
from rayward.local.node import runs
from rayward.local.node.cgroups import Group
from rayward.local.node.container.environment import ConfigError
from rayward.local.node.container.images import NoImage
from rayward.local.node.container.limits import stated
from rayward.local.node.folders import PodFolder, Record
from rayward.local.node.logs.tail import last_lines
from rayward.local.node.pod import backoff
from rayward.local.node.pod.facts import UNKNOWN, Backoff, Container, Run, Waiting
from rayward.local.node.pod.grace import left
from rayward.local.node.sandbox import process
from rayward.local.node.sandbox.logfile import write_whole
from rayward.local.node.sandboxes import Line, SandboxError
from rayward.local.node.work import sandboxing, starting
from rayward.local.node.work.contents import Contents
from rayward.local.node.work.host import Host, NodeInfo
from rayward.local.node.work.tending import Ward

_RETRY: Final = 2.0
_LONGEST_RETRY: Final = 120.0


class Keeper:
    """The containers of one pod, and the tasks that serve them."""

    def __init__(self, host: Host, node: NodeInfo, folder: PodFolder, pod: Object, wake: Callable[[], None]) -> None:
        self.pod = pod
        self.containers: dict[str, Container] = {}
        self.line: Line | None = None
        self.record: Record | None = folder.read()
        self.blocked_until: dict[str, float] = {}
        self._ending_since: float | None = None
        self._tries: dict[str, int] = {}
        self._ends: dict[str, asyncio.Event] = {}
        self._host = host
        self._node = node
        self._folder = folder
        self._wake = wake
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}

    async def connect(self) -> frozenset[tuple[str, int]]:
        """Talk to the pod's init; returns the runs that live."""
        self.line = await self._host.sandboxes.connect(self._folder.uid, self._heard, self._lost)
        listed, _ = await self.line.ask("list")
        return frozenset((one["name"], one["attempt"]) for one in listed["containers"] if one["running"])

    def adopt(self, living: frozenset[tuple[str, int]]) -> None:
        """Know again what was recorded."""
        assert self.record is not None
        told = sandboxing.told_statuses(self.pod)
        for container in sandboxing.all_containers(self.pod):
            name = container["name"]
            attempts = frozenset(attempt for one, attempt in living if one == name)
            now = self._host.now()
            found = runs.recorded(self._folder, name, self.record.sandbox, running=attempts, now=now)
            self.containers[name] = found
            if found.running:
                status = section(told, name)
                # Without this a ready pod would be unready for as long as its first probe takes.
                self.change(name, startup=bool(status.get("started")), ready=bool(status.get("ready")))
                self._tend(name, greet=False)

    def change(self, name: str, **fields: Any) -> None:
        """Know something new about a container."""
        self.containers[name] = msgspec.structs.replace(self.containers.get(name, UNKNOWN), **fields)

    def outdate(self) -> None:
        """The pod has a new sandbox: what ran before belongs to the old one."""
        for name, found in self.containers.items():
            if found.run is not None:
                self.change(name, run=msgspec.structs.replace(found.run, stale=True))

    async def start(self, name: str, now: float, contents: Contents) -> None:
        """Start a container, or know why it cannot be."""
        line = self.line
        if now < self.blocked_until.get(name, 0.0) or line is None or self.record is None:
            return
        found = self.containers.get(name, UNKNOWN)
        container = sandboxing.container_named(self.pod, name)
        attempt = found.run.attempt + 1 if found.run is not None else 0
        image = container.get("image", "")
        # What another image did says nothing about this one.
        fresh = found.run is not None and found.run.is_of_other_image(container)
        wait = Backoff() if fresh else backoff.after_start(found.run, found.backoff, now)
        try:
            gpus = self._host.graphics.take(self._node.name, self._folder.uid, container)
        except LookupError as error:
            self._block(name, Waiting("ContainerCreating", str(error)), now)
            return
        group, files = self._group(container)
        start = starting.Start(attempt, wait, self.record.sandbox, contents.folders, gpus, group, files)
        try:
            spec = starting.spec_of(self._host, self._node, self._with_address(), container, self._folder, start)
        except NoImage as error:
            self._block_image(name, container, error, now)
            return
        except ConfigError as error:
            self._tell("Warning", "Failed", f"Error: {error}", name)
            self._block(name, Waiting("CreateContainerConfigError", str(error)), now)
            return
        path = self._folder.container(name) / f"{attempt}.json"
        write_whole(path, msgspec.json.encode({**spec, "graphics": gpus, "image": image}))
        self._tell_image(container)
        self._tell("Normal", "Created", "Container created", name)
        self.containers[name] = Container(
            run=Run(attempt, image=image), previous=found.run, backoff=wait, greeted=False
        )
        self.blocked_until.pop(name, None)
        self._ends[name] = asyncio.Event()
        self._tries.pop(name, None)
        try:
            await line.ask("start", spec=str(path))
        except SandboxError as error:
            if not line.open:
                raise
            # The pod's init lives and could not do it: that is this attempt's end, and the next comes later.
            self._tell("Warning", "Failed", f"Error: {error}", name)
            self._over(name, Run(attempt, ended=now, code=process.NOT_STARTED, failed=str(error), image=image))
            self._wake()
        if attempt:
            shutil.rmtree(self._folder.container(name) / str(attempt - 1), ignore_errors=True)
            # Two are all that anybody can ask for: this one and the previous.
            runs.forget(self._folder, name, oldest=attempt - 1)

    def stop(self, name: str, why: str) -> None:
        """Begin to stop a container."""
        self.change(name, stopping=True)
        self._tell("Normal", "Killing", why or f"Stopping container {name}", name)
        grace = self._grace(name)
        if not why:
            # The pod as a whole ends: its containers have one grace together, also those that wait for others.
            now = self._host.now()
            self._ending_since = now if self._ending_since is None else self._ending_since
            grace = left(grace, now - self._ending_since)
        self._spawn("stop", name, self._stop_gently(name, grace))

    def stop_again(self) -> None:
        """The grace period became shorter: stop again, by the new one."""
        self._ending_since = None
        for name, found in list(self.containers.items()):
            if found.stopping:
                self._cancel("stop", name)
                self.change(name, stopping=False)

    def hang_up(self) -> None:
        """Talk to the pod's init no more."""
        if self.line is not None:
            self.line.close()
            self.line = None

    async def close(self) -> None:
        """Let go of everything; the containers go on."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self.hang_up()

    def _group(self, container: Object) -> tuple[Group, dict[str, str]]:
        limits = amounts(section(container, "resources").get("limits"))
        requests = container_requests(container)
        cgroups = self._host.cgroups
        try:
            cgroups.share(self._folder.uid, pod_requests(self.pod["spec"]))
            group = cgroups.make(self._folder.uid, container["name"], limits, requests)
        except OSError as error:
            cgroups.refusal = f"control groups refused: {error}"
            group = Group()
        if not cgroups.refusal:
            return group, {}
        files = stated(limits, requests)
        if files:
            text = f"Limits are counted, but not enforced by the kernel: {cgroups.refusal}"
            self._tell("Normal", "LimitsNotEnforced", text, container["name"])
        return group, files

    def _tell_image(self, container: Object) -> None:
        image, name = container.get("image", ""), container["name"]
        environment = starting.environment_of(self._host.settings, container)
        self._tell("Normal", "Pulled", f'Container image "{image}" already present on machine', name)
        if not environment.mapped:
            text = (
                f'No environment is mapped to image "{image}"; it runs in {environment.folder}. Map one with '
                "rayward up --image NAME=ENV, or let such images fail with rayward up --images strict"
            )
            self._tell("Normal", "ImageNotMapped", text, name)

    def _with_address(self) -> Object:
        # Variables may name the address before the API has been told of it.
        assert self.record is not None
        address, host = self.record.address, self._node.address
        known = {"podIP": address, "podIPs": [{"ip": address}], "hostIP": host, "hostIPs": [{"ip": host}]}
        return {**self.pod, "status": {**section(self.pod, "status"), **known}}

    def _block(self, name: str, waiting: Waiting, now: float) -> None:
        tries = self._tries[name] = self._tries.get(name, 0) + 1
        self.change(name, blocked=waiting)
        self.blocked_until[name] = now + min(_RETRY * 2 ** min(tries - 1, 8), _LONGEST_RETRY)

    def _block_image(self, name: str, container: Object, error: NoImage, now: float) -> None:
        image, before = container.get("image", ""), self.containers.get(name, UNKNOWN).blocked
        if error.reason == "InvalidImageName" or before is None:
            self._tell("Warning", "Failed", f'Failed to pull image "{image}": {error}', name)
            self._tell("Warning", "Failed", f"Error: {error.reason}", name)
            self._block(name, Waiting(error.reason, str(error)), now)
            return
        message = f'Back-off pulling image "{image}": {error.reason}: {error}'
        self._tell("Normal", "BackOff", f'Back-off pulling image "{image}"', name)
        self._block(name, Waiting("ImagePullBackOff", message), now)

    def _heard(self, message: Object) -> None:
        name = message["name"]
        found = self.containers.get(name, UNKNOWN)
        if found.run is None or found.run.attempt != message["attempt"] or found.run.over:
            return
        if message["event"] == "started":
            self.change(name, run=msgspec.structs.replace(found.run, started=message["at"]), blocked=None)
            self._tell("Normal", "Started", "Container started", name)
            self._tend(name, greet=True)
        elif message["event"] == "ended":
            if message.get("failed"):
                self._tell("Warning", "Failed", f"Error: {message['failed']}", name)
            ended = runs.from_record(message, message=self._last_words(name, message))
            self._over(name, msgspec.structs.replace(ended, image=found.run.image, superseded=self._superseded(name)))
        self._wake()

    def _superseded(self, name: str) -> bool:
        found = self.containers[name]
        container = sandboxing.container_named(self.pod, name)
        return found.stopping and found.run is not None and found.run.is_of_other_image(container)

    def _lost(self) -> None:
        self.line = None
        self._wake()

    def lose(self) -> None:
        """The pod's init is gone, and all its containers with it."""
        now = self._host.now()
        for name, found in list(self.containers.items()):
            if found.alive and found.run is not None:
                reason, message = "ContainerStatusUnknown", runs.LOST
                self._over(
                    name, msgspec.structs.replace(found.run, ended=now, code=137, reason=reason, message=message)
                )

    def _over(self, name: str, run: Run) -> None:
        self._cancel("tend", name)
        self._ends.setdefault(name, asyncio.Event()).set()
        self.change(name, run=run, stopping=False, condemned="", ready=None, startup=None, blocked=None, greeted=True)
        if sandboxing.is_plain_init(self.pod, name):
            # The pod was counted as if those after it had its GPUs.
            self._host.graphics.free(self._folder.uid, name)
        deleting = self.pod["metadata"].get("deletionTimestamp")
        waits = backoff.wait_until(run, self.containers[name].backoff) is not None
        if waits and not deleting and not run.succeeded and self.pod["spec"]["restartPolicy"] != "Never":
            metadata = self.pod["metadata"]
            where = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
            self._tell("Warning", "BackOff", f"Back-off restarting failed container {name} in pod {where}", name)

    def _last_words(self, name: str, record: Object) -> str:
        container = sandboxing.container_named(self.pod, name)
        place, attempt = self._folder.container(name), record["attempt"]
        said = runs.termination(place, attempt)
        policy = container.get("terminationMessagePolicy")
        if not said and policy == "FallbackToLogsOnError" and record["code"] != 0:
            said = last_lines(self._folder.log(name, attempt))
            (place / f"{attempt}.message").write_text(said)
        return said

    def _ward(self, name: str) -> Ward | None:
        found = self.containers.get(name, UNKNOWN)
        if self.line is None or self.record is None or found.run is None:
            return None
        return Ward(
            self._host.sandboxes.host,
            self.line,
            self.record.address,
            sandboxing.container_named(self.pod, name),
            found.run.started or self._host.now(),
            self._host.now,
            lambda reason, message: self._tell("Warning", reason, message, name),
            lambda: bool(self.pod["metadata"].get("deletionTimestamp")),
        )

    def _tend(self, name: str, *, greet: bool) -> None:
        ward, found = self._ward(name), self.containers[name]
        if ward is None:
            return

        def change(fields: Object) -> None:
            self.change(name, **fields)
            self._wake()

        self._spawn("tend", name, ward.tend(found.startup, found.ready, greet, change))

    def _grace(self, name: str) -> float:
        found, metadata = self.containers[name], self.pod["metadata"]
        if metadata.get("deletionGracePeriodSeconds") is not None:
            return float(metadata["deletionGracePeriodSeconds"])
        grace = self.pod["spec"].get("terminationGracePeriodSeconds")
        if found.condemned:
            kind = "startupProbe" if "startup probe" in found.condemned else "livenessProbe"
            probe = section(sandboxing.container_named(self.pod, name), kind)
            grace = probe.get("terminationGracePeriodSeconds", grace)
        return float(30 if grace is None else grace)

    async def _stop_gently(self, name: str, grace: float) -> None:
        line, ward = self.line, self._ward(name)
        if line is None or ward is None:
            return
        begun = self._host.now()
        with contextlib.suppress(SandboxError):
            if grace > 0:
                if self.containers[name].running:
                    await ward.say_goodbye(grace)
                await line.ask("signal", name=name, number=int(signal.SIGTERM))
                await self._wait_for_end(name, self._host.now() + left(grace, self._host.now() - begun))
            if self.containers[name].alive:
                await line.ask("signal", name=name, number=int(signal.SIGKILL))

    async def _wait_for_end(self, name: str, deadline: float) -> None:
        ended = self._ends.setdefault(name, asyncio.Event())
        if self.containers[name].alive:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(deadline - self._host.now(), 0.0)):
                    await ended.wait()

    def _spawn(self, kind: str, name: str, work: Coroutine[Any, Any, None]) -> None:
        self._cancel(kind, name)
        self._tasks[(kind, name)] = asyncio.create_task(work)

    def _cancel(self, kind: str, name: str) -> None:
        task = self._tasks.pop((kind, name), None)
        if task is not None:
            task.cancel()

    def _tell(self, kind: Any, reason: str, message: str, name: str) -> None:
        self._host.tell(self.pod, kind, reason, message, name)
