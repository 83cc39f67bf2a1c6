"""A node's own word on a pod that was given to it: the scheduler may have been passed over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.machinery.podrequests import ZERO, pod_requests
from rayward.kube.machinery.quantity import Quantity


def rejection(pod: Object, others: Iterable[Object], allocatable: Mapping[str, Quantity]) -> tuple[str, str] | None:
    """Reason and message with which a pod is refused, in the kubelet's words; None if there is room for it."""
    used: dict[str, Quantity] = {}
    count = 0
    for other in others:
        count += 1
        for name, amount in pod_requests(other["spec"]).items():
            used[name] = used.get(name, ZERO) + amount
    pods = allocatable.get("pods", ZERO).as_int()
    if count >= pods > 0:
        return _refused("pods", 1, count, pods)
    for name, asked in pod_requests(pod["spec"]).items():
        room, taken = allocatable.get(name, ZERO), used.get(name, ZERO)
        if asked > ZERO and taken + asked > room:
            # The kubelet counts CPUs in thousandths and everything else in whole units.
            numbers = (asked, taken, room)
            return _refused(name, *(one.milli() if name == "cpu" else one.as_int() for one in numbers))
    return None


def _refused(name: str, asked: int, used: int, capacity: int) -> tuple[str, str]:
    message = f"Node didn't have enough resource: {name}, requested: {asked}, used: {used}, capacity: {capacity}"
    return f"OutOf{name}", f"Pod was rejected: {message}"
