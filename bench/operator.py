"""RayClusters made at once, on a real kube-apiserver: our operator beside KubeRay's, and beside an older one of ours.

``python -m bench.operator [N ...] [--rounds R] [--only ours,shipped,older,kuberay,tuned] [--older CHECKOUT]``: each
run gets a fresh server with KubeRay's own CRDs; pods are marked Running by a simulated kubelet, and simulated heads
answer, in processes of their own. Rounds alternate between the operators, so that what else a machine does meets all of
them; with several rounds or sizes the medians follow, each beside the ``older`` one, and how the cost of one cluster
grows with their number. ``shipped`` is what ``rayward operator run`` starts: with the recorders of the playbook. Ends
with 1 where ours is beyond a limit.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import uvloop
from tests.beside import beside
from tests.kube.real.cluster import RealControlPlane
from tests.operator.stage import group, manifest
from tests.waiting import eventually

from rayward.kinds.raycluster import RayCluster
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client.api import Client
from rayward.kube.client.config import find_access
from rayward.kube.client.request import Request
from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.reflector import Reflector

IN_FLIGHT = 32
WORKERS = 3
PATIENCE = 600.0
_REQUESTS = re.compile(r"^apiserver_request_total\{(?P<labels>[^}]*)\} (?P<count>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')

_DASHBOARD_PORT = 8265
_MOST_BESIDE_OLDER = 1.05
_MOST_MEDIAN = 0.6
_MOST_GROWTH = 1.1
_MOST_CALLS = 8.05

Start = Callable[[RealControlPlane, Path], list[str]]


@dataclass(frozen=True, slots=True)
class Figures:
    """What one operator took."""

    seconds: float
    median: float
    """When half of the clusters were ready, as a share of ``seconds``."""
    cpu: float
    peak_megabytes: float
    calls: dict[str, float]
    idle_percent: float | None

    def row(self, name: str, count: int) -> str:
        """One line of the table."""
        calls = sum(self.calls.values()) / count
        idle = f"{self.idle_percent:7.2f} %" if self.idle_percent is not None else "        -"
        times = f"{self.seconds:8.1f} s{self.median:9.2f}{self.cpu:9.1f} s"
        return f"{name:16}{times}{self.peak_megabytes:8.0f} MB{calls:9.2f}{idle}"


def _rayward(module: str) -> Start:
    def command(plane: RealControlPlane, folder: Path) -> list[str]:
        flags = ["--kubeconfig", str(plane.kubeconfig), "--ready-file", str(folder / "ready")]
        return [sys.executable, "-m", module, *flags, "--leader-election", "false"]

    return command


_ours = _rayward("rayward.operator")


def _older(checkout: Path) -> Start:
    source = (checkout / "src").resolve()
    if not (source / "rayward" / "operator").is_dir():
        raise SystemExit(f"{checkout} is no checkout of Rayward: there is no {source}/rayward/operator")

    def command(plane: RealControlPlane, folder: Path) -> list[str]:
        # In the same environment; what is on PYTHONPATH goes before what is installed.
        return ["env", f"PYTHONPATH={source}", *_ours(plane, folder)]

    return command


def _kuberay(*flags: str) -> Start:
    def command(plane: RealControlPlane, folder: Path) -> list[str]:
        fixed = [f"--kubeconfig={plane.kubeconfig}", "--enable-leader-election=false", "--metrics-addr=0"]
        return [str(plane.kuberay_operator), *fixed, "--health-probe-bind-address=0", *flags]

    return command


OPERATORS: dict[str, Start] = {
    "ours": _ours,
    "shipped": _rayward("rayward.stack.operator"),
    "kuberay": _kuberay(),
    "tuned": _kuberay("--reconcile-concurrency=20", "--qps=1000", "--burst=2000"),
}


def measure(start: Start, count: int, idle_seconds: float) -> Figures:
    """One operator on a server of its own."""
    server_flags = ("--disable-admission-plugins=ServiceAccount", "--max-requests-inflight=2000")
    with (
        tempfile.TemporaryDirectory(prefix="rayward-bench-") as name,
        RealControlPlane(fsync=True, apiserver_args=server_flags) as plane,
    ):
        folder = Path(name)
        installed = plane.run_kubectl("create", "-f", str(plane.kuberay_crds))
        if installed.returncode:
            raise SystemExit(installed.stderr)
        eventually(lambda: plane.run_kubectl("get", "rayclusters,rayservices").returncode == 0)
        heads = [sys.executable, "-m", "bench.rayheads", str(_DASHBOARD_PORT)]
        kubelet = [sys.executable, "-m", "bench.kubelet", str(plane.kubeconfig)]
        with (
            beside(heads, folder / "heads.log"),
            beside(kubelet, folder / "kubelet.log"),
            beside(start(plane, folder), folder / "operator.log") as operator,
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            return runner.run(_measure(plane, operator.pid, count, idle_seconds, folder))


async def _measure(plane: RealControlPlane, pid: int, count: int, idle_seconds: float, folder: Path) -> Figures:
    async with Client.connect(find_access(plane.kubeconfig), user_agent="bench") as client:
        clusters: Cache[RayCluster] = Cache(RAY_CLUSTERS, RayCluster, keep_raw=False)
        reflector = Reflector(client, clusters)
        following = asyncio.ensure_future(reflector.run())
        await reflector.wait_synced()
        # One cluster before the count begins: caches are full and code is loaded on both sides.
        await _make(client, ["warm-up"])
        await _ready_times(clusters, 1)
        before, cpu, began = await calls(client), cpu_seconds(pid), time.perf_counter()
        waiting = asyncio.ensure_future(_ready_times(clusters, count + 1))
        await _make(client, [f"bench-{number}" for number in range(count)])
        times = await waiting
        seconds = times[-1] - began
        # Events are written behind.
        await asyncio.sleep(5)
        used = cpu_seconds(pid) - cpu
        after = await calls(client)
        idle = await _idle(pid, idle_seconds) if idle_seconds else None
        following.cancel()
        made = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
        median = (statistics.median(times[1:]) - began) / seconds
        return Figures(seconds, median, used, peak_megabytes(pid), made, idle)


async def _make(client: Client, names: list[str]) -> None:
    waiting = iter(names)

    async def worker() -> None:
        for name in waiting:
            await client.create(RAY_CLUSTERS, manifest(name, groups=[group(replicas=WORKERS)]), "default")

    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))


async def _ready_times(clusters: Cache[RayCluster], count: int) -> list[float]:
    """When each of ``count`` clusters became ready, in order."""
    ready: dict[str, float] = {}
    done = asyncio.Event()

    def listener(old: RayCluster | None, new: RayCluster | None) -> None:
        if new is not None and new.status.state == "ready":
            ready.setdefault(new.metadata.name, time.perf_counter())
            if len(ready) >= count:
                done.set()

    clusters.subscribe(listener)
    async with asyncio.timeout(PATIENCE):
        await done.wait()
    return sorted(ready.values())


async def calls(client: Client, asked: str = "POST rayclusters") -> dict[str, float]:
    """The writes that operators make, as the server counted them; ``asked`` is what the user writes."""
    text = (await client.answer(Request("GET", "/metrics", accept="*/*"))).body.decode()
    found: dict[str, float] = {}
    for match in _REQUESTS.finditer(text):
        labels = dict(_LABEL.findall(match["labels"]))
        verb, resource = labels["verb"], labels["resource"]
        what = f"{verb} {resource}" + (f"/{labels['subresource']}" if labels["subresource"] else "")
        theirs = what in (asked, "PATCH pods/status") or resource in (
            "leases",
            "tokenreviews",
        )
        watched = (
            *("pods", "services", "rayclusters", "rayjobs", "events", "serviceaccounts", "roles", "rolebindings"),
            "controllerrevisions",
        )
        if verb in ("POST", "PUT", "PATCH", "DELETE", "APPLY") and resource in watched and not theirs:
            found[what] = found.get(what, 0) + float(match["count"])
    return found


async def _idle(pid: int, seconds: float) -> float:
    before = cpu_seconds(pid)
    await asyncio.sleep(seconds)
    return (cpu_seconds(pid) - before) / seconds * 100


def cpu_seconds(pid: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_megabytes(pid: int) -> float:
    """The most memory that a process ever held."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def median_of(rounds: Sequence[Figures]) -> Figures:
    """Each figure's median over the rounds."""
    found: dict[str, Any] = {}
    for each in fields(Figures):
        values = [getattr(figures, each.name) for figures in rounds]
        if each.name == "calls":
            names = {name: None for calls in values for name in calls}
            found["calls"] = {name: statistics.median(calls.get(name, 0.0) for calls in values) for name in names}
        else:
            found[each.name] = None if None in values else statistics.median(values)
    return Figures(**found)


