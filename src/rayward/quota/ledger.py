"""Who holds what and who waits for what, computed from objects alone: nothing is admitted here.

The gate reports from it, ``rayward quota`` prints it, and ``rayward quota check`` asks it about objects that do not
exist yet.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec

from rayward.kinds import labels
from rayward.kinds.kueue import ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Workload, names
from rayward.kube.core.poddefaults import LimitRange, RuntimeClass
from rayward.quota.engine import forecast
from rayward.quota.engine.amounts import Amount, Usage, text_of
from rayward.quota.engine.engine import Engine
from rayward.quota.engine.item import Item

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Objects:
    """What a ledger is made from."""

    flavors: Iterable[ResourceFlavor] = ()
    cohorts: Iterable[Cohort] = ()
    cluster_queues: Iterable[ClusterQueue] = ()
    local_queues: Iterable[LocalQueue] = ()
    workloads: Iterable[Workload] = ()
    pod_defaults: Iterable[LimitRange | RuntimeClass] = ()
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """Their labels, by name; none where they may not be read, and then every queue is taken to select them."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a Workload stands."""

    cluster_queue: str = ""
    need: Mapping[str, str] = field(default_factory=dict[str, str])
    have: Mapping[str, str] = field(default_factory=dict[str, str])
    """What is free now, in all flavors of the queue."""
    most: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the queue can ever give, in all its flavors."""
    held_by: tuple[tuple[str, Mapping[str, str]], ...] = ()
    """Who holds quota of the same queue, largest first."""
    position: int = 0
    waiting: int = 0
    fits_now: bool = False
    why_not_now: str = ""
    """What the numbers do not tell: a taint, or no flavor that has enough of everything."""
    never_fits: str = ""
    """Why waiting is of no use; empty where it may help."""
    problem: str = ""
    """Why nobody can tell: the queue is not there, or not in use."""

    @property
    def is_blocked(self) -> bool:
        """Whether waiting alone is of no use."""
        return bool(self.problem or self.never_fits)

    @property
    def message(self) -> str:
        """In one sentence: need, have, held by whom, and the place in the queue."""
        if self.is_blocked:
            return self.problem or self.never_fits
        parts = [f"Needs {_listed(self.need)}; ClusterQueue {self.cluster_queue} has {_listed(self.have)} free"]
        if self.why_not_now:
            parts.append(self.why_not_now)
        if self.held_by:
            named = [f"{who} ({_listed(what)})" for who, what in self.held_by[:_MOST_NAMED]]
            more = len(self.held_by) - _MOST_NAMED
            parts.append(f"held by {', '.join(named)}" + (f" and {more} more" if more > 0 else ""))
        if self.position:
            parts.append(f"position {self.position} of {self.waiting}")
        return "; ".join(parts)


class Ledger:
    """Quota, holders and queues as the objects say."""

    def __init__(self, objects: Objects, now: float) -> None:
        self.engine = engine = Engine()
        self.workloads = {str(one.key): one for one in objects.workloads if not one.finished}
        for flavor in objects.flavors:
            engine.set_flavor(flavor)
        for defaults in objects.pod_defaults:
            engine.set_pod_defaults(defaults)
        for name, its_labels in objects.namespaces.items():
            engine.set_namespace(name, its_labels)
        for cohort in objects.cohorts:
            engine.set_cohort(cohort)
        for queue in objects.cluster_queues:
            engine.set_cluster_queue(queue)
        self.local_queues = {str(one.key): one for one in objects.local_queues}
        for local in self.local_queues.values():
            engine.set_local_queue(local)
        for workload in self.workloads.values():
            engine.set_workload(workload, now)
        self._namespaces = objects.namespaces
        self._now = now

    def verdict(self, workload: Workload, *, gives_up: bool = False, beside: str = "") -> Verdict:
        """How a Workload stands, one that does not exist yet too.

        With ``gives_up`` its owner gives up for it what it holds now; otherwise the owner keeps that beside it, or only
        what its RayCluster ``beside`` holds.
        """
        problem = self._problem(workload)
        if problem:
            return Verdict(problem=problem)
        with self._asked(workload) as key:
            return self._verdict(workload, key, gives_up=gives_up, beside=beside)

    def never_fits_alone(self, workload: Workload) -> bool:
        """Whether a Workload does not fit though nobody holds anything; False where nobody can tell."""
        return bool(self.verdict(workload, gives_up=True).never_fits)

    def fit_together(self, first: Workload, second: Workload) -> bool:
        """Whether there is room for both where nobody else holds anything; also where nobody can tell."""
        if self._problem(first) or self._problem(second):
            return True
        with self._asked(first) as one, self._asked(second) as other:
            old, new = self.engine.item(one), self.engine.item(other)
            return old is None or new is None or forecast.fit_together(old, new, self.engine.world)

    @contextmanager
    def _asked(self, workload: Workload) -> Generator[str]:
        """Within the block the engine knows a Workload; gives its key."""
        key = str(workload.key)
        if key in self.workloads:
            yield key
            return
        self.engine.set_workload(workload, self._now)
        try:
            yield key
        finally:
            self.engine.remove_workload(key)

    def usage_of(self, owner: str, queue: str, without: Iterable[str] = (), cluster: str = "") -> Usage:
        """What an owner's Workloads hold of a ClusterQueue: all of them, or those of one of its RayClusters."""
        total: Usage = {}
        for item in self.engine.holders.get(queue, {}).values():
            if item.key not in without and self.owner(item.key) == owner and self._is_of(item.key, cluster):
                for fr, amount in item.usage.items():
                    total[fr] = total.get(fr, 0) + amount
        return total

    def _is_of(self, key: str, cluster: str) -> bool:
        """Whether a Workload is of a RayCluster; one that names none may be."""
        workload = self.workloads.get(key)
        named = workload.metadata.label(labels.CLUSTER) if workload is not None else ""
        return not cluster or named in ("", cluster)

    def owner(self, key: str) -> str:
        """Who a Workload is for: ``RayService default/llm``."""
        workload = self.workloads.get(key)
        return owner_of(workload) if workload is not None else f"Workload {key}"

    def holders(self, queue: str) -> list[tuple[str, Item]]:
        """Who holds quota of a ClusterQueue, by owner and Workload."""
        found = [(self.owner(item.key), item) for item in self.engine.holders.get(queue, {}).values()]
        return sorted(found, key=lambda each: (each[0], each[1].key))

    def _problem(self, workload: Workload) -> str:
        namespace, name = workload.metadata.namespace, workload.spec.queue_name
        local = self.local_queues.get(f"{namespace}/{name}")
        if local is None:
            return f"LocalQueue {namespace}/{name} does not exist: kubectl -n {namespace} get localqueues"
        state = self.engine.inventory.state(local.spec.cluster_queue)
        if state.reason == "NotFound":
            return f"ClusterQueue {local.spec.cluster_queue} of LocalQueue {namespace}/{name} does not exist"
        if not state.active:
            return f"ClusterQueue {local.spec.cluster_queue} is not active: {state.message}"
        if local.spec.stop_policy in ("Hold", "HoldAndDrain"):
            return f"LocalQueue {namespace}/{name} is stopped (stopPolicy {local.spec.stop_policy})"
        if self._namespaces and not self._selects(local.spec.cluster_queue, namespace):
            return (
                f"ClusterQueue {local.spec.cluster_queue} is not for namespace {namespace}: spec.namespaceSelector "
                f"does not match the namespace's labels (kubectl get namespace {namespace} --show-labels)"
            )
        return ""

    def _selects(self, queue: str, namespace: str) -> bool:
        if namespace not in self._namespaces:
            # one that is still to be made has the label that the API server adds
            self.engine.set_namespace(namespace, {"kubernetes.io/metadata.name": namespace})
        return self.engine.inventory.selects(queue, namespace)

    def _verdict(self, workload: Workload, key: str, *, gives_up: bool, beside: str) -> Verdict:
        item = self.engine.item(key)
        if item is None:
            return Verdict(problem=self.engine.refused.get(key, "") or f"Workload {key} cannot be queued")
        local = self.local_queues[f"{workload.metadata.namespace}/{workload.spec.queue_name}"]
        # a Workload that is deactivated is in no queue
        item.cluster_queue = queue = item.cluster_queue or local.spec.cluster_queue
        owner = owner_of(workload)
        replaced = self.engine.holders[queue].get(item.replaces) if item.replaces else None
        own = self.usage_of(owner, queue, (key, item.replaces))
        kept: Usage = {} if gives_up else self.usage_of(owner, queue, (key, item.replaces), beside)
        never = self.engine.exceeds(item, kept)
        lacks = self.engine.lacks(item, own if gives_up else None)
        need, whole = _need(item, replaced), _need(item, None)
        free = {name: self._sum(queue, name, potential=False) for name in need}
        most = {name: self._sum(queue, name, potential=True) for name in whole}
        pending = self.engine.pending[queue].ordered()
        place = next((at for at, one in enumerate(pending, 1) if one.key == key), 0)
        enough = all(amount <= free[name] for name, amount in need.items())
        return Verdict(
            cluster_queue=queue,
            need=_texts(need),
            have=_texts(free),
            most=_texts({name: most[name] for name in need}),
            held_by=self._held_by(queue, key),
            position=place,
            waiting=len(pending),
            fits_now=not (never or lacks),
            why_not_now=lacks if enough and not gives_up else "",
            never_fits=_never(owner, queue, whole, kept, most, never) if never else "",
        )

    def _sum(self, queue: str, resource: str, *, potential: bool) -> Amount:
        node, group = self.engine.forest.queues[queue], self.engine.inventory.rules[queue].group_of(resource)
        frs = [(flavor, resource) for flavor in group.flavors] if group is not None else []
        return sum(node.potential(fr) if potential else max(node.available(fr), 0) for fr in frs)

    def _held_by(self, queue: str, key: str) -> tuple[tuple[str, Mapping[str, str]], ...]:
        totals: dict[str, dict[str, int]] = {}
        for holder, item in self.holders(queue):
            if item.key == key:
                continue
            total = totals.setdefault(holder, {})
            for (_, resource), amount in item.usage.items():
                total[resource] = total.get(resource, 0) + amount
        ordered = sorted(totals.items(), key=lambda each: (-each[1].get("cpu", 0), each[0]))
        return tuple(
            (who, {name: text_of(name, amount) for name, amount in sorted(what.items())}) for who, what in ordered
        )


