"""Kueue's own scheduling cases, recorded: ``python -m tests.quota.record``.

Kueue's unit tests keep their cases as objects in memory. A copy of its module gets a few lines that write those objects
and what is expected of them as JSON; nothing else of it is kept.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

import orjson
from tools.crds import kueue

from tests.kube.real.build import BuildError

RECORDING: Final = Path(__file__).parent / "data" / f"kueue-{kueue.VERSION.removeprefix('v')}-cases.json.gz"

_WRITER: Final = """package {package}

import (
	"encoding/json"
	"os"
)

func recordCase(what map[string]any) bool {{
	file, err := os.OpenFile(os.Getenv("RECORDED_CASES"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {{
		panic(err)
	}}
	defer file.Close()
	line, err := json.Marshal(what)
	if err != nil {{
		panic(err)
	}}
	if _, err := file.Write(append(line, '\\n')); err != nil {{
		panic(err)
	}}
	return true
}}
"""
_LOOP: Final = "for name, tc := range cases {\n"
_SCHEDULE: Final = """
		if recordCase(map[string]any{"suite": t.Name(), "name": name, "now": cfg.fakeClock.Now(),
			"featureGates": tc.featureGates, "fairSharing": tc.enableFairSharing,
			"admissionFails": tc.admissionError != nil, "flavors": cfg.resourceFlavors,
			"clusterQueues": [][]kueue.ClusterQueue{cfg.clusterQueues, tc.additionalClusterQueues},
			"localQueues": [][]kueue.LocalQueue{cfg.queues, tc.additionalLocalQueues}, "cohorts": tc.cohorts,
			"workloads": tc.workloads, "objects": tc.objects, "wantAssignments": tc.wantAssignments,
			"wantWorkloads": tc.wantWorkloads, "wantLeft": tc.wantLeft,
			"wantInadmissibleLeft": tc.wantInadmissibleLeft}) {
			continue
		}
"""
_PREEMPT: Final = """
		if recordCase(map[string]any{"suite": t.Name(), "name": name, "now": now, "flavors": flavors,
			"clusterQueues": tc.clusterQueues, "cohorts": tc.cohorts, "admitted": tc.admitted, "incoming": tc.incoming,
			"queue": tc.targetCQ, "assignment": tc.assignment.PodSets, "wantWorkloads": tc.wantWorkloads}) {
			continue
		}
"""
_FAIR: Final = """
		if recordCase(map[string]any{"suite": t.Name(), "name": name, "now": now, "flavors": flavors,
			"clusterQueues": tc.clusterQueues, "cohorts": tc.cohorts, "admitted": tc.admitted, "incoming": tc.incoming,
			"queue": tc.targetCQ, "flavor": tc.assignmentFlavor, "strategies": tc.strategies,
			"wantPreempted": tc.wantPreempted}) {
			continue
		}
"""
_ASSIGN: Final = """
		// JSON has its keys in order; a flavor and a resource are no key
		recordedUsage := []map[string]int64{{}, {}, {}}
		for i, each := range []resources.FlavorResourceQuantities{
			tc.clusterQueueUsage, tc.secondaryClusterQueueUsage, tc.wantAssignment.Usage.Quota} {
			for fr, amount := range each {
				recordedUsage[i][string(fr.Flavor)+" "+string(fr.Resource)] = amount.Int64()
			}
		}
		recordedOracle := map[string][]int{}
		for fr, result := range tc.simulationResult {
			recordedOracle[string(fr.Flavor)+" "+string(fr.Resource)] =
				[]int{int(result.preemptionPossiblity), result.borrowingAfterSimulation}
		}
		var recordedReplaced []workload.PodSetResources
		if tc.preemptWorkloadSlice != nil {
			recordedReplaced = tc.preemptWorkloadSlice.TotalRequests
		}
		recordedReasons := [][]string{}
		for _, each := range tc.wantAssignment.PodSets {
			recordedReasons = append(recordedReasons, each.Status.reasons)
		}
		if recordCase(map[string]any{"suite": t.Name(), "name": name, "featureGates": tc.featureGates,
			"fairSharing": tc.enableFairSharing, "flavors": resourceFlavors, "podSets": tc.wlPods,
			"reclaimable": tc.wlReclaimablePods, "clusterQueue": tc.clusterQueue, "other": tc.secondaryClusterQueue,
			"usage": recordedUsage[:2], "oracle": recordedOracle, "replaced": recordedReplaced,
			"topologies": len(tc.topologies), "wantMode": tc.wantRepMode.String(),
			"wantPodSets": tc.wantAssignment.PodSets, "wantReasons": recordedReasons,
			"wantBorrowing": tc.wantAssignment.Borrowing, "wantUsage": recordedUsage[2]}) {
			continue
		}
"""
_PACKAGES: Final = {
    "pkg/scheduler": ("scheduler", "^(TestSchedule|TestScheduleForFairSharing)$", {"scheduler_test.go": _SCHEDULE}),
    "pkg/scheduler/flavorassigner": ("flavorassigner", "^TestAssignFlavors$", {"flavorassigner_test.go": _ASSIGN}),
    "pkg/scheduler/preemption": (
        "preemption",
        "^(TestPreemption|TestHierarchicalPreemptions|TestFairPreemptions)$",
        {
            "preemption_test.go": _PREEMPT,
            "preemption_hierarchical_test.go": _PREEMPT,
            "preemption_fair_test.go": _FAIR,
        },
    ),
}


def record(source: Path) -> list[dict[str, Any]]:
    """Every case, by suite and name.

    Raises:
        BuildError: Kueue's tests do not compile.
    """
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "kueue"
        shutil.copytree(source, copy, copy_function=shutil.copyfile)
        copy.chmod(0o755)
        for folder in [path for path in copy.rglob("*") if path.is_dir()]:
            folder.chmod(0o755)
        lines = Path(scratch) / "cases"
        for folder, (package, tests, files) in _PACKAGES.items():
            (copy / folder / "record_cases_test.go").write_text(_WRITER.format(package=package))
            for name, inserted in files.items():
                path = copy / folder / name
                text = path.read_text()
                path.write_text(text.replace(_LOOP, _LOOP + inserted, 1))
            _test(copy, folder, tests, lines)
        cases = [orjson.loads(line) for line in lines.read_bytes().splitlines()]
    return sorted(cases, key=lambda case: (case["suite"], case["name"]))


def _test(module: Path, folder: str, tests: str, lines: Path) -> None:
    done = subprocess.run(
        ["go", "test", "-mod=mod", "-count=1", "-vet=off", "-run", tests, f"./{folder}/"],
        cwd=module,
        env={**os.environ, "RECORDED_CASES": str(lines), "CGO_ENABLED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BuildError(f"cannot record {folder}: {(done.stdout + done.stderr)[-2000:]}")


def recorded() -> list[dict[str, Any]]:
    """The recording."""
    return orjson.loads(gzip.decompress(RECORDING.read_bytes()))


def main() -> None:
    """Writes the recording."""
    cases = record(kueue.module())
    RECORDING.write_bytes(gzip.compress(orjson.dumps(cases, option=orjson.OPT_SORT_KEYS), 9, mtime=0))
    print(f"{RECORDING.name}: {len(cases)} cases, {RECORDING.stat().st_size} bytes")


if __name__ == "__main__":
    main()
