"""Replicas that no Ray node has room for: told at once, where Ray itself says nothing for half a minute.

A replica that has no node yet may also wait for its runtime environment. It is called unschedulable only where no node
has what it asks for, with the resources of Serve's other replicas taken off; work beside Serve only makes it worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from rayward.operator.ray.answers import Deployment, Node, Serve

_ALIVE: Final = "ALIVE"
_TOLERANCE: Final = 1e-6


def is_waiting(serve: Serve, surged: frozenset[tuple[str, str]] = frozenset()) -> bool:
    """Whether a replica has no node, of a deployment that has nobody to answer or is ``surged``: nodes matter then."""
    return any(
        found.unplaced and (found.deserted or (app, name) in surged)
        for app, application in serve.applications.items()
        for name, found in application.deployments.items()
    )


def without_room(serve: Serve, nodes: Iterable[Node]) -> frozenset[tuple[str, str]]:
    """Application and name of each deployment, whether it answers or not, of which a replica finds no node."""
    free = _free(serve, nodes)
    return frozenset(
        (app, name)
        for app, application in serve.applications.items()
        for name, deployment in application.deployments.items()
        if deployment.unplaced and free and any(_lacking(demand, free.values()) for demand in deployment.demands)
    )


def unschedulable(serve: Serve, nodes: Iterable[Node]) -> dict[str, str]:
    """Why replicas of each application find no node, by the application's name; nothing of those that may."""
    free = _free(serve, nodes)
    found: dict[str, str] = {}
    for app, application in serve.applications.items():
        for name, deployment in application.deployments.items():
            if not (deployment.deserted and deployment.unplaced and free):
                continue
            lacking = next(filter(None, (_lacking(demand, free.values()) for demand in deployment.demands)), "")
            if lacking:
                found[app] = f"no Ray node has room for a replica of deployment {name}: {lacking}"
                break
    return found


def _lacking(demand: Mapping[str, float], free: Iterable[Mapping[str, float]]) -> str:
    """What no node has enough of; empty where one has all."""
    nodes = list(free)
    if any(all(node.get(name, 0.0) + _TOLERANCE >= amount for name, amount in demand.items()) for node in nodes):
        return ""
    parts: list[str] = []
    for name, amount in sorted(demand.items()):
        most = max(node.get(name, 0.0) for node in nodes)
        if most + _TOLERANCE < amount:
            parts.append(f"it needs {amount:g} {name} and at most {most:g} are free on one node")
    return "; ".join(parts) or f"no node has all of {', '.join(sorted(demand))} free at once"


def _free(serve: Serve, nodes: Iterable[Node]) -> dict[str, dict[str, float]]:
    free = {node.node_id: dict(node.resources_total) for node in nodes if node.state == _ALIVE}
    for application in serve.applications.values():
        for deployment in application.deployments.values():
            _take(free, deployment)
    return free


def _take(free: Mapping[str, dict[str, float]], deployment: Deployment) -> None:
    for replica in deployment.replicas:
        node = free.get(replica.node_id or "")
        if node is None or replica.state == "STOPPING":
            continue
        # Where the other bundles of its placement group are is not told.
        for name, amount in deployment.demands[0].items():
            node[name] = node.get(name, 0.0) - amount
