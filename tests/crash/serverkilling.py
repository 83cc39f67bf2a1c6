"""Kill the whole API server again and again while many clients write and watch over HTTPS.

    python -m tests.crash.serverkilling FOLDER KILLS SEED

Writers and watchers outlive the server: they go on with the next process on the same folder, watchers from the last
event they saw. The outcome is printed as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncGenerator, Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import uvloop

from rayward.kube.client import PatchType, verbs
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.request import Request
from rayward.kube.client.watch import Bookmark, Change
from rayward.kube.core.objects import KubeObject
from rayward.kube.core.resource import CONFIG_MAPS
from rayward.net.errors import NetworkError
from tests.crash.promises import ABSENT, Promises, Seen, faults, reused

_WRITERS = 24
_OWN = 3
_WATCHERS = 6
_PATIENCE = 150.0
_NAMESPACE = "default"
_SHARED = "shared"
_LABEL = "crash"
Object = dict[str, Any]


class Tagged(KubeObject, frozen=True, gc=False):
    """A ConfigMap with the mark of its last write."""

    data: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def tag(self) -> str:
        """What its writer wrote last; of the shared object, all that all writers wrote."""
        return self.data.get("tag") or json.dumps(self.data, sort_keys=True)


@dataclass
class Outcome:
    """What a campaign found; the last four must be empty."""

    kills: int = 0
    kills_while_starting: int = 0
    kills_with_writes_in_flight: int = 0
    acknowledged: int = 0
    events: int = 0
    resumes: int = 0
    lost: list[str] = field(default_factory=list[str])
    reused: list[str] = field(default_factory=list[str])
    watched: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])


@dataclass
class _Watcher:
    """One that follows all objects from the beginning, over all lives of the server."""

    since: str
    patience: float
    """In how many of its lives it is connected to the server, from 0 to 1."""
    seen: list[Seen] = field(default_factory=list[Seen])
    connections: int = 0

    async def follow(self, client: Client) -> None:
        self.connections += 1
        options: Any = {"resource_version": self.since, "label_selector": _LABEL, "allow_watch_bookmarks": True}
        async with client.watch(CONFIG_MAPS, Tagged, _NAMESPACE, **options) as events:
            async for event in events:
                if isinstance(event, Change):
                    metadata = event.object.metadata
                    self.since = metadata.resource_version
                    self.seen.append(Seen(event.type.value, metadata.name, event.object.tag, int(self.since)))
                elif isinstance(event, Bookmark):
                    self.since = event.resource_version
                else:
                    raise AssertionError(f"a watch resumed at {self.since} said {event}")


class _Campaign:
    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._log = folder.with_suffix(".log")
        self._random = Random(seed)
        self._promises = Promises()
        self._shared: dict[str, tuple[int, int]] = {}
        """Writer to the number it was acknowledged last, and the number it sent last."""
        self._facts: list[tuple[int, str]] = []
        self._watchers: list[_Watcher] = []
        self._number = 0
        self.outcome = Outcome()

    async def run(self, kills: int) -> Outcome:
        while self.outcome.kills < kills:
            async with self._server() as process:
                if self.outcome.kills and self._random.random() < 0.1:
                    await asyncio.sleep(self._random.uniform(0, 0.7))
                    self.outcome.kills_while_starting += 1
                else:
                    await self._live(process)
            self.outcome.kills += 1
        async with self._server() as process, self._connected(process) as client:
            await self._judge(client)
        return self.outcome

    @contextlib.asynccontextmanager
    async def _server(self) -> AsyncGenerator[Process]:
        (self._folder / "kubeconfig").unlink(missing_ok=True)
        command = [sys.executable, "-m", "rayward.local.apiserver", "--data-dir", str(self._folder)]
        with self._log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=log, stderr=log)
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    @contextlib.asynccontextmanager
    async def _connected(self, process: Process) -> AsyncGenerator[Client]:
        kubeconfig = self._folder / "kubeconfig"
        deadline = time.monotonic() + _PATIENCE
        while not kubeconfig.exists():
            if process.returncode is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start ({process.returncode}):\n{self._log.read_text()[-3000:]}")
            await asyncio.sleep(0.01)
        async with Client.connect(find_access(kubeconfig)) as client:
            yield client

    async def _live(self, process: Process) -> None:
        """Everyone works on the server until it is killed at a random moment."""
        async with self._connected(process) as client:
            await self._take_stock(client)
            async with asyncio.TaskGroup() as tasks:
                for number in range(_WRITERS):
                    tasks.create_task(self._until_killed(lambda number=number: self._write(client, number)))
                for watcher in self._watchers:
                    if self._random.random() < watcher.patience:
                        tasks.create_task(self._until_killed(lambda watcher=watcher: watcher.follow(client)))
                await self._random_moment()
                in_flight = len(self._promises.open) + sum(sent > done for done, sent in self._shared.values())
                process.kill()
            self.outcome.kills_with_writes_in_flight += in_flight > 0

    async def _random_moment(self) -> None:
        """Some time after some writes: on a slow machine as many as on a fast one."""
        enough = self._promises.acknowledged + self._random.randrange(80)
        while self._promises.acknowledged < enough:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        await asyncio.sleep(self._random.uniform(0, 0.02))

    async def _until_killed(self, work: Callable[[], Any]) -> None:
        with contextlib.suppress(NetworkError):
            await work()

    async def _take_stock(self, client: Client) -> dict[str, str]:
        """Compare what the server shows with what was promised."""
        listed = await client.list(CONFIG_MAPS, _NAMESPACE, label_selector=_LABEL)
        found = {item.metadata.name: item for item in (msgspec.convert(o, Tagged) for o in listed.items)}
        for item in found.values():
            self._note(int(item.metadata.resource_version), item.metadata.name, item.tag)
        if not self._watchers:
            shared: Object = {"metadata": {"name": _SHARED, "labels": {_LABEL: ""}}, "data": {}}
            self._watchers = [_Watcher(listed.resource_version, share) for share in _shares()]
            await client.create(CONFIG_MAPS, shared, _NAMESPACE)
            return {}
        tags = {name: item.tag for name, item in found.items()}
        self.outcome.lost += self._promises.settle({n: t for n, t in tags.items() if n != _SHARED})
        data = found[_SHARED].data if _SHARED in found else {}
        for writer, (done, sent) in self._shared.items():
            number = int(data.get(writer, 0))
            if not done <= number <= sent:
                self.outcome.lost.append(f"{_SHARED}.{writer} should be from {done} to {sent} and is {number}")
            self._shared[writer] = (number, number)
        return tags

    async def _write(self, client: Client, number: int) -> None:
        writer = f"w{number}"
        while True:
            if self._random.random() < 0.2:
                await self._write_shared(client, writer)
            else:
                await self._write_own(client, f"{writer}-{self._random.randrange(_OWN)}")

    async def _write_own(self, client: Client, name: str) -> None:
        self._number += 1
        tag = f"{os.getpid()}-{self._number}"
        there = self._promises.kept.get(name, ABSENT) != ABSENT
        body: Object = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": _NAMESPACE, "labels": {_LABEL: ""}},
            "data": {"tag": tag, "filling": "x" * self._random.choice((0, 300, 9000))},
        }
        requests: list[Request] = [verbs.apply(CONFIG_MAPS, body, "crash", force=True)]
        if there:
            requests.append(verbs.update(CONFIG_MAPS, body))
            requests.append(verbs.patch(CONFIG_MAPS, name, {"data": {"tag": tag}}, PatchType.MERGE, _NAMESPACE))
            requests.append(verbs.delete(CONFIG_MAPS, name, _NAMESPACE))
        else:
            requests.append(verbs.create(CONFIG_MAPS, body))
        request = self._random.choice(requests)
        tag = ABSENT if request.method == "DELETE" else tag
        self._promises.send(name, tag)
        answer = msgspec.json.decode((await client.attempt(request)).body)
        revision = int(answer["metadata"]["resourceVersion"]) if tag else None
        self._promises.acknowledge(name, tag, revision)
        if revision is not None:
            self._note(revision, name, tag)

    async def _write_shared(self, client: Client, writer: str) -> None:
        done, _ = self._shared.get(writer, (0, 0))
        self._shared[writer] = (done, done + 1)
        request = verbs.patch(CONFIG_MAPS, _SHARED, {"data": {writer: str(done + 1)}}, PatchType.MERGE, _NAMESPACE)
        answer = msgspec.json.decode((await client.attempt(request)).body, type=Tagged)
        self._shared[writer] = (done + 1, done + 1)
        self._promises.acknowledged += 1
        self._note(int(answer.metadata.resource_version), _SHARED, answer.tag)

    def _note(self, revision: int, name: str, tag: str) -> None:
        self._facts.append((revision, f"{name} {tag}"))

    async def _judge(self, client: Client) -> None:
        """Let every watcher see the rest, then hold all against each other."""
        final = await self._take_stock(client)
        last = await client.create(CONFIG_MAPS, {"metadata": {"name": "end", "labels": {_LABEL: ""}}}, _NAMESPACE)
        end = int(last["metadata"]["resourceVersion"])
        async with asyncio.timeout(_PATIENCE), asyncio.TaskGroup() as tasks:
            for watcher in self._watchers:
                tasks.create_task(_catch_up(watcher, client, end))
        outcome = self.outcome
        for watcher in self._watchers:
            outcome.watched += faults(watcher.seen[:-1], self._promises, final)
            outcome.events += len(watcher.seen)
            outcome.resumes += watcher.connections - 1
            if watcher.seen != self._watchers[0].seen:
                outcome.watched.append("two watchers saw different events")
        for event in self._watchers[0].seen:
            # a deletion has a revision of its own, and shows the object as it was
            self._note(event.revision, event.name, f"{'gone, ' if event.kind == 'DELETED' else ''}{event.tag}")
        outcome.reused += reused(self._facts)
        outcome.acknowledged = self._promises.acknowledged
        lines = self._log.read_text().splitlines()
        outcome.errors += [line for line in lines if " ERROR " in line or " CRITICAL " in line]


def _shares() -> list[float]:
    return [1.0 if number < _WATCHERS // 2 else 0.4 for number in range(_WATCHERS)]


async def _catch_up(watcher: _Watcher, client: Client, end: int) -> None:
    following = asyncio.create_task(watcher.follow(client))
    while not (watcher.seen and watcher.seen[-1].revision >= end):
        if following.done():
            following.result()
        await asyncio.sleep(0.01)
    following.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await following


def campaign(folder: Path, kills: int, seed: int) -> Outcome:
    """Kill ``kills`` times and judge what was promised."""
    return uvloop.run(_Campaign(folder, seed).run(kills))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(campaign(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))) + "\n")
