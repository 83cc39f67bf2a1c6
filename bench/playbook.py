"""What the playbook costs its user: ``python -m bench.playbook``.

``rayward --help`` and the plan of a manifest of 2,000 lines (medians of 20, without a server); and what the recorder of
the timeline costs the operator's process at 1,000 RayClusters with one change of status each a minute: ten minutes of
changes are handed to it one after the other, and the CPU time that it takes for them is set against ten minutes.
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry
from tests.operator.stage import group, manifest

from rayward.changes.planning import plan
from rayward.changes.refs import ref_of
from rayward.changes.timeline import Store
from rayward.changes.timeline.measured import ChangeMetrics
from rayward.changes.timeline.recorder import Recorder, Watched
from rayward.cli.manifests import parse
from rayward.kinds.raycluster import RayCluster
from rayward.kube.client.access import Access
from rayward.kube.client.api import Client
from rayward.kube.core.resource import PODS
from rayward.kube.machinery import yamltext
from rayward.kube.runtime.clock import SYSTEM_CLOCK
from rayward.kube.runtime.registry import Environment, Informers, Source
from rayward.operator.cluster.observe import ALL_SERVICES, CLUSTERS
from rayward.operator.cluster.pod import RayPod

_ROUNDS = 20
_LINES = 2000
_CLUSTERS = 1000
_MINUTES = 10
_HELP, _PLAN, _SHARE, _DISK = 150, 100, 1, 32
"""The limits: milliseconds, milliseconds, percent of a core, MiB."""


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


def _cluster(number: int, minute: int) -> RayCluster:
    told = "True" if minute % 2 else "False"
    condition = {"type": "Ready", "status": told, "reason": "AllPodsReady" if minute % 2 else "PodsStarting"}
    condition |= {"message": f"{minute} of 10 pods are ready", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    metadata = {"name": f"c{number}", "namespace": "default", "uid": str(number), "resourceVersion": str(minute + 1)}
    status = {"state": "ready", "conditions": [condition]}
    return msgspec.convert({"metadata": metadata, "spec": manifest()["spec"], "status": status}, RayCluster)


async def _recorder(folder: Path) -> float:
    """CPU seconds of ten minutes."""
    changes = [[_cluster(number, minute) for number in range(_CLUSTERS)] for minute in range(_MINUTES + 1)]
    async with Client.connect(Access("https://127.0.0.1:1")) as client:
        informers = Informers(client, None, SYSTEM_CLOCK)
        pods: Source[RayPod] = Source(PODS, RayPod)
        environment = Environment(client, informers, None, SYSTEM_CLOCK, 1)  # pyright: ignore[reportArgumentType]
        recorder = Recorder(
            environment, Store(folder), Watched([CLUSTERS], pods, ALL_SERVICES), ChangeMetrics(CollectorRegistry())
        )
        cache = informers.cache(CLUSTERS)
        for cluster in changes[0]:
            cache.put(cluster, b"")
        cache.synced = True
        began = time.process_time()
        for minute in changes[1:]:
            for number, cluster in enumerate(minute):
                cache.put(cluster, b"")
                if number % (_CLUSTERS // 60) == 0:
                    # as once a second
                    await recorder.drain()
        await recorder.drain()
        return time.process_time() - began


def main() -> int:
    """Print each figure beside its limit; 1 where one is above it."""
    helped = _help()
    print(f"rayward --help                     {helped}  of {_HELP}")
    lines, read, planned = _plan()
    print(f"reading {lines} lines of YAML         {read}")
    print(f"plan of a manifest of {lines} lines   {planned}  of {_PLAN}")
    with tempfile.TemporaryDirectory() as folder:
        seconds = asyncio.run(_recorder(Path(folder)))
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
    share = 100 * seconds / (60 * _MINUTES)
    disk = size / 2**20
    print(f"recorder of 1,000 RayClusters      {share:8.3f} % of a core, of {_SHARE}")
    print(f"what it keeps of them              {disk:8.1f} MiB on disk, of {_DISK}")
    within = helped.clock <= _HELP and planned.clock <= _PLAN and share <= _SHARE and disk <= _DISK
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
