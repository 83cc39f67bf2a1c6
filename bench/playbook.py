"""What the playbook costs its user: ``python -m bench.playbook``.

``rayward --help`` and the plan of a manifest of 2,000 lines (medians of 20, without a server); and what the recorders
cost the operator's process at 1,000 RayClusters with one change of status each a minute. Another process writes such
changes to the embedded server as fast as it takes them; the CPU time of the recorders' process for one change, with the
watch that it came by, times a thousand, is set against a minute.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from tests.operator.service.servers import embedded
from tests.operator.stage import group, manifest

from rayward.changes import recording
from rayward.changes.planning import plan
from rayward.changes.refs import ref_of
from rayward.changes.timeline import Store
from rayward.changes.timeline import recorder as timeline
from rayward.changes.timeline.recorder import Watched
from rayward.cli.manifests import parse
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.options import PatchType
from rayward.kube.client.sync import SyncClient
from rayward.kube.machinery import yamltext
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.manager import Manager
from rayward.kube.runtime.metrics import Metrics
from rayward.operator.cluster.observe import ALL_SERVICES, CLUSTERS, RAY_PODS
from rayward.stack.kinds import install

_ROUNDS = 20
_LINES = 2000
_CLUSTERS = 1000
_MINUTES = 2
_HELP, _PLAN, _SHARE, _DISK = 150, 100, 1, 32
"""The limits: milliseconds, milliseconds, percent of a core, MiB."""
_LAG_SECONDS = 5.0


def _cpu() -> float:
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


@dataclass(frozen=True)
class _Taken:
    """Milliseconds of the clock and, for busy machines, of the processor."""

    clock: float
    processor: float

    def __str__(self) -> str:
        return f"{self.clock:8.0f} ms  ({self.processor:.0f} ms of CPU)"


def _median(work: Callable[[], Any]) -> _Taken:
    taken: list[tuple[float, float]] = []
    for _ in range(_ROUNDS):
        began, used = time.perf_counter(), _cpu()
        work()
        taken.append((time.perf_counter() - began, _cpu() - used))
    clock, processor = (1000 * statistics.median(values) for values in zip(*taken, strict=True))
    return _Taken(clock, processor)


def _help() -> _Taken:
    command = [str(Path(sys.executable).parent / "rayward"), "--help"]
    return _median(lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True))


def _long_manifest() -> dict[str, Any]:
    env = [{"name": f"V{number}", "value": str(number)} for number in range(60)]
    groups: list[dict[str, Any]] = []
    while len(yamltext.dump(manifest(groups=groups)).splitlines()) < _LINES:
        made = group(f"g{len(groups)}")
        made["template"]["spec"]["containers"][0]["env"] = env
        groups.append(made)
    return manifest(groups=groups)


def _plan() -> tuple[int, _Taken, _Taken]:
    """Lines, and how long reading and planning them takes."""
    live = _long_manifest()
    text = yamltext.dump(live).replace("rayproject/ray:2.52.0", "rayproject/ray:2.53.0")
    (wanted,) = (one.value for one in parse(text.encode(), "bench"))
    ref = ref_of(live, "default")
    planned = plan(ref, live, wanted)
    assert len(planned.changes) > 1, planned
    reading = _median(lambda: list(parse(text.encode(), "bench")))
    return len(text.splitlines()), reading, _median(lambda: plan(ref, live, wanted))


def _status(minute: int) -> dict[str, Any]:
    told = "True" if minute % 2 else "False"
    condition = {"type": "Ready", "status": told, "reason": "AllPodsReady" if minute % 2 else "PodsStarting"}
    condition |= {"message": f"{minute} of 10 pods are ready", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {"state": "ready", "conditions": [condition]}


def _write(kubeconfig: Path, began: Event, minutes: int) -> None:
    """In a process of its own: every cluster, then so many changes of the status of each."""
    with SyncClient.connect(find_access(kubeconfig)) as client:
        for number in range(_CLUSTERS):
            client.create(RAY_CLUSTERS, manifest(f"c{number}", groups=[]), "default")
        began.set()
        for minute in range(1, minutes + 1):
            for number in range(_CLUSTERS):
                change = {"status": _status(minute)}
                client.patch(RAY_CLUSTERS, f"c{number}", change, PatchType.MERGE, "default", subresource="status")


async def _until(holds: Callable[[], bool]) -> None:
    """Another process tells no event of this loop."""
    while not holds():  # noqa: ASYNC110
        await asyncio.sleep(0.2)


async def _all_kept(folder: Path) -> None:
    """What was written last is still on its way: until nothing came for a while."""
    size, since = -1, time.monotonic()
    while time.monotonic() - since < _LAG_SECONDS:
        await asyncio.sleep(0.2)
        if (now := _size(folder)) != size:
            size, since = now, time.monotonic()


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


async def _recorder(kubeconfig: Path, folder: Path) -> float:
    """CPU seconds of this process for one change, with the decoding of the watch and the recorders of revisions."""
    store = Store(folder)
    watched = Watched([CLUSTERS], RAY_PODS, ALL_SERVICES)
    entries = (timeline.registration(store, watched), *recording.registrations(CLUSTERS))
    began = multiprocessing.get_context("spawn").Event()
    writer = multiprocessing.get_context("spawn").Process(target=_write, args=(kubeconfig, began, _MINUTES))
    async with Client.connect(find_access(kubeconfig)) as client:
        recorder, metrics = EventRecorder(client, "bench"), Metrics(CollectorRegistry())
        manager = Manager(client, entries, "default", recorder=recorder, metrics=metrics, workers=4)
        task = asyncio.ensure_future(manager.run())
        try:
            for reflector in manager.reflectors:
                await reflector.wait_synced()
            writer.start()
            await _until(began.is_set)
            used = time.process_time()
            await _until(lambda: not writer.is_alive())
            await _all_kept(folder)
            used = time.process_time() - used
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    if writer.exitcode:
        raise SystemExit(f"the process that writes changes ended with {writer.exitcode}")
    kept = sum(one.text.startswith("Ready is") for one in store.read())
    if kept != _CLUSTERS * _MINUTES:
        print(f"{kept} of {_CLUSTERS * _MINUTES} changes were kept", file=sys.stderr)
    return used / (_CLUSTERS * _MINUTES)


def main() -> int:
    """Print each figure beside its limit; 1 where one is above it."""
    helped = _help()
    print(f"rayward --help                     {helped}  of {_HELP}")
    lines, read, planned = _plan()
    print(f"reading {lines} lines of YAML         {read}")
    print(f"plan of a manifest of {lines} lines   {planned}  of {_PLAN}")
    with embedded() as kubeconfig, tempfile.TemporaryDirectory() as folder:
        with SyncClient.connect(find_access(kubeconfig)) as client:
            install(client)
        seconds = asyncio.run(_recorder(kubeconfig, Path(folder)))
        size = _size(Path(folder))
    share, disk = 100 * seconds * _CLUSTERS / 60, size / 2**20
    print(f"recorder of 1,000 RayClusters      {share:8.3f} % of a core, of {_SHARE}")
    print(f"what it keeps of them              {disk:8.1f} MiB on disk, of {_DISK}")
    within = helped.clock <= _HELP and planned.clock <= _PLAN and share <= _SHARE and disk <= _DISK
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
