"""How many workers a manifest asks for, and what all its pods together need."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from rayward.kinds.raycluster import RayCluster, WorkerGroup
from rayward.kinds.shapes.metadata import Object
from rayward.kinds.shapes.startcommand import is_gpu
from rayward.kube.machinery import quantity

_INT32_MAX: Final = 2**31 - 1
_TPU: Final = "google.com/tpu"


class Totals(NamedTuple):
    """Resources of all pods of a cluster, in Kubernetes' canonical form."""

    cpu: str
    memory: str
    gpu: str
    tpu: str


def desired_workers(group: WorkerGroup) -> int:
    """The pods of a group: its replicas, held between least and most, times the hosts of each."""
    return _pods(group, _replicas(group))


def min_workers(group: WorkerGroup) -> int:
    """The fewest pods a group may have."""
    return 0 if group.suspend else _pods(group, group.min_replicas or 0)


def max_workers(group: WorkerGroup) -> int:
    """The most pods a group may have."""
    if group.suspend:
        return 0
    replicas = _INT32_MAX if group.max_replicas is None else group.max_replicas
    return _pods(group, replicas)


def resources_of(cluster: RayCluster) -> Totals:
    """What the head and the desired workers request; limits count where there are no requests."""
    totals: dict[str, quantity.Quantity] = {}
    _add(totals, cluster.spec.head_group_spec.template, 1)
    for group in cluster.groups:
        _add(totals, group.template, desired_workers(group))
    gpus = quantity.ZERO
    for name in sorted(totals):
        if is_gpu(name) and not totals[name].is_zero:
            gpus += totals[name]
    cpu, memory, tpu = (totals.get(name, quantity.ZERO) for name in ("cpu", "memory", _TPU))
    return Totals(str(cpu), str(memory), str(gpus), str(tpu))


def _replicas(group: WorkerGroup) -> int:
    if group.suspend:
        return 0
    least = group.min_replicas or 0
    most = _INT32_MAX if group.max_replicas is None else group.max_replicas
    if group.replicas is None or group.replicas < least:
        return least
    return min(group.replicas, most)


def _pods(group: WorkerGroup, replicas: int) -> int:
    """As many as the fields of the status can tell."""
    hosts = 1 if group.num_of_hosts is None else group.num_of_hosts
    return min(replicas * hosts, _INT32_MAX)


def _add(totals: dict[str, quantity.Quantity], template: Object, pods: int) -> None:
    spec: Object = template.get("spec") or {}
    if pods <= 0:
        return
    for container in spec.get("containers") or ():
        resources: Object = container.get("resources") or {}
        amounts: Object = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        for name, amount in amounts.items():
            if name in ("cpu", "memory", _TPU) or is_gpu(name):
                _add_amount(totals, name, amount, pods)


def _add_amount(totals: dict[str, quantity.Quantity], name: str, amount: Any, pods: int) -> None:
    try:
        total = quantity.parse(amount) * pods
    except quantity.QuantityError:
        return
    totals[name] = totals[name] + total if name in totals else total
