"""What the playbook costs its user: ``python -m bench.playbook``.

``rayward --help`` and the plan of a manifest of 2,000 lines (medians of 20, without a server); and what the recorders
cost the operator's process at 1,000 RayClusters with one change of status each a minute. Another process writes such
changes to the embedded server as fast as it takes them; the CPU time of the recorders' process for one change, with the
watch that it came by, times a thousand, is set against a minute. ``bench.recorder`` takes its ten minutes for it.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import recorder
from tests.operator.stage import group, manifest

from rayward.changes.planning import plan
from rayward.changes.refs import ref_of
from rayward.cli.manifests import parse
from rayward.kube.machinery import yamltext

_ROUNDS = 20
_LINES = 2000
_MINUTES = 2
_HELP, _PLAN = 150, 100
"""The limits, in milliseconds."""


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


def main() -> int:
    """Print each figure beside its limit; 1 where one is above it."""
    helped = _help()
    print(f"rayward --help                     {helped}  of {_HELP}")
    lines, read, planned = _plan()
    print(f"reading {lines} lines of YAML         {read}")
    print(f"plan of a manifest of {lines} lines   {planned}  of {_PLAN}")
    cost = recorder.measure(_MINUTES, paced=False)
    if cost.kept != cost.changes:
        print(f"{cost.kept} of {cost.changes} changes were kept", file=sys.stderr)
    share, disk = 100 * cost.cpu / (60 * _MINUTES), cost.size / 2**20
    print(f"recorder of 1,000 RayClusters      {share:8.3f} % of a core, of {recorder.SHARE:g}")
    print(f"what it keeps of them              {disk:8.1f} MiB on disk, of {recorder.DISK:g}")
    within = helped.clock <= _HELP and planned.clock <= _PLAN and share <= recorder.SHARE and disk <= recorder.DISK
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