def owner_of(workload: Workload) -> str:
    """Who a Workload is for, as users know it."""
    meta = workload.metadata
    kind, name = meta.label(labels.ORIGIN_KIND), meta.label(labels.ORIGIN_NAME)
    if kind and name:
        return f"{kind} {meta.namespace}/{name}"
    for owner in meta.owner_references or ():
        return f"{owner.kind} {meta.namespace}/{owner.name}"
    if meta.label(labels.CLUSTER):
        # of a RayCluster that was deleted with --cascade=orphan
        return f"RayCluster {meta.namespace}/{meta.label(labels.CLUSTER)}"
    return f"Workload {meta.namespace}/{meta.name}"


def proposed(
    kind: str, namespace: str, name: str, queue: str, sets: Iterable[tuple[str, int, dict[str, object]]]
) -> Workload:
    """A Workload that nobody has made, for the object ``kind name``: pod sets as (name, count, pod spec)."""
    pod_sets = [{"name": each, "count": count, "template": {"spec": spec}} for each, count, spec in sets]
    body = {
        "metadata": {
            "namespace": namespace,
            "name": f"{name}-asked",
            "labels": {labels.ORIGIN_KIND: kind, labels.ORIGIN_NAME: name},
            "annotations": {names.ELASTIC_JOB: "true"},
        },
        "spec": {"queueName": queue, "podSets": pod_sets},
    }
    return msgspec.convert(body, Workload)


