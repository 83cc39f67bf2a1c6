"""Kueue's own benchmark drives our engine beside Kueue's: ``python -m bench.kueueharness [--workloads 0.1]``.

The ``runner`` of Kueue's performance tests starts etcd and kube-apiserver, creates 15,000 Workloads in 30 queues of
five cohorts (its ``baseline`` configuration), runs and finishes what is admitted, and measures the manager that it
started: ``minimalkueue`` with the 50 requests a second that it allows itself, the same with 1,000, and our engine.
The whole baseline ends with 1 where ours takes more of what Kueue takes than ``LIMITS`` say.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from tests.kube.real import build

_MODULE: Final = Path(__file__).parent / "kueue"
_ITS_LIMIT: Final = ("kubeConfig.QPS = 50", "kubeConfig.Burst = 100")
_RAISED: Final = ("kubeConfig.QPS = 1000", "kubeConfig.Burst = 2000")
_OURS: Final = "rayward"
LIMITS: Final = {"50": (0.4, 1.0, 0.5), "1000": (0.55, 1.0, 0.5)}
"""Wall, CPU and memory of ours as shares of Kueue's."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One manager's run."""

    name: str
    wall: float
    cpu: float
    megabytes: float
    usage: float
    """Mean share of nominal quota in use, in percent."""
    waits: dict[str, float]
    """Mean seconds to admission, by class."""
    all_cpu: float
    """Of everything: the manager, the servers, and the harness. On a busy machine it says more than the wall clock."""


def _raised(folder: Path) -> Path:
    """``minimalkueue`` with a client of 1,000 requests a second: its source with two numbers changed."""
    made = folder / "minimalkueue-1000"
    if made.exists():
        return made
    where = ["go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kueue"]
    source = Path(subprocess.run(where, cwd=_MODULE, check=True, capture_output=True, text=True).stdout.strip())
    with tempfile.TemporaryDirectory(prefix="rayward-bench-") as scratch:
        for name in ("go.mod", "go.sum"):
            shutil.copyfile(_MODULE / name, Path(scratch, name))
        for path in (source / "test/performance/scheduler/minimalkueue").glob("*.go"):
            text = path.read_text()
            for before, after in zip(_ITS_LIMIT, _RAISED, strict=True):
                text = text.replace(before, after)
            Path(scratch, path.name).write_text(text)
        command = ["go", "build", "-buildvcs=false", "-mod=mod", "-o", str(made), "."]
        subprocess.run(command, cwd=scratch, check=True, env={**os.environ, "CGO_ENABLED": "0"})
    return made


def _configuration(folder: Path, share: float, into: Path) -> Path:
    """Kueue's baseline, or a share of its workloads in as many queues."""
    found: dict[str, Any] = yaml.safe_load((folder / "configs/baseline/generator.yaml").read_text())
    for cohort in found["cohorts"]:
        for queues in cohort["queuesSets"]:
            for workloads in queues["workloadsSets"]:
                workloads["count"] = max(1, round(workloads["count"] * share))
    path = into / "generator.yaml"
    path.write_text(yaml.safe_dump(found))
    return path


