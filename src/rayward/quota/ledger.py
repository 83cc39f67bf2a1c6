"""Who holds what and who waits for what, computed from objects alone: nothing is admitted here.

The gate reports from it, ``rayward quota`` prints it, and ``rayward quota check`` asks it about objects that do not
exist yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from rayward.kinds import labels
from rayward.kinds.kueue import ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Workload, names
from rayward.kube.core.poddefaults import LimitRange, RuntimeClass
from rayward.quota.engine.amounts import UNLIMITED, FlavorResource, Usage, text_of
from rayward.quota.engine.engine import Engine
from rayward.quota.engine.item import Item
from rayward.quota.engine.tree import Node

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
    """Their labels, by name."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a Workload stands."""

    cluster_queue: str = ""
    need: Mapping[str, str] = field(default_factory=dict[str, str])
    have: Mapping[str, str] = field(default_factory=dict[str, str])
    """What is free now, in the flavor that has most of it."""
    most: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the queue can ever give."""
    held_by: tuple[tuple[str, Mapping[str, str]], ...] = ()
    """Who holds quota of the same queue, largest first."""
    position: int = 0
    waiting: int = 0
    fits_now: bool = False
    never_fits: str = ""
    """Why waiting is of no use; empty where it may help."""
    problem: str = ""
    """Why nobody can tell: the queue is not there, or not in use."""

    @property
    def message(self) -> str:
        """In one sentence: need, have, held by whom, and the place in the queue."""
        if self.problem or self.never_fits:
            return self.problem or self.never_fits
        parts = [f"Needs {_listed(self.need)}; ClusterQueue {self.cluster_queue} has {_listed(self.have)} free"]
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
        self._now = now

    def verdict(self, workload: Workload, beside: Usage | None = None, freed: Usage | None = None) -> Verdict:
        """How a Workload stands, one that does not exist yet too.

        ``beside`` is what its owner goes on holding until the Workload's pods have taken over; without it, what the
        owner's other Workloads hold now. ``freed`` is what its owner holds and gives up for it.
        """
        key = str(workload.key)
        problem = self._problem(workload)
        if problem:
            return Verdict(problem=problem)
        if key not in self.workloads:
            self.engine.set_workload(workload, self._now)
            try:
                return self._verdict(workload, key, beside, freed)
            finally:
                self.engine.remove_workload(key)
        return self._verdict(workload, key, beside, freed)

    def usage_of(self, owner: str, without: Iterable[str] = ()) -> Usage:
        """What an owner's Workloads hold, in all."""
        total: Usage = {}
        for holders in self.engine.holders.values():
            for item in holders.values():
                if item.key not in without and self.owner(item.key) == owner:
                    for fr, amount in item.usage.items():
                        total[fr] = total.get(fr, 0) + amount
        return total

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
        return ""

    def _verdict(self, workload: Workload, key: str, beside: Usage | None, freed: Usage | None) -> Verdict:
        item = self.engine.item(key)
        if item is None:
            return Verdict(problem=self.engine.refused.get(key, "") or f"Workload {key} cannot be queued")
        local = self.local_queues[f"{workload.metadata.namespace}/{workload.spec.queue_name}"]
        queue = item.cluster_queue or local.spec.cluster_queue
        node = self.engine.forest.queues[queue]
        owner = owner_of(workload)
        replaced = self.engine.holders[queue].get(item.replaces) if item.replaces else None
        own = self.usage_of(owner, (key, item.replaces)) if beside is None else beside
        over = self.engine.exceeds(item, own)
        need = _need(item, replaced)
        free = {name: self._best(queue, node, name, potential=False) for name in need}
        within = {name: self._best(queue, node, name, potential=False, freed=freed) for name in need}
        pending = self.engine.pending[queue].ordered()
        place = next((at for at, one in enumerate(pending, 1) if one.key == key), 0)
        return Verdict(
            cluster_queue=queue,
            need={name: text_of(name, amount) for name, amount in need.items()},
            have={name: text_of(name, max(amount, 0)) for name, amount in free.items()},
            most={name: text_of(name, self._best(queue, node, name, potential=True)) for name in need},
            held_by=self._held_by(queue, key),
            position=place,
            waiting=len(pending),
            fits_now=not over and all(amount <= within[name] for name, amount in need.items()),
            never_fits=_never(owner, queue, over, own) if over else "",
        )

    def _best(self, queue: str, node: Node, resource: str, *, potential: bool, freed: Usage | None = None) -> float:
        group = self.engine.inventory.rules[queue].group_of(resource)
        if group is None:
            return 0
        frs = [(flavor, resource) for flavor in group.flavors]
        if potential:
            return max((node.potential(fr) for fr in frs), default=0)
        # quota may have been lowered under what is used: who gives up what it holds may go on with as much
        each = (max(node.available(fr), 0) + freed.get(fr, 0) if freed else node.available(fr) for fr in frs)
        return max(each, default=0)

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


def _never(
    owner: str, queue: str, over: Mapping[FlavorResource, tuple[int, float]], own: Mapping[FlavorResource, int]
) -> str:
    parts: list[str] = []
    for (flavor, resource), (needed, potential) in sorted(over.items()):
        held = own.get((flavor, resource), 0)
        kept = f" beside {text_of(resource, held)} that {owner} holds and keeps" if held else ""
        limit = "<unlimited>" if potential == UNLIMITED else text_of(resource, potential)
        parts.append(f"{resource} {text_of(resource, needed - held)}{kept}, of {limit} at most")
    return f"Can never fit in ClusterQueue {queue}: needs {'; '.join(parts)}"


def _listed(amounts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in amounts.items()) or "nothing"
