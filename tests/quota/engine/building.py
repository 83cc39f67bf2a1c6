"""Queues and workloads in few words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from rayward.kinds.kueue import ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Workload
from rayward.kube.core.meta import rfc3339
from rayward.quota.engine.cycle import Admit, Decision, Evict, Pend
from rayward.quota.engine.engine import Engine, Settings

Quotas = dict[str, dict[str, Any]]
"""By flavor and resource: nominal, or (nominal, borrowing limit, lending limit)."""


def groups(quotas: Quotas) -> list[dict[str, Any]]:
    """One group of resources for all flavors."""
    resources = list(next(iter(quotas.values()), {}))
    return [
        {
            "coveredResources": resources,
            "flavors": [
                {"name": flavor, "resources": [_quota(name, amounts[name]) for name in resources]}
                for flavor, amounts in quotas.items()
            ],
        }
    ]


def _quota(name: str, amount: Any) -> dict[str, Any]:
    nominal, borrowing, lending = amount if isinstance(amount, tuple) else (amount, None, None)
    made: dict[str, Any] = {"name": name, "nominalQuota": nominal}
    if borrowing is not None:
        made["borrowingLimit"] = borrowing
    if lending is not None:
        made["lendingLimit"] = lending
    return made


def cluster_queue(name: str, quotas: Quotas | list[dict[str, Any]], cohort: str = "", **spec: Any) -> ClusterQueue:
    body: dict[str, Any] = {"namespaceSelector": {}, "cohortName": cohort, **spec}
    body["resourceGroups"] = groups(quotas) if isinstance(quotas, dict) else quotas
    return msgspec.convert({"metadata": {"name": name}, "spec": body}, ClusterQueue)


def stored(queue: Any) -> ClusterQueue:
    """A queue of Kueue's own tests as the API server would store it, with its defaults."""
    spec = {name: value for name, value in queue["spec"].items() if value is not None}
    if preemption := spec.get("preemption"):
        # a policy that a Go object leaves empty is neither Never nor any other
        spec["preemption"] = {"reclaimWithinCohort": "", "withinClusterQueue": "", **preemption}
    return msgspec.convert({**queue, "spec": spec}, ClusterQueue)


def cohort(name: str, parent: str = "", quotas: Quotas | None = None, **spec: Any) -> Cohort:
    body: dict[str, Any] = {"parentName": parent, **spec}
    if quotas:
        body["resourceGroups"] = groups(quotas)
    return msgspec.convert({"metadata": {"name": name}, "spec": body}, Cohort)


def flavor(name: str, **spec: Any) -> ResourceFlavor:
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, ResourceFlavor)


def local_queue(name: str, queue: str, **spec: Any) -> LocalQueue:
    body = {"metadata": {"name": name, "namespace": "ns"}, "spec": {"clusterQueue": queue, **spec}}
    return msgspec.convert(body, LocalQueue)


def at(seconds: float) -> str:
    return rfc3339(datetime.fromtimestamp(seconds, UTC))


def pod_set(name: str, count: int, requests: dict[str, Any], minimum: int | None = None, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}], **spec}}
    made: dict[str, Any] = {"name": name, "count": count, "template": template}
    return made | ({"minCount": minimum} if minimum is not None else {})


def workload(
    name: str,
    queue: str,
    requests: dict[str, Any] | list[dict[str, Any]],
    *,
    priority: int = 0,
    created: float = 0,
    admitted: dict[str, Any] | None = None,
    reserved_at: float = 0,
    replaces: str = "",
    evicted: bool = False,
    status: dict[str, Any] | None = None,
) -> Workload:
    """``admitted`` gives the ClusterQueue and, as ``flavor``, where everything comes from."""
    pod_sets = requests if isinstance(requests, list) else [pod_set("main", 1, requests)]
    said: dict[str, Any] = dict(status or {})
    conditions: list[dict[str, Any]] = list(said.get("conditions") or ())
    if admitted:
        flavors = admitted["flavor"]
        said["admission"] = {
            "clusterQueue": admitted["queue"],
            "podSetAssignments": [
                {
                    "name": one["name"],
                    "count": one["count"],
                    "flavors": dict.fromkeys(_requests(one), flavors),
                    "resourceUsage": {name: _times(value, one["count"]) for name, value in _requests(one).items()},
                }
                for one in pod_sets
            ],
        }
        conditions.append({"type": "QuotaReserved", "status": "True", "lastTransitionTime": at(reserved_at)})
        conditions.append({"type": "Admitted", "status": "True", "lastTransitionTime": at(reserved_at)})
    if evicted:
        conditions.append({"type": "Evicted", "status": "True", "reason": "Preempted"})
    said["conditions"] = conditions
    meta: dict[str, Any] = {"name": name, "namespace": "ns", "uid": name, "creationTimestamp": at(created)}
    if replaces:
        meta["annotations"] = {"kueue.x-k8s.io/workload-slice-replacement-for": f"ns/{replaces}"}
    spec = {"queueName": queue, "priority": priority, "podSets": pod_sets}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": said}, Workload)


def _requests(one: dict[str, Any]) -> dict[str, Any]:
    return one["template"]["spec"]["containers"][0]["resources"]["requests"]


def _times(value: Any, count: int) -> Any:
    return value * count if isinstance(value, int) else value if count == 1 else f"{int(value[:-1]) * count}{value[-1]}"


class Laboratory:
    """An engine with the usual surroundings: flavors exist, the namespace matches."""

    def __init__(self, *flavors: str, fair: bool = False, block: bool = False) -> None:
        self.engine = Engine(Settings(fair_sharing=fair, block_until_pods_ready=block))
        self.engine.set_namespace("ns", {})
        for name in flavors or ("default",):
            self.engine.set_flavor(flavor(name))

    def queues(self, *queues: ClusterQueue | Cohort) -> Laboratory:
        """Each ClusterQueue gets a LocalQueue of its name."""
        for queue in queues:
            if isinstance(queue, Cohort):
                self.engine.set_cohort(queue)
            else:
                self.engine.set_cluster_queue(queue)
                self.engine.set_local_queue(local_queue(queue.metadata.name, queue.metadata.name))
        return self

    def workloads(self, *workloads: Workload) -> Laboratory:
        for one in workloads:
            self.engine.set_workload(one, 0)
        return self

    def run(self, now: float = 1_000_000) -> Outcome:
        return Outcome(self.engine.run(now))


class Outcome:
    """What was decided."""

    def __init__(self, decisions: list[Decision]) -> None:
        self.decisions = decisions

    @property
    def admitted(self) -> dict[str, dict[str, str]]:
        """Flavor by pod set, when it is one for all its resources."""
        return {
            one.key.removeprefix("ns/"): {
                grant.name: "+".join(dict.fromkeys(grant.flavors.values())) for grant in one.grants
            }
            for one in self.decisions
            if isinstance(one, Admit)
        }

    @property
    def counts(self) -> dict[str, list[int]]:
        return {
            one.key.removeprefix("ns/"): [grant.count for grant in one.grants]
            for one in self.decisions
            if isinstance(one, Admit)
        }

    @property
    def evicted(self) -> dict[str, str]:
        return {one.key.removeprefix("ns/"): one.reason for one in self.decisions if isinstance(one, Evict)}

    @property
    def messages(self) -> dict[str, str]:
        return {one.key.removeprefix("ns/"): one.message for one in self.decisions if isinstance(one, Pend)}