def ratios(ours: Figures, older: Figures) -> dict[str, float]:
    """Each figure as a multiple of the older one's."""
    return {
        "wall": ours.seconds / older.seconds,
        "CPU": ours.cpu / older.cpu,
        "peak": ours.peak_megabytes / older.peak_megabytes,
        "calls": sum(ours.calls.values()) / sum(older.calls.values()),
    }


def beyond(ours: dict[int, Figures], older: dict[int, Figures]) -> list[str]:
    """The limits that ours does not keep, by size."""
    found: list[str] = []
    for count, figures in ours.items():
        calls = sum(figures.calls.values()) / count
        limits = {"median": (figures.median, _MOST_MEDIAN), "calls a cluster": (calls, _MOST_CALLS)}
        if count in older:
            beside_older = ratios(figures, older[count]).items()
            limits |= {f"{name} beside the older one": (ratio, _MOST_BESIDE_OLDER) for name, ratio in beside_older}
        found += [
            f"{count}: {name} {value:.2f}, more than {most}" for name, (value, most) in limits.items() if value > most
        ]
    least, largest = min(ours), max(ours)
    grown = ours[largest].seconds / largest * least / ours[least].seconds
    if grown > _MOST_GROWTH:
        found.append(
            f"a cluster costs {grown:.2f} x as much among {largest} as among {least}, more than {_MOST_GROWTH} x"
        )
    return found