def measure(name: str, program: Path, folder: Path, share: float) -> Measured:
    """One run of the harness with ``program`` as the manager."""
    with tempfile.TemporaryDirectory(prefix="rayward-bench-") as scratch:
        out = Path(scratch)
        command = [
            str(folder / "runner"),
            f"--o={out}",
            f"--crds={folder / 'config/components/crd/bases'}",
            f"--generatorConfig={_configuration(folder, share, out)}",
            f"--minimalKueue={program}",
            "--qps=1000",
            "--burst=2000",
            "--timeout=15m",
        ]
        with (out / "runner.log").open("wb") as log:
            environment = {
                **os.environ,
                "KUBEBUILDER_ASSETS": str(build.build()),
                "KUBEBUILDER_CONTROLPLANE_START_TIMEOUT": "180s",
            }
            before = _children_cpu()
            done = subprocess.run(command, env=environment, stdout=log, stderr=log, check=False)
            all_cpu = _children_cpu() - before
        if done.returncode:
            said = "\n".join(path.read_text()[-2000:] for path in sorted(out.glob("*.log")))
            raise SystemExit(f"{name} failed:\n{said}")
        stats = yaml.safe_load((out / f"{program.name}.stats.yaml").read_text())
        summary = yaml.safe_load((out / "summary.yaml").read_text())
    classes: dict[str, Any] = summary.get("workloadClasses") or {}
    if not classes:
        raise SystemExit(f"{name}: the harness ended before it saw a workload; run it again, on a machine that is free")
    return Measured(
        name,
        stats["wallMs"] / 1e3,
        (stats["userMs"] + stats["sysMs"]) / 1e3,
        stats["maxrss"] / 1024,
        _usage(summary),
        {each: found.get("averageTimeToAdmissionMs", 0) / 1e3 for each, found in classes.items()},
        all_cpu,
    )


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _usage(summary: dict[str, Any]) -> float:
    classes: dict[str, Any] = summary.get("clusterQueueClasses") or {}
    nominal = sum(found["nominalQuota"] for found in classes.values())
    return 100 * sum(found["cpuAverageUsage"] for found in classes.values()) / nominal if nominal else 0.0


def _ours(folder: Path, profile: Path | None) -> Path:
    program = folder / _OURS
    root = Path(__file__).parents[1]
    more = f" --cpuprofile {profile.absolute()}" if profile else ""
    program.write_text(f'#!/bin/sh\ncd {root} && exec {sys.executable} -m bench.quotaengine "$@"{more}\n')
    program.chmod(0o755)
    return program


def main(words: Sequence[str] | None = None) -> int:
    """One line a manager, and ours as a share of each of Kueue's."""
    parser = argparse.ArgumentParser(prog="bench.kueueharness", description=__doc__)
    parser.add_argument("--workloads", type=float, default=1.0, help="share of the baseline's 15,000 workloads")
    parser.add_argument("--only", choices=("50", "1000", _OURS), action="append", help="run these alone")
    parser.add_argument("--profile", type=Path, help="where to write what cProfile found of ours, which slows it down")
    options = parser.parse_args(words)
    folder = build.build_kueue_bench(_MODULE)
    with tempfile.TemporaryDirectory(prefix="rayward-bench-") as scratch:
        programs = {
            "50": ("Kueue, 50 requests/s", lambda: folder / "minimalkueue"),
            "1000": ("Kueue, 1,000 requests/s", lambda: _raised(folder)),
            _OURS: ("Rayward", lambda: _ours(Path(scratch), options.profile)),
        }
        found: dict[str, Measured] = {}
        print(
            f"{'':24} {'wall s':>8} {'CPU s':>8} {'MB':>8} {'all CPU':>8} {'usage %':>8}  mean wait by class",
            flush=True,
        )
        for key in options.only or programs:
            name, program = programs[key]
            one = found[key] = measure(name, program(), folder, options.workloads)
            waits = "  ".join(f"{each} {seconds:.1f} s" for each, seconds in sorted(one.waits.items()))
            figures = f"{one.wall:8.1f} {one.cpu:8.1f} {one.megabytes:8.0f} {one.all_cpu:8.1f} {one.usage:8.0f}"
            print(f"{name:24} {figures}  {waits}", flush=True)
    return _compared(found, is_whole=options.workloads >= 1)


def _compared(found: dict[str, Measured], *, is_whole: bool) -> int:
    """Print ours as shares of Kueue's; 1 where those of the whole baseline are above the limits."""
    code = 0
    for key, theirs in found.items():
        if key == _OURS or (ours := found.get(_OURS)) is None:
            continue
        shares = (ours.wall / theirs.wall, ours.cpu / theirs.cpu, ours.megabytes / theirs.megabytes)
        parts: list[str] = []
        for what, share, limit in zip(("wall", "CPU", "memory"), shares, LIMITS[key], strict=True):
            is_over = is_whole and share > limit
            code = 1 if is_over else code
            parts.append(f"{what} {share:.2f}x (at most {limit}x{': TOO MUCH' if is_over else ''})")
        print(f"Rayward / {theirs.name:24}: {'  '.join(parts)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
