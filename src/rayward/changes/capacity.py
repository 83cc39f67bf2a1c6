"""What is free on the nodes of a server, for a plan."""

from __future__ import annotations

from typing import Final

from rayward.changes.costs import Amounts, Node, added
from rayward.changes.steps import Operation, Send
from rayward.kinds import labels
from rayward.kube.client import errors, verbs
from rayward.kube.core.resource import NODES, PODS
from rayward.kube.machinery import quantity
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.kube.machinery.podrequests import amounts, pod_requests

_MOST: Final = 2000
"""How many pods are read at most: on a larger cluster a plan is not worth such an answer."""
_LIVE: Final = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"


def free_on_nodes(namespace: str = "", cluster: str = "") -> Operation[list[Node] | None]:
    """The nodes that take pods; None where that may not be read, or would be too much to read.

    What pods of the RayCluster that is named request is noted beside, too.
    """
    try:
        nodes: Object = yield Send(verbs.list_(NODES, limit=_MOST))
        pods: Object = yield Send(verbs.list_(PODS, limit=_MOST, field_selector=_LIVE))
    except (errors.Forbidden, errors.NotFound):
        return None
    if any(section(found, "metadata").get("continue") for found in (nodes, pods)) or not entries(nodes, "items"):
        return None
    taken: dict[str, Amounts] = {}
    own: dict[str, dict[str, Amounts]] = {}
    for pod in entries(pods, "items"):
        spec, metadata = section(pod, "spec"), section(pod, "metadata")
        where, requests = str(spec.get("nodeName")), pod_requests(spec)
        taken[where] = added(taken.get(where, {}), requests)
        marks = section(metadata, "labels")
        if cluster and (metadata.get("namespace"), marks.get(labels.CLUSTER)) == (namespace, cluster):
            groups, group = own.setdefault(where, {}), str(marks.get(labels.GROUP))
            groups[group] = added(groups.get(group, {}), requests)
    return [
        _node(node, name, taken.get(name, {}), own.get(name, {}))
        for node in entries(nodes, "items")
        if not section(node, "spec").get("unschedulable")
        for name in (str(section(node, "metadata").get("name")),)
    ]


def _node(node: Object, name: str, taken: Amounts, own: dict[str, Amounts]) -> Node:
    free = amounts(section(section(node, "status"), "allocatable"))
    for resource, amount in taken.items():
        free[resource] = free.get(resource, quantity.ZERO) - amount
    taints = tuple(entries(section(node, "spec"), "taints"))
    return Node(free, name, section(section(node, "metadata"), "labels"), taints, own)
