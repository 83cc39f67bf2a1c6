"""What is free on the nodes of a server, for a plan."""

from __future__ import annotations

from typing import Any, Final

from rayward.changes.costs import Amounts
from rayward.changes.steps import Operation, Send
from rayward.kube.client import errors, verbs
from rayward.kube.core.resource import NODES, PODS
from rayward.kube.machinery import quantity
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.kube.machinery.podrequests import amounts, pod_requests

_MOST: Final = 2000
"""How many pods are read at most: on a larger cluster a plan is not worth such an answer."""
_LIVE: Final = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"


def free_on_nodes() -> Operation[list[Amounts] | None]:
    """What is free on each node that takes pods; None where that may not be read, or would be too much to read."""
    try:
        nodes: Object = yield Send(verbs.list_(NODES, limit=_MOST))
        pods: Object = yield Send(verbs.list_(PODS, limit=_MOST, field_selector=_LIVE))
    except (errors.Forbidden, errors.NotFound):
        return None
    if any(section(found, "metadata").get("continue") for found in (nodes, pods)) or not entries(nodes, "items"):
        return None
    free = {
        str(section(node, "metadata").get("name")): amounts(section(section(node, "status"), "allocatable"))
        for node in entries(nodes, "items")
        if not section(node, "spec").get("unschedulable")
    }
    for pod in entries(pods, "items"):
        spec = section(pod, "spec")
        node: Any = free.get(str(spec.get("nodeName")))
        if node is None:
            continue
        for name, amount in pod_requests(spec).items():
            node[name] = node.get(name, quantity.ZERO) - amount
    return list(free.values())
