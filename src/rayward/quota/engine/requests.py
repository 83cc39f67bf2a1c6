"""What one pod of a template asks for, as the scheduler counts it.

Containers run together, init containers one after the other beside the sidecars started before them; what the pod
itself asks for takes the place of that sum. Limits stand in for requests that are missing, as in Kueue.
"""

from __future__ import annotations

from typing import Final

from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.quota.engine.amounts import request_of

Requests = dict[str, int]
_POD_LEVEL: Final = ("cpu", "memory")


def pod_requests(spec: Object) -> Requests:
    """The requests of a pod spec.

    Raises:
        QuantityError: A request is no quantity.
    """
    total: Requests = {}
    for container in entries(spec, "containers"):
        _add(total, _container_requests(container))
    sidecars: Requests = {}
    starting: Requests = {}
    for container in entries(spec, "initContainers"):
        asked = _container_requests(container)
        if container.get("restartPolicy") == "Always":
            _add(total, asked)
            _add(sidecars, asked)
            asked = dict(sidecars)
        else:
            _add(asked, sidecars)
        _raise(starting, asked)
    _raise(total, starting)
    for name, amount in _container_requests(spec).items():
        if name in _POD_LEVEL or name.startswith("hugepages-"):
            total[name] = amount
    _add(total, _read(section(spec, "overhead")))
    return total


def _container_requests(container: Object) -> Requests:
    resources = section(container, "resources")
    return {**_read(section(resources, "limits")), **_read(section(resources, "requests"))}


def _read(quantities: Object) -> Requests:
    return {name: request_of(name, value) for name, value in quantities.items()}


def _add(total: Requests, more: Requests) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: Requests, least: Requests) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, 0), amount)