def growth(sizes: dict[int, Figures]) -> list[str]:
    """A line for each size: what one cluster costs there, and as a multiple of what it costs at the smallest."""
    least = min(sizes)
    lines: list[str] = []
    for count, figures in sorted(sizes.items()):
        wall, cpu = figures.seconds / count, figures.cpu / count
        wall_growth, cpu_growth = wall * least / sizes[least].seconds, cpu * least / sizes[least].cpu
        times = f"{wall * 1000:8.1f} ms ({wall_growth:.2f}x){cpu * 1000:8.2f} ms CPU ({cpu_growth:.2f}x)"
        lines.append(f"{count:16}{times}{figures.peak_megabytes:8.0f} MB")
    return lines


def run(operators: dict[str, Start], counts: Sequence[int], rounds: int, idle: float, *, calls: bool) -> list[str]:
    """Measure each operator at each size, one after another in each round, and print what was found; what is beyond."""
    medians: dict[str, dict[int, Figures]] = {name: {} for name in operators}
    for count in counts:
        print(f"{count} RayClusters of 1 + {WORKERS} at once, until all are ready")
        print(f"{'':16}{'wall':>10}{'median':>9}{'CPU':>11}{'peak':>11}{'calls':>9}{'idle':>9}")
        found: dict[str, list[Figures]] = {name: [] for name in operators}
        for number in range(rounds):
            # The other way round in every second round: who goes first meets a machine that has rested.
            for name in list(operators)[:: -1 if number % 2 else 1]:
                found[name].append(figures := measure(operators[name], count, idle))
                print(figures.row(name, count), flush=True)
        for name, each in found.items():
            medians[name][count] = middle = median_of(each)
            if rounds > 1:
                print(middle.row(f"{name}, median", count))
            if calls:
                for what, number in sorted(middle.calls.items()):
                    print(f"    {what:30}{number / count:8.2f}")
        if "ours" in medians and "older" in medians:
            found_ratios = ratios(medians["ours"][count], medians["older"][count]).items()
            print("ours / older: " + ", ".join(f"{name} {ratio:.2f}x" for name, ratio in found_ratios), flush=True)
    if len(counts) > 1:
        for name, sizes in medians.items():
            print(f"{name}, each cluster:", *growth(sizes), sep="\n")
    return beyond(medians["ours"], medians.get("older", {})) if "ours" in medians else []


def main(words: list[str] | None = None) -> int:
    """Print one line for each run, then what they say together."""
    parser = argparse.ArgumentParser(prog="bench.operator", description=__doc__)
    parser.add_argument("counts", nargs="*", type=int, default=[100], metavar="N")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--only", default="", help="of ours, shipped, older, kuberay (as it comes) and tuned; by default all"
    )
    parser.add_argument("--older", type=Path, metavar="CHECKOUT", help="an older checkout of Rayward")
    parser.add_argument("--idle", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--calls", action="store_true", help="also print the calls one by one")
    options: Any = parser.parse_args(words)
    operators = dict(OPERATORS)
    if options.older is not None:
        operators = {"ours": _ours, "older": _older(options.older), **operators}
    if options.only:
        unknown = set(options.only.split(",")) - set(operators)
        if unknown:
            parser.error(f"--only: {', '.join(sorted(unknown))} not among {', '.join(operators)}")
        operators = {name: operators[name] for name in options.only.split(",")}
    found = run(operators, options.counts, options.rounds, options.idle, calls=options.calls)
    for line in found:
        print(f"beyond its limit: {line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
