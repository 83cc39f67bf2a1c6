"""What a pod asks for, as Kubernetes adds it up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery import quantity
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.kube.machinery.quantity import Quantity

Amounts = dict[str, Quantity]

ZERO = quantity.parse("0")


def amounts(listed: Mapping[str, Any] | None) -> Amounts:
    """A resource list of the API as exact amounts."""
    return {name: quantity.parse(value) for name, value in (listed or {}).items()}


def pod_requests(spec: Object) -> Amounts:
    """What the scheduler must find free for a pod: containers and sidecars together, or the largest init step."""
    total: Amounts = {}
    for container in entries(spec, "containers"):
        _add(total, container_requests(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in entries(spec, "initContainers"):
        asked = container_requests(container)
        if container.get("restartPolicy") == "Always":
            _add(total, asked)
            _add(sidecars, asked)
            _raise_to(peak, sidecars)
        else:
            step = dict(sidecars)
            _add(step, asked)
            _raise_to(peak, step)
    _raise_to(total, peak)
    _raise_to(total, amounts(section(spec, "resources").get("requests")))
    _add(total, amounts(spec.get("overhead")))
    return total


def container_requests(container: Object) -> Amounts:
    """One container's requests; a limit alone is a request too."""
    resources = section(container, "resources")
    return {**amounts(resources.get("limits")), **amounts(resources.get("requests"))}


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, ZERO) + amount


def _raise_to(total: Amounts, least: Amounts) -> None:
    for name, amount in least.items():
        if amount > total.get(name, ZERO):
            total[name] = amount
