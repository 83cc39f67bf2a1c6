"""What a pod asks for as a whole: its containers together, or its largest init container, and its overhead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.kube.machinery.quantity import Quantity, parse
from rayward.kube.machinery.resourcenames import is_huge_page

Amounts = dict[str, Quantity]
Field = Literal["requests", "limits"]


def declared(pod: Object, field: Field) -> Amounts:
    """By the specification alone, without overhead: what a LimitRange looks at."""
    total = _of_containers(pod, field, statuses={})
    own = section(section(pod, "spec"), "resources")
    return total | {name: parse(value) for name, value in section(own, field).items() if name in ("cpu", "memory")}


def charged(pod: Object, field: Field) -> Amounts:
    """With overhead and with what a resize has not given back yet: what a quota counts."""
    spec, status = section(pod, "spec"), section(pod, "status")
    statuses = {
        each["name"]: each
        for part in ("containerStatuses", "initContainerStatuses")
        for each in entries(status, part)
        if each.get("name")
    }
    total = _of_containers(pod, field, statuses)
    for name, value in section(section(spec, "resources"), field).items():
        if name in ("cpu", "memory") or is_huge_page(name):
            total[name] = parse(value)
    for name, value in section(spec, "overhead").items():
        if field == "requests" or (name in total and not total[name].is_zero):
            _add(total, {name: parse(value)})
    return total


def has_pod_level(pod: Object) -> bool:
    """Whether the pod says for itself, and not only for its containers, what it needs."""
    own = section(section(pod, "spec"), "resources")
    names = section(own, "requests").keys() | section(own, "limits").keys()
    return any(name in ("cpu", "memory") or is_huge_page(name) for name in names)


def amounts_in(container: Object, field: Field) -> Amounts:
    """What one container says."""
    return {name: parse(value) for name, value in section(section(container, "resources"), field).items()}


def _of_containers(pod: Object, field: Field, statuses: Mapping[str, Object]) -> Amounts:
    spec = section(pod, "spec")
    infeasible = _resize_is_infeasible(pod)
    total: Amounts = {}
    for container in entries(spec, "containers"):
        _add(total, _effective(container, field, statuses, infeasible=infeasible))
    sidecars: Amounts = {}
    highest: Amounts = {}
    for container in entries(spec, "initContainers"):
        if container.get("restartPolicy") == "Always":
            own = _effective(container, field, statuses, infeasible=infeasible)
            _add(total, own)
            _add(sidecars, own)
            at_once = sidecars
        else:
            at_once = amounts_in(container, field)
            _add(at_once, sidecars)
        _raise(highest, at_once)
    _raise(total, highest)
    return total


def _effective(container: Object, field: Field, statuses: Mapping[str, Object], *, infeasible: bool) -> Amounts:
    own = amounts_in(container, field)
    status = statuses.get(container.get("name") or "")
    if status is None or status.get("resources") is None:
        return own
    result: Amounts = {} if infeasible else own
    _raise(result, amounts_in(status, field))
    if field == "requests":
        _raise(result, {name: parse(value) for name, value in section(status, "allocatedResources").items()})
    return result


def _resize_is_infeasible(pod: Object) -> bool:
    conditions = entries(section(pod, "status"), "conditions")
    return any(c.get("type") == "PodResizePending" and c.get("reason") == "Infeasible" for c in conditions)


def _add(target: Amounts, more: Mapping[str, Quantity]) -> None:
    for name, value in more.items():
        target[name] = target[name] + value if name in target else value


def _raise(target: Amounts, least: Mapping[str, Quantity]) -> None:
    for name, value in least.items():
        if name not in target or value > target[name]:
            target[name] = value
