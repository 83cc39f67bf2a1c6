"""What has another name or form in v1beta2 than in v1beta1: remedies for manifests of an earlier Kueue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rayward.kinds.resources import CLUSTER_QUEUES, WORKLOADS
from rayward.kube.machinery.jsonvalue import Object, section

VERSION: Final = CLUSTER_QUEUES.api_version
_GROUP: Final = f"{CLUSTER_QUEUES.group}/"
_MAY_STOP: Final = {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}


def is_earlier(api_version: str) -> bool:
    """Whether it is one of Kueue's versions, and not the one that is served."""
    return api_version.startswith(_GROUP) and api_version != VERSION


def rewrites(body: Object) -> list[str]:
    """What to write in a v1beta1 manifest so that it means the same in v1beta2."""
    spec = section(body, "spec")
    found = [f"write apiVersion: {VERSION}"]
    if body.get("kind") == CLUSTER_QUEUES.kind:
        found += _of_cluster_queue(spec)
    if body.get("kind") == WORKLOADS.kind and spec.get("priorityClassName"):
        group = "scheduling.k8s.io" if spec.get("priorityClassSource") == "scheduling.k8s.io/priorityclass" else ""
        kind = "PriorityClass" if group else "WorkloadPriorityClass"
        ref = f"{{group: {group or CLUSTER_QUEUES.group}, kind: {kind}, name: {spec['priorityClassName']}}}"
        found.append(f"write spec.priorityClassRef: {ref} for spec.priorityClassName and spec.priorityClassSource")
    return found


def _of_cluster_queue(spec: Object) -> Iterator[str]:
    if spec.get("cohort"):
        yield f"write spec.cohortName: {spec['cohort']} for spec.cohort"
    checks = spec.get("admissionChecks")
    if isinstance(checks, list) and checks:
        listed = ", ".join(f"{{name: {one}}}" for one in checks)  # pyright: ignore[reportUnknownVariableType]
        yield f"write spec.admissionChecksStrategy.admissionChecks: [{listed}] for spec.admissionChecks"
    fungibility = section(spec, "flavorFungibility")
    for field, value in _MAY_STOP.items():
        if fungibility.get(field) == value:
            yield f"write spec.flavorFungibility.{field}: MayStopSearch for {value}"
