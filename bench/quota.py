"""The engine's core alone, on Kueue's baseline: ``python -m bench.quota [--scale N]``.

Five cohorts of six queues, 500 workloads in each queue, created and run in simulated time as Kueue's own harness
creates and runs them (its generator's baseline configuration). No API server: what is measured is what deciding costs.
"""

from __future__ import annotations

import argparse
import heapq
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import msgspec

from rayward.kinds.kueue import ClusterQueue, LocalQueue, ResourceFlavor, Workload
from rayward.quota.engine.cycle import Admit, Evict
from rayward.quota.engine.engine import Engine

_COHORTS = 5
_QUEUES = 6
_NOMINAL = 20
_BORROWING = 100
_QUANTUM = 0.02
"""Events of so many seconds are taken together, as a controller would."""


@dataclass(frozen=True, slots=True)
class _Class:
    name: str
    number: int
    interval: float
    runtime: float
    priority: int
    cpu: int


_CLASSES = (
    _Class("small", 350, 0.1, 0.2, 50, 1),
    _Class("medium", 100, 0.5, 0.5, 100, 5),
    _Class("large", 50, 1.2, 1.0, 200, 20),
)


def _setup(engine: Engine, scale: int) -> list[str]:
    engine.set_flavor(msgspec.convert({"metadata": {"name": "rf"}}, ResourceFlavor))
    names: list[str] = []
    for cohort in range(_COHORTS * scale):
        for number in range(_QUEUES):
            name = f"cq-{cohort}-{number}"
            quota = {"name": "cpu", "nominalQuota": _NOMINAL, "borrowingLimit": _BORROWING}
            spec = {
                "cohortName": f"cohort-{cohort}",
                "namespaceSelector": {},
                "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
                "resourceGroups": [
                    {"coveredResources": ["cpu"], "flavors": [{"name": "rf", "resources": [quota]}]},
                ],
            }
            engine.set_namespace(name, {})
            engine.set_cluster_queue(msgspec.convert({"metadata": {"name": name}, "spec": spec}, ClusterQueue))
            meta = {"name": "lq", "namespace": name}
            engine.set_local_queue(msgspec.convert({"metadata": meta, "spec": {"clusterQueue": name}}, LocalQueue))
            names.append(name)
    return names


def _arrivals(names: list[str]) -> Iterator[tuple[float, Workload, _Class]]:
    for queue in names:
        for kind in _CLASSES:
            for number in range(kind.number):
                when = number * kind.interval
                pods = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": str(kind.cpu)}}}]}}
                uid = f"{queue}-{kind.name}-{number}"
                minutes, seconds = divmod(int(when), 60)
                meta = {
                    "name": uid,
                    "namespace": queue,
                    "uid": uid,
                    "creationTimestamp": f"2026-01-01T00:{minutes:02}:{seconds:02}Z",
                }
                spec = {
                    "queueName": "lq",
                    "priority": kind.priority,
                    "podSets": [{"name": "main", "count": 1, "template": pods}],
                }
                yield when, msgspec.convert({"metadata": meta, "spec": spec}, Workload), kind


def simulate(scale: int = 1) -> dict[str, float]:
    """Runs until everything has finished; times in seconds, ``makespan`` simulated, ``cpu`` real."""
    engine = Engine()
    ticket = count()
    events: list[tuple[float, int, str, Workload, _Class]] = []
    total = 0
    for when, workload, kind in _arrivals(_setup(engine, scale)):
        heapq.heappush(events, (when, next(ticket), "create", workload, kind))
        total += 1
    objects = {f"{one[3].metadata.namespace}/{one[3].metadata.name}": (one[3], one[4]) for one in events}
    runs: dict[str, int] = {}
    waits: dict[str, list[float]] = {kind.name: [] for kind in _CLASSES}
    created: dict[str, float] = {}
    decisions = evictions = rounds = 0
    now = 0.0
    started = time.process_time()
    while events:
        now = events[0][0]
        while events and events[0][0] <= now + _QUANTUM:
            when, _, what, workload, kind = heapq.heappop(events)
            key = f"{workload.metadata.namespace}/{workload.metadata.name}"
            if what == "create":
                created[key] = when
                engine.set_workload(workload, when)
            elif what == "evicted":
                engine.set_workload(workload, when)
            elif runs.get(key) == int(what):
                engine.remove_workload(key)
        for decision in engine.run(now):
            decisions += 1
            if isinstance(decision, Admit):
                runs[decision.key] = attempt = next(ticket)
                workload, kind = objects[decision.key]
                waits[kind.name].append(now - created[decision.key])
                heapq.heappush(events, (now + kind.runtime, next(ticket), str(attempt), workload, kind))
            elif isinstance(decision, Evict):
                evictions += 1
                runs[decision.key] = -1
                workload, kind = objects[decision.key]
                heapq.heappush(events, (now, next(ticket), "evicted", workload, kind))
        rounds += 1
    cpu = time.process_time() - started
    means = {f"wait {name}": sum(found) / len(found) for name, found in waits.items()}
    return {
        "workloads": total,
        "makespan": now,
        "cpu": cpu,
        "us per workload": cpu / total * 1e6,
        "decisions": decisions,
        "evictions": evictions,
        "rounds": rounds,
        **means,
        "memory MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    """Prints one line a figure."""
    parser = argparse.ArgumentParser(prog="bench.quota", description=__doc__)
    parser.add_argument("--scale", type=int, default=1, help="how many times Kueue's five cohorts")
    for name, value in simulate(parser.parse_args().scale).items():
        print(f"{name:16} {value:12.2f}")


if __name__ == "__main__":
    main()