def _need(item: Item, replaced: Item | None) -> dict[str, int]:
    total: dict[str, int] = {}
    for demand in item.demands:
        for name, amount in demand.total().items():
            total[name] = total.get(name, 0) + amount
    for (_, name), amount in (replaced.usage if replaced is not None else {}).items():
        total[name] = max(total.get(name, 0) - amount, 0)
    return {name: amount for name, amount in sorted(total.items()) if amount}


def _never(owner: str, queue: str, need: Mapping[str, int], kept: Usage, most: Mapping[str, Amount], why: str) -> str:
    """Where the sums are too large, they say it best; otherwise what the engine says of pod sets and flavors."""
    parts: list[str] = []
    for name, amount in need.items():
        held = sum(each for (_, resource), each in kept.items() if resource == name)
        if amount + held > most[name]:
            beside = f" beside {text_of(name, held)} that {owner} holds and keeps" if held else ""
            parts.append(f"{name} {text_of(name, amount)}{beside}, of {text_of(name, most[name])} at most")
    said = f"needs {'; '.join(parts)}" if parts else why
    return f"Can never fit in ClusterQueue {queue}: {said}"


def _texts(amounts: Mapping[str, Amount]) -> dict[str, str]:
    return {name: text_of(name, amount) for name, amount in amounts.items()}


def _listed(amounts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in amounts.items()) or "nothing"
