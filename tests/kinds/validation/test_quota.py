from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.kinds.kueue import ClusterQueue, Cohort, Workload
from rayward.kinds.validation import cluster_queue_problems, cohort_problems, workload_problems


def _groups(flavor: str = "f", resource: str = "cpu", **quota: Any) -> dict[str, Any]:
    return {
        "coveredResources": [resource],
        "flavors": [{"name": flavor, "resources": [{"name": resource, "nominalQuota": "1", **quota}]}],
    }


_TRY_NEXT = {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"}


@pytest.mark.parametrize(
    ("spec", "at"),
    [
        ({}, None),
        ({"resourceGroups": [_groups()]}, None),
        ({"resourceGroups": [_groups(borrowingLimit=1)], "cohortName": "c"}, None),
        (
            {"resourceGroups": [_groups(borrowingLimit=1)]},
            "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit",
        ),
        ({"resourceGroups": [_groups(lendingLimit=1)]}, "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit"),
        (
            {"resourceGroups": [_groups(lendingLimit="1001m")], "cohortName": "c"},
            "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit",
        ),
        (
            {"resourceGroups": [_groups(nominalQuota="-1")]},
            "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota",
        ),
        ({"resourceGroups": [_groups(), _groups("g")]}, "spec.resourceGroups[1].coveredResources[0]"),
        ({"resourceGroups": [_groups(), _groups("f", "memory")]}, "spec.resourceGroups[1].flavors[0].name"),
        (
            {"resourceGroups": [{**_groups(), "coveredResources": ["memory"]}]},
            "spec.resourceGroups[0].flavors[0].resources",
        ),
        ({"preemption": {"borrowWithinCohort": {"policy": "LowerPriority"}}}, "spec.preemption"),
        (
            {"preemption": {"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}}},
            None,
        ),
        (
            {"flavorFungibility": {"preference": "PreemptionOverBorrowing"}},
            "spec.flavorFungibility.preference",
        ),
        ({"flavorFungibility": {"preference": "PreemptionOverBorrowing", **_TRY_NEXT}}, None),
        ({"fairSharing": {"weight": "1n"}}, "spec.fairSharing.weight"),
        ({"fairSharing": {"weight": "-1"}}, "spec.fairSharing.weight"),
        ({"fairSharing": {"weight": 0}}, None),
        (
            {"admissionChecksStrategy": {"admissionChecks": [{"name": "a", "onFlavors": ["x"]}]}},
            "spec.admissionChecksStrategy.admissionChecks[0].onFlavors",
        ),
    ],
)
def test_a_cluster_queue_that_kueues_webhook_refuses_has_a_problem(spec: dict[str, Any], at: str | None) -> None:
    found = cluster_queue_problems(msgspec.convert({"spec": spec}, ClusterQueue))
    assert [problem.path for problem in found] == ([at] if at else [])


@pytest.mark.parametrize(
    ("spec", "at"),
    [
        ({"resourceGroups": [_groups(lendingLimit=2)], "parentName": "p"}, None),
        ({"resourceGroups": [_groups(lendingLimit=2)]}, "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit"),
    ],
)
def test_a_cohort_may_lend_more_than_its_own_quota_but_only_to_a_parent(spec: dict[str, Any], at: str | None) -> None:
    found = cohort_problems(msgspec.convert({"spec": spec}, Cohort))
    assert [problem.path for problem in found] == ([at] if at else [])


def _pod_set(name: str = "a", count: int = 1, min_count: int | None = None, **resources: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "c", "resources": resources}]}}
    return {"name": name, "count": count, "template": template} | ({"minCount": min_count} if min_count else {})


@pytest.mark.parametrize(
    ("pod_sets", "annotations", "at"),
    [
        ([_pod_set()], {}, None),
        ([], {}, "spec.podSets"),
        ([_pod_set(f"p{n}") for n in range(18)], {}, None),
        ([_pod_set(f"p{n}") for n in range(19)], {}, "spec.podSets"),
        ([_pod_set(), _pod_set()], {}, "spec.podSets"),
        ([_pod_set("a", 2, 1), _pod_set("b", 2, 1)], {}, "spec.podSets"),
        ([_pod_set("a", 2, 1)], {"kueue.x-k8s.io/elastic-job": "true"}, "spec.podSets"),
        ([_pod_set(count=-1)], {}, "spec.podSets[0].count"),
        ([_pod_set(requests={"pods": 1})], {}, "spec.podSets[0].template.spec.containers[0].resources.requests[pods]"),
        (
            [_pod_set(requests={"cpu": 2}, limits={"cpu": 1})],
            {},
            "spec.podSets[0].template.spec.containers[0].resources",
        ),
        ([_pod_set(requests={"cpu": "much"})], {}, "spec.podSets[0].template.spec.containers[0].resources"),
    ],
)
def test_a_workload_that_cannot_be_queued_has_a_problem(
    pod_sets: list[dict[str, Any]], annotations: dict[str, str], at: str | None
) -> None:
    workload = {"metadata": {"annotations": annotations}, "spec": {"podSets": pod_sets}}
    found = workload_problems(msgspec.convert(workload, Workload))
    assert [problem.path for problem in found] == ([at] if at else [])
