"""A workload as the engine sees it: numbers instead of quantities, and what was decided about it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from rayward.kinds.kueue import names
from rayward.kinds.kueue.workload import PodSet, PodSetAssignment, Workload
from rayward.kube.core.meta import parse_time
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.machinery.quantity import QuantityError
from rayward.quota.engine.amounts import Usage, request_of
from rayward.quota.engine.flavor import Placement, placement_of
from rayward.quota.engine.poddefaults import PodDefaults
from rayward.quota.engine.requests import Requests, pod_requests

NO_TIME: Final = 0.0
_NO_DEFAULTS: Final = PodDefaults()
_BY_EVICTION_TIME: Final = (names.BY_PODS_READY_TIMEOUT, names.BY_ADMISSION_CHECK)


@dataclass(frozen=True, slots=True)
class PodSetDemand:
    """Pods of one shape that are asked for."""

    name: str
    count: int
    per_pod: Requests
    placement: Placement
    min_count: int | None = None
    group: str = ""
    topology: bool = False

    def total(self, count: int | None = None) -> Requests:
        """What so many of them ask for, by default all."""
        times = self.count if count is None else count
        return {name: amount * times for name, amount in self.per_pod.items()}


@dataclass(frozen=True, slots=True)
class Grant:
    """What a pod set was given."""

    name: str
    count: int
    flavors: Mapping[str, str]
    requests: Requests


Shape = bytes
"""A digest."""


@dataclass(slots=True, eq=False)
class Item:
    """A workload that waits or holds quota."""

    key: str
    """``namespace/name``."""
    uid: str
    queue: str
    """``namespace/name`` of its LocalQueue."""
    priority: int
    timestamp: float
    """Its place among equals."""
    demands: tuple[PodSetDemand, ...]
    generation: int = 0
    defaults_revision: int = 0
    """Of the pod defaults that ``demands`` were read with."""
    replaces: str = ""
    shape: Shape = b""
    """Workloads of one shape fit, or do not, together."""
    requeue_at: float = NO_TIME
    held_back: bool = False
    """Whether somebody said that it may not queue (Requeued is False)."""
    failed_checks: bool = False
    cluster_queue: str = ""
    """Where it waits or holds quota."""
    grants: tuple[Grant, ...] = ()
    usage: Usage = field(default_factory=dict)
    reserved_at: float = NO_TIME
    evicted: bool = False
    pods_ready: bool = True
    tried: tuple[Mapping[str, int], ...] = ()
    """Per pod set and resource the flavor after which the next search begins; -1 is from the start."""
    tried_generation: int = -1
    resumed: int = 0
    """How often the search went on without anything having changed."""
    message: str = ""

    @property
    def reserved(self) -> bool:
        """Whether it holds quota."""
        return bool(self.grants)

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]

    @property
    def read_from(self) -> tuple[str, int, int]:
        """What its demands follow from."""
        return (self.uid, self.generation, self.defaults_revision)

    @property
    def order(self) -> tuple[int, float, str]:
        """Its place in a queue."""
        return (-self.priority, self.timestamp, self.uid)

    @property
    def has_untried_flavors(self) -> bool:
        """Whether the last search ended before the last flavor: the next one goes on from there."""
        return any(index != -1 for tried in self.tried for index in tried.values())

    @property
    def reducible(self) -> bool:
        """Whether fewer pods would do."""
        return any(demand.min_count is not None and demand.min_count < demand.count for demand in self.demands)


class UnreadableError(ValueError):
    """The workload asks for something that is no amount."""


def item_of(workload: Workload, before: Item | None = None, defaults: PodDefaults = _NO_DEFAULTS) -> Item:
    """What the engine knows from the object alone; ``before`` is what it made of an earlier state of the object.

    Raises:
        UnreadableError: A quantity cannot be read.
    """
    meta, spec, status = workload.metadata, workload.spec, workload.status
    read_from = (meta.uid, meta.generation, defaults.revision)
    if not meta.generation or (before is not None and before.read_from != read_from):
        before = None
    try:
        if before is not None:
            # Most changes are of the status, and the spec was read.
            demands = tuple(
                one if one.count == count else replace(one, count=count)
                for one, count in zip(before.demands, _counts(workload), strict=True)
            )
        else:
            demands = tuple(
                _demand(one, count, defaults.applied(meta.namespace, one.template.get("spec") or {}))
                for one, count in zip(spec.pod_sets, _counts(workload), strict=True)
            )
        grants = _grants(workload, demands) if workload.reserved and status.admission else ()
    except QuantityError as error:
        raise UnreadableError(str(error)) from error
    requeued = workload.condition(names.REQUEUED)
    again = status.requeue_state.requeue_at if status.requeue_state else None
    reserved = workload.condition(names.QUOTA_RESERVED)
    item = Item(
        key=f"{meta.namespace}/{meta.name}",
        uid=meta.uid,
        queue=f"{meta.namespace}/{spec.queue_name}",
        priority=spec.priority or 0,
        timestamp=queue_time(workload),
        demands=demands,
        generation=meta.generation,
        defaults_revision=defaults.revision,
        replaces=workload.replaces,
        requeue_at=_seconds(again),
        held_back=requeued is not None and requeued.status == "False",
        failed_checks=any(check.state in ("Retry", "Rejected") for check in status.admission_checks or ()),
        grants=grants,
        evicted=workload.evicted,
        pods_ready=workload.holds(names.PODS_READY),
        reserved_at=_seconds(reserved.last_transition_time if reserved else None),
    )
    if grants and status.admission:
        item.cluster_queue = status.admission.cluster_queue
        item.usage = usage_of(grants)
    alike = before is not None and (before.demands, before.replaces) == (demands, item.replaces)
    item.shape = before.shape if before is not None and alike else shape_of(item)
    return item


def _counts(workload: Workload) -> list[int]:
    reclaimed = {pods.name: pods.count for pods in workload.status.reclaimable_pods or ()}
    return [max(0, pod_set.count - reclaimed.get(pod_set.name, 0)) for pod_set in workload.spec.pod_sets]


def _demand(pod_set: PodSet, count: int, spec: Object) -> PodSetDemand:
    return PodSetDemand(
        pod_set.name,
        count,
        pod_requests(spec),
        placement_of(spec),
        pod_set.min_count,
        (pod_set.topology_request.pod_set_group_name or "") if pod_set.topology_request else "",
        _asks_for_topology(pod_set.topology_request),
    )


def shape_of(item: Item) -> Shape:
    """What decides whether a workload fits: a slice has a shape of its own, because of the one it replaces."""
    pods = [
        (one.name, one.count, one.min_count, one.group, one.topology, sorted(one.per_pod.items()), one.placement)
        for one in item.demands
    ]
    whole = (item.queue.partition("/")[0], item.priority, pods, item.key if item.replaces else "")
    return hashlib.blake2b(repr(whole).encode(), digest_size=16).digest()


def usage_of(grants: tuple[Grant, ...]) -> Usage:
    """The quota that grants hold."""
    usage: Usage = {}
    for grant in grants:
        for resource, amount in grant.requests.items():
            if flavor := grant.flavors.get(resource):
                usage[flavor, resource] = usage.get((flavor, resource), 0) + amount
    return usage


def queue_time(workload: Workload) -> float:
    """Since when it waits: since its creation, or its eviction for a reason of its own."""
    evicted = workload.condition(names.EVICTED)
    if evicted is not None and evicted.status == "True" and evicted.reason in _BY_EVICTION_TIME:
        return _seconds(evicted.last_transition_time)
    return _seconds(workload.metadata.creation_timestamp)


def _grants(workload: Workload, demands: tuple[PodSetDemand, ...]) -> tuple[Grant, ...]:
    wanted = {demand.name: demand.count for demand in demands}
    admission = workload.status.admission
    assignments = admission.pod_set_assignments if admission else ()
    return tuple(_grant(assignment, wanted.get(assignment.name, 0)) for assignment in assignments)


def _grant(assignment: PodSetAssignment, wanted: int) -> Grant:
    """Scaling down frees quota without a word in ``status.admission``."""
    given = wanted if assignment.count is None else assignment.count
    requests = {name: request_of(name, value) for name, value in (assignment.resource_usage or {}).items()}
    if wanted < given:
        requests = {name: amount // given * wanted for name, amount in requests.items()}
        given = wanted
    return Grant(assignment.name, given, assignment.flavors or {}, requests)


def _asks_for_topology(request: object) -> bool:
    return request is not None and any(
        getattr(request, name) is not None
        for name in ("required", "preferred", "unconstrained", "pod_set_slice_required_topology", "pod_set_slice_size")
    )


def _seconds(moment: str | None) -> float:
    if not moment:
        return NO_TIME
    try:
        return parse_time(moment).timestamp()
    except ValueError:
        return NO_TIME
