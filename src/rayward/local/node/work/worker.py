"""One pod of this node: observes it, asks what to do next, does that, and tells the API."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Final

import msgspec

from rayward.kube.client.errors import ApiError, Conflict, NotFound
from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import PODS
from rayward.kube.machinery.jsonvalue import Object, section
from rayward.local.node.folders import Record
from rayward.local.node.pod.decide import Step, deadline_passed, decide
from rayward.local.node.pod.facts import Container, Pod
from rayward.local.node.pod.status import pod_status, status_patch
from rayward.local.node.sandboxes import Line, SandboxError
from rayward.local.node.volumes.content import VolumeError
from rayward.local.node.work import sandboxing, starting
from rayward.local.node.work.contents import Contents
from rayward.local.node.work.host import Host
from rayward.local.node.work.keeper import Keeper
from rayward.net.errors import NetworkError

_log = logging.getLogger(__name__)
_RETRY: Final = 2.0
_LONGEST_RETRY: Final = 120.0
_SERVER_DELETES_SECONDS: Final = 5.0
_TERMINAL: Final = ("Succeeded", "Failed")
_TOO_LATE: Final = "Pod was active on the node longer than the specified deadline"


class PodWorker:
    """The life of one pod on this node."""

    def __init__(self, host: Host, pod: Object) -> None:
        self.uid: str = pod["metadata"]["uid"]
        self.folder = host.folders.pod(self.uid)
        self._host = host
        self._node = host.nodes[pod["spec"]["nodeName"]]
        self._keeper = Keeper(host, self._node, self.folder, pod, self.wake)
        self._contents = Contents(host, self._node, self.folder)
        self._woken = asyncio.Event()
        self._gone = False
        self._contents_changed = True
        self._ended: tuple[str, str] | None = None
        self._tries = 0
        self._retry_at = 0.0
        self._leave_at = 0.0
        self._written: Object | None = None

    @property
    def pod(self) -> Object:
        return self._keeper.pod

    @property
    def containers(self) -> dict[str, Container]:
        """What is known of its containers."""
        return self._keeper.containers

    @property
    def line(self) -> Line | None:
        """The line to the pod's init."""
        return self._keeper.line

    def update(self, pod: Object) -> None:
        """The pod's object changed."""
        grace = pod["metadata"].get("deletionGracePeriodSeconds")
        before = self.pod["metadata"].get("deletionGracePeriodSeconds")
        if any(pod["metadata"].get(field) != self.pod["metadata"].get(field) for field in ("labels", "annotations")):
            # Volumes of the downward API show them.
            self._contents_changed = True
        if pod["spec"] != self.pod["spec"]:
            # What stood in a container's way, such as its image, may no longer.
            self._keeper.blocked_until.clear()
        self._keeper.pod = pod
        if grace is not None and before is not None and grace < before:
            self._keeper.stop_again()
        self.wake()

    def vanish(self) -> None:
        """The pod's object is gone: so must be all of it."""
        self._gone = True
        self.wake()

    def refresh(self) -> None:
        """Something that the pod's volumes or variables are made from changed."""
        self._contents_changed = True
        self._keeper.blocked_until.clear()
        self._retry_at = 0.0
        self.wake()

    def wake(self) -> None:
        self._woken.set()

    async def run(self) -> None:
        """Until nothing is left of the pod."""
        try:
            await self._adopt()
            while True:
                self._woken.clear()
                try:
                    wait = await self._step()
                except (ApiError, NetworkError, SandboxError) as error:
                    _log.info("pod %s/%s: %s", self.pod["metadata"]["namespace"], self.pod["metadata"]["name"], error)
                    wait = self._next_try()
                if wait is not None and wait < 0:
                    return
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._woken.wait()
        finally:
            await self._keeper.close()

    @property
    def _deleting(self) -> bool:
        return self._gone or bool(self.pod["metadata"].get("deletionTimestamp"))

    @property
    def _told_over(self) -> bool:
        return section(self.pod, "status").get("phase") in _TERMINAL

    def _next_try(self) -> float:
        self._tries += 1
        return min(_RETRY * 2 ** min(self._tries - 1, 8), _LONGEST_RETRY)

    async def _adopt(self) -> None:
        record = self._keeper.record
        if record is None:
            return
        living: frozenset[tuple[str, int]] = frozenset()
        if record.address and self.uid in await self._host.sandboxes.pods():
            living = await self._keeper.connect()
        self._keeper.adopt(living)

    async def _find_again(self) -> None:
        # The line broke: because the pod ended, or because it had to wait for us for too long.
        await self._host.sandboxes.ensure()
        if self.uid in await self._host.sandboxes.pods():
            self._keeper.adopt(await self._keeper.connect())
        else:
            self._keeper.lose()

    def _facts(self) -> Pod:
        record = self._keeper.record
        return Pod(
            containers=self.containers,
            address=record.address if record is not None and self.line is not None else "",
            host=self._node.address,
            begun=record.begun if record is not None else 0.0,
            ended=self._ended,
        )

    async def _step(self) -> float | None:
        # Returns the seconds until the next round, None to wait for news, or less than 0 at the end.
        now = self._host.now()
        if self.line is None and any(found.alive for found in self.containers.values()):
            await self._find_again()
        if not self._deleting and not self._told_over and self._ended is None:
            await self._prepare(now)
        if self._ended is None and not self._deleting and deadline_passed(self.pod, self._facts(), now):
            self._ended = ("DeadlineExceeded", _TOO_LATE)
            self._host.tell(self.pod, "Normal", "DeadlineExceeded", _TOO_LATE)
        step = self._decide(now)
        for name, why in step.stop:
            self._keeper.stop(name, why)
        for name in step.start:
            await self._keeper.start(name, now, self._contents)
        if step.over:
            await self._end_sandbox()
        await self._write_status()
        if step.over and self._deleting:
            if self._server_deletes(now):
                return self._leave_at - now
            await self._delete()
            return -1.0
        return self._wait(step, now)

    def _server_deletes(self, now: float) -> bool:
        # Without grace the server removes the object itself, a moment after it marked it; doing it first would make
        # that request fail. If it does not come to that, it is ours to do.
        if self._gone or self.pod["metadata"].get("deletionGracePeriodSeconds") != 0:
            return False
        self._leave_at = self._leave_at or now + _SERVER_DELETES_SECONDS
        return now < self._leave_at

    def _decide(self, now: float) -> Step:
        pod = self.pod
        if self._gone:
            pod = {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "now"}}
        elif self._told_over and self._ended is None:
            # What ended once never starts again, whatever is left of it here.
            return decide(pod, msgspec.structs.replace(self._facts(), ended=("", "")), now)
        return decide(pod, self._facts(), now)

    def _wait(self, step: Step, now: float) -> float | None:
        moments = [moment for moment in self._keeper.blocked_until.values() if moment > now]
        if self._retry_at > now:
            moments.append(self._retry_at)
        if step.look_again is not None:
            moments.append(step.look_again)
        if self.line is not None and (due := self._contents.due) is not None:
            moments.append(due)
        return max(min(moments) - now, 0.01) if moments else None

    async def _prepare(self, now: float) -> None:
        if now < self._retry_at:
            return
        if self._keeper.record is None:
            self._ended = self._host.rejection(self.pod, self._node)
            if self._ended is not None:
                self._host.tell(self.pod, "Warning", *self._ended)
                return
            metadata = self.pod["metadata"]
            self._keep(
                Record(
                    self.uid, metadata["namespace"], metadata["name"], self._node.name, begun=now, spec=self.pod["spec"]
                )
            )
        try:
            due = self._contents.due
            if self._contents_changed or (due is not None and now >= due):
                await self._contents.put(self.pod)
                self._contents_changed = False
            if self.line is None:
                await self._make_sandbox()
            self._tries, self._retry_at = 0, 0.0
        except VolumeError as error:
            self._host.tell(self.pod, "Warning", "FailedMount", str(error))
            self._retry_at = now + self._next_try()
        except (SandboxError, LookupError) as error:
            self._host.tell(self.pod, "Warning", "FailedCreatePodSandBox", f"Failed to create pod sandbox: {error}")
            self._retry_at = now + self._next_try()

    def _keep(self, record: Record) -> None:
        self.folder.write(record)
        self._keeper.record = record

    async def _make_sandbox(self) -> None:
        record = self._keeper.record
        assert record is not None
        await self._host.sandboxes.ensure()
        if record.address:
            if self.containers:
                changed = "Pod sandbox changed, it will be killed and re-created."
                self._host.tell(self.pod, "Normal", "SandboxChanged", changed)
            await self._host.sandboxes.kill(self.uid)
            self._host.addresses.free(record.address)
        shared = bool(self.pod["spec"].get("hostNetwork"))
        address = self._node.address if shared else self._host.addresses.take(self._node.network)
        # First the record: a node that dies here finds out which address the sandbox has.
        self._keep(msgspec.structs.replace(record, address=address, sandbox=record.sandbox + 1))
        for trouble in sandboxing.unsupported(self.pod["spec"]):
            self._host.tell(self.pod, "Warning", "NotSupported", trouble)
        settings = sandboxing.write_settings(self.folder, self.pod, address, own_network=not shared)
        await self._host.sandboxes.make(self.uid, settings)
        await self._keeper.connect()
        self._keeper.outdate()

    async def _end_sandbox(self) -> None:
        self._keeper.hang_up()
        self._host.graphics.free(self.uid)
        record = self._keeper.record
        if record is not None and record.address:
            await self._host.sandboxes.kill(self.uid)
            self._host.addresses.free(record.address)
        self._host.cgroups.remove(self.uid)

    async def _write_status(self) -> None:
        if self._gone or (self._told_over and self._written is None):
            return
        if self.pod["metadata"].get("deletionGracePeriodSeconds") == 0:
            # Any write would make the server finish the deletion that it is about to finish itself.
            return
        known = self._facts()
        record = self._keeper.record
        if not known.address and record is not None and section(self.pod, "status").get("podIP"):
            known = msgspec.structs.replace(known, address=record.address)
        settings = self._host.settings
        status = pod_status(self.pod, known, self._host.now(), lambda image: starting.image_id(settings, image))
        if status == self._written:
            return
        metadata = self.pod["metadata"]
        body = {"metadata": {"uid": self.uid}, "status": status_patch(status)}
        try:
            answer = await self._host.client.patch(
                PODS, metadata["name"], body, PatchType.STRATEGIC, metadata["namespace"], subresource="status"
            )
        except (NotFound, Conflict):
            # Gone, or another of the same name: the watch will tell.
            return
        self._written = status
        # The times of conditions that the next status must keep, before the watch brings them.
        self.pod.setdefault("status", {})["conditions"] = section(answer, "status").get("conditions") or []

    async def _delete(self) -> None:
        if not self._gone:
            metadata = self.pod["metadata"]
            with contextlib.suppress(NotFound, Conflict):
                await self._host.client.delete(
                    PODS, metadata["name"], metadata["namespace"], grace_period_seconds=0, uid=self.uid
                )
        await asyncio.to_thread(self.folder.remove)
