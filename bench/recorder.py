"""What the recorders cost the operator's process as time goes by: ``python -m bench.recorder [--minutes 10]``.

1,000 RayClusters on the embedded server, of each of which another process changes the status once a minute. Told are
the CPU time of the recorders' process, with the watches that the changes come by, as a share of a core, and what is on
disk then; 1 where one of them is above its limit, or a change is missing. ``bench.playbook`` has the changes come as
fast as the server takes them.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
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
from tests.operator.stage import manifest

from rayward.changes import recording
from rayward.changes.timeline import Store
from rayward.changes.timeline import recorder as timeline
from rayward.changes.timeline.recorder import Watched
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.options import PatchType
from rayward.kube.client.sync import SyncClient
from rayward.kube.runtime.events import EventRecorder
from rayward.kube.runtime.manager import Manager
from rayward.kube.runtime.metrics import Metrics
from rayward.operator.cluster.observe import ALL_SERVICES, CLUSTERS, RAY_PODS
from rayward.stack.kinds import install

CLUSTERS_COUNT = 1000
SHARE, DISK = 1.0, 32.0
"""The limits: percent of a core, MiB."""
_MINUTES = 10.0
_LAG_SECONDS = 5.0


@dataclass(frozen=True)
class Cost:
    """What it took to record changes.

    Attributes:
        cpu: Seconds of the processor.
        elapsed: Seconds of the clock.
        changes: How many changes there were.
        kept: How many of them the record has.
        size: Bytes on disk.
    """

    cpu: float
    elapsed: float
    changes: int
    kept: int
    size: int

    @property
    def share(self) -> float:
        """Percent of a core, while the changes came."""
        return 100 * self.cpu / self.elapsed


def measure(minutes: float, *, paced: bool) -> Cost:
    """Record one change of each cluster a minute; one after another without a pause where they are not ``paced``."""
    with embedded() as kubeconfig, tempfile.TemporaryDirectory() as folder:
        with SyncClient.connect(find_access(kubeconfig)) as client:
            install(client)
        return asyncio.run(_measure(kubeconfig, Path(folder), round(minutes * CLUSTERS_COUNT), paced=paced))


async def _measure(kubeconfig: Path, folder: Path, changes: int, *, paced: bool) -> Cost:
    store = Store(folder)
    watched = Watched([CLUSTERS], RAY_PODS, ALL_SERVICES)
    entries = (timeline.registration(store, watched), *recording.registrations(CLUSTERS))
    spawn = multiprocessing.get_context("spawn")
    made, begin = spawn.Event(), spawn.Event()
    writer = spawn.Process(target=_write, args=(kubeconfig, made, begin, changes, paced))
    async with Client.connect(find_access(kubeconfig)) as client:
        recorder, metrics = EventRecorder(client, "bench"), Metrics(CollectorRegistry())
        manager = Manager(client, entries, "default", recorder=recorder, metrics=metrics, workers=4)
        task = asyncio.ensure_future(manager.run())
        try:
            for reflector in manager.reflectors:
                await reflector.wait_synced()
            writer.start()
            await _until(lambda: made.is_set() or not writer.is_alive())
            await _all_kept(folder)
            used, began = time.process_time(), time.monotonic()
            begin.set()
            await _until(lambda: not writer.is_alive())
            elapsed = time.monotonic() - began
            await _all_kept(folder)
            used = time.process_time() - used
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    if writer.exitcode:
        raise SystemExit(f"the process that writes changes ended with {writer.exitcode}")
    kept = sum(one.text.startswith("Ready is") for one in store.read())
    return Cost(used, elapsed, changes, kept, _size(folder))


def _write(kubeconfig: Path, made: Event, begin: Event, changes: int, paced: bool) -> None:
    """In a process of its own: every cluster, then the changes, spread over each minute."""
    with SyncClient.connect(find_access(kubeconfig)) as client:
        for number in range(CLUSTERS_COUNT):
            client.create(RAY_CLUSTERS, manifest(f"c{number}", groups=[]), "default")
        made.set()
        begin.wait()
        began = time.monotonic()
        for number in range(changes):
            if paced:
                time.sleep(max(began + number * 60 / CLUSTERS_COUNT - time.monotonic(), 0))
            minute, cluster = divmod(number, CLUSTERS_COUNT)
            body = {"status": _status(minute)}
            client.patch(RAY_CLUSTERS, f"c{cluster}", body, PatchType.MERGE, "default", subresource="status")
        if paced:
            time.sleep(max(began + changes * 60 / CLUSTERS_COUNT - time.monotonic(), 0))


def _status(minute: int) -> dict[str, Any]:
    told = "False" if minute % 2 else "True"
    condition = {"type": "Ready", "status": told, "reason": "PodsStarting" if minute % 2 else "AllPodsReady"}
    condition |= {"message": f"{minute} of 10 pods are ready", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {"state": "ready", "conditions": [condition]}


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


def main() -> int:
    """Print each figure beside its limit; 1 where one is above it, or a change was not kept."""
    parser = argparse.ArgumentParser(prog="python -m bench.recorder", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=_MINUTES, help="how long (default: %(default)g; the first minute costs most)"
    )
    cost = measure(parser.parse_args().minutes, paced=True)
    disk = cost.size / 2**20
    print(f"{cost.changes} changes of {CLUSTERS_COUNT} RayClusters in {cost.elapsed:.0f} s; {cost.kept} are recorded")
    print(f"recorders       {cost.share:8.3f} % of a core, of {SHARE:g}  ({cost.cpu:.2f} s of CPU)")
    print(f"what they keep  {disk:8.1f} MiB on disk, of {DISK:g}")
    return 0 if cost.share <= SHARE and disk <= DISK and cost.kept == cost.changes else 1


if __name__ == "__main__":
    sys.exit(main())
