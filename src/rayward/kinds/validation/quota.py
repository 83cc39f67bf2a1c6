"""What Kueue's webhooks refuse and its definitions cannot: said here, because the embedded engine has no webhooks.

A queue with a problem is inactive and says so in its condition; a workload with one is not queued.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from rayward.kinds.kueue import names
from rayward.kinds.kueue.queues import Amount, ClusterQueue, Cohort, FairSharing, FlavorQuotas, ResourceGroup
from rayward.kinds.kueue.workload import Workload
from rayward.kinds.validation.problem import Problem
from rayward.kube.machinery.quantity import ZERO, Quantity, QuantityError, parse

MAX_POD_SETS: Final = 18
_MAX_FLAVORS: Final = 256
_MAX_RESOURCES: Final = 256
_MAX_COMBINATIONS: Final = 512
_LEAST_WEIGHT: Final = parse("1n")
_GROUPS: Final = "spec.resourceGroups"


def cluster_queue_problems(queue: ClusterQueue) -> list[Problem]:
    """Why a ClusterQueue cannot be used; empty when it can."""
    groups = queue.spec.resource_groups or ()
    return [
        *_group_problems(groups, "cohortName" if not queue.spec.cohort_name else "", lends_at_most_nominal=True),
        *_size_problems(groups),
        *_preemption_problems(queue),
        *_fungibility_problems(queue),
        *_weight_problems(queue.spec.fair_sharing),
        *_check_problems(queue),
    ]


def cohort_problems(cohort: Cohort) -> list[Problem]:
    """Why a Cohort cannot be used; empty when it can. Cycles are seen only among all of them."""
    missing = "parentName" if not cohort.spec.parent_name else ""
    return [
        *_group_problems(cohort.spec.resource_groups or (), missing, lends_at_most_nominal=False),
        *_weight_problems(cohort.spec.fair_sharing),
    ]


def workload_problems(workload: Workload) -> list[Problem]:
    """Why a Workload cannot be queued; empty when it can."""
    pod_sets = workload.spec.pod_sets
    found: list[Problem] = []
    if not pod_sets:
        found.append(Problem("spec.podSets", "Required", "a workload has at least one pod set"))
    if len(pod_sets) > MAX_POD_SETS:
        message = f"{len(pod_sets)} pod sets are more than {MAX_POD_SETS}: merge worker groups of one shape"
        found.append(Problem("spec.podSets", "Invalid", message))
    if len({pod_set.name for pod_set in pod_sets}) != len(pod_sets):
        found.append(Problem("spec.podSets", "Duplicate", "two pod sets have one name"))
    variable = sum(pod_set.min_count is not None for pod_set in pod_sets)
    if variable > 1:
        found.append(Problem("spec.podSets", "Invalid", "at most one pod set can have a minCount"))
    if variable and workload.metadata.annotation(names.ELASTIC_JOB) == "true":
        message = "partial admission (minCount) and elastic jobs cannot be used together"
        found.append(Problem("spec.podSets", "Invalid", message))
    for index, pod_set in enumerate(pod_sets):
        found += _pod_set_problems(pod_set.template, f"spec.podSets[{index}].template.spec")
        if pod_set.count < 0:
            found.append(Problem(f"spec.podSets[{index}].count", "Invalid", f"{pod_set.count} is less than 0"))
    return found


def _pod_set_problems(template: dict[str, Any], at: str) -> Iterator[Problem]:
    spec: dict[str, Any] = template.get("spec") or {}
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            path = f"{at}.{field}[{index}].resources"
            resources: dict[str, Any] = container.get("resources") or {}
            requests: dict[str, Any] = resources.get("requests") or {}
            limits: dict[str, Any] = resources.get("limits") or {}
            if "pods" in requests:
                yield Problem(f"{path}.requests[pods]", "Invalid", "the name pods is reserved for the number of pods")
            for name, value in {**limits, **requests}.items():
                if _read(value) is None:
                    yield Problem(path, "Invalid", f"{name}: {value!r} is not a quantity")
                elif name in limits and name in requests and _over(requests[name], limits[name]):
                    yield Problem(path, "Invalid", f"the request of {name} is over its limit")


def _over(request: Amount, limit: Amount) -> bool:
    asked, most = _read(request), _read(limit)
    return asked is not None and most is not None and asked > most


def _group_problems(
    groups: Sequence[ResourceGroup], missing_parent: str, *, lends_at_most_nominal: bool
) -> Iterator[Problem]:
    resources: set[str] = set()
    flavors: set[str] = set()
    for number, group in enumerate(groups):
        at = f"{_GROUPS}[{number}]"
        for index, name in enumerate(group.covered_resources):
            if name in resources:
                yield Problem(f"{at}.coveredResources[{index}]", "Duplicate", f"{name} is in another place already")
            resources.add(name)
        for index, flavor in enumerate(group.flavors):
            path = f"{at}.flavors[{index}]"
            if flavor.name in flavors:
                yield Problem(f"{path}.name", "Duplicate", f"flavor {flavor.name} is in another place already")
            flavors.add(flavor.name)
            yield from _flavor_quota_problems(flavor, group, path, missing_parent, lends_at_most_nominal)


def _flavor_quota_problems(
    flavor: FlavorQuotas, group: ResourceGroup, at: str, missing_parent: str, lends_at_most_nominal: bool
) -> Iterator[Problem]:
    if tuple(quota.name for quota in flavor.resources) != group.covered_resources:
        message = "the resources of every flavor are those of coveredResources, in the same order"
        yield Problem(f"{at}.resources", "Invalid", message)
    for index, quota in enumerate(flavor.resources):
        path = f"{at}.resources[{index}]"
        nominal = _read(quota.nominal_quota)
        for field, value in (
            ("nominalQuota", quota.nominal_quota),
            ("borrowingLimit", quota.borrowing_limit),
            ("lendingLimit", quota.lending_limit),
        ):
            if value is None:
                continue
            amount = _read(value)
            if amount is None or amount < ZERO:
                yield Problem(f"{path}.{field}", "Invalid", f"{value!r} is not an amount of 0 or more")
            elif missing_parent and field != "nominalQuota":
                yield Problem(f"{path}.{field}", "Invalid", f"must be nil when {missing_parent} is empty")
            elif field == "lendingLimit" and lends_at_most_nominal and nominal is not None and amount > nominal:
                yield Problem(f"{path}.{field}", "Invalid", "must be less than or equal to the nominalQuota")


def _size_problems(groups: Sequence[ResourceGroup]) -> Iterator[Problem]:
    flavors = sum(len(group.flavors) for group in groups)
    if flavors > _MAX_FLAVORS:
        yield Problem(_GROUPS, "Invalid", f"{flavors} flavors are more than {_MAX_FLAVORS}")
    resources = sum(len(group.covered_resources) for group in groups)
    if resources > _MAX_RESOURCES:
        yield Problem(_GROUPS, "Invalid", f"{resources} resources are more than {_MAX_RESOURCES}")
    for index, group in enumerate(groups):
        combinations = sum(len(flavor.resources) for flavor in group.flavors)
        if combinations > _MAX_COMBINATIONS:
            message = f"{combinations} pairs of flavor and resource are more than {_MAX_COMBINATIONS}"
            yield Problem(f"{_GROUPS}[{index}]", "Invalid", message)


def _preemption_problems(queue: ClusterQueue) -> Iterator[Problem]:
    preemption = queue.spec.preemption
    if preemption is None or preemption.reclaim_within_cohort != "Never":
        return
    borrow = preemption.borrow_within_cohort
    if borrow is not None and borrow.policy != "Never":
        message = "borrowWithinCohort has no effect while reclaimWithinCohort is Never: set one, or delete the other"
        yield Problem("spec.preemption", "Invalid", message)


def _fungibility_problems(queue: ClusterQueue) -> Iterator[Problem]:
    fungibility = queue.spec.flavor_fungibility
    if fungibility is None or fungibility.preference is None:
        return
    if (fungibility.when_can_borrow, fungibility.when_can_preempt) != ("TryNextFlavor", "TryNextFlavor"):
        message = "a preference needs whenCanBorrow and whenCanPreempt to be TryNextFlavor"
        yield Problem("spec.flavorFungibility.preference", "Invalid", message)


def _weight_problems(sharing: FairSharing | None) -> Iterator[Problem]:
    if sharing is None or sharing.weight is None:
        return
    weight = _read(sharing.weight)
    if weight is None or weight < ZERO or ZERO < weight <= _LEAST_WEIGHT:
        yield Problem("spec.fairSharing.weight", "Invalid", f"{sharing.weight!r} is neither 0 nor more than 1n")


def _check_problems(queue: ClusterQueue) -> Iterator[Problem]:
    strategy = queue.spec.admission_checks_strategy
    known = {flavor.name for group in queue.spec.resource_groups or () for flavor in group.flavors}
    for index, rule in enumerate((strategy.admission_checks or ()) if strategy else ()):
        for flavor in rule.on_flavors or ():
            if flavor not in known:
                path = f"spec.admissionChecksStrategy.admissionChecks[{index}].onFlavors"
                yield Problem(path, "Invalid", f"flavor {flavor} is not in this queue")


def _read(value: Any) -> Quantity | None:
    try:
        return parse(value)
    except QuantityError:
        return None
