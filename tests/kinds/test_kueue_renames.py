"""Manifests of an earlier Kueue: what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.kinds.kueue.renames import is_earlier, rewrites


@pytest.mark.parametrize(
    ("api_version", "earlier"),
    [
        ("kueue.x-k8s.io/v1beta1", True),
        ("kueue.x-k8s.io/v1alpha1", True),
        ("kueue.x-k8s.io/v1beta2", False),
        ("config.kueue.x-k8s.io/v1beta1", False),
        ("ray.io/v1alpha1", False),
    ],
)
def test_only_kueues_own_versions_are_earlier_ones(api_version: str, earlier: bool) -> None:
    assert is_earlier(api_version) == earlier


@pytest.mark.parametrize(
    ("kind", "spec", "said"),
    [
        ("LocalQueue", {"clusterQueue": "a"}, []),
        ("ClusterQueue", {"cohortName": "team", "flavorFungibility": {"whenCanBorrow": "TryNextFlavor"}}, []),
        ("ClusterQueue", {"cohort": "team"}, ["write spec.cohortName: team for spec.cohort"]),
        (
            "ClusterQueue",
            {"admissionChecks": ["a", "b"]},
            ["write spec.admissionChecksStrategy.admissionChecks: [{name: a}, {name: b}] for spec.admissionChecks"],
        ),
        (
            "ClusterQueue",
            {"flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}},
            [
                "write spec.flavorFungibility.whenCanBorrow: MayStopSearch for Borrow",
                "write spec.flavorFungibility.whenCanPreempt: MayStopSearch for Preempt",
            ],
        ),
        (
            "Workload",
            {"priorityClassName": "high", "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass"},
            [
                (
                    "write spec.priorityClassRef: {group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: high} "
                    "for spec.priorityClassName and spec.priorityClassSource"
                )
            ],
        ),
        (
            "Workload",
            {"priorityClassName": "high", "priorityClassSource": "scheduling.k8s.io/priorityclass"},
            [
                (
                    "write spec.priorityClassRef: {group: scheduling.k8s.io, kind: PriorityClass, name: high} "
                    "for spec.priorityClassName and spec.priorityClassSource"
                )
            ],
        ),
    ],
)
def test_what_was_renamed_is_said_with_the_values_that_are_there(
    kind: str, spec: dict[str, Any], said: list[str]
) -> None:
    found = rewrites({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": kind, "spec": spec})
    assert found == ["write apiVersion: kueue.x-k8s.io/v1beta2", *said]
