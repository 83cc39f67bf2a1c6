"""A ledger as a tree for people and programs: cohorts, queues, who holds and who waits."""

from __future__ import annotations

from rayward.kinds import labels
from rayward.kube.machinery.jsonvalue import Object
from rayward.quota.engine.amounts import text_of
from rayward.quota.engine.item import Item
from rayward.quota.engine.tree import Node
from rayward.quota.ledger import Ledger


def report(ledger: Ledger) -> list[Object]:
    """The roots, by name; queues without a cohort are roots too."""
    forest = ledger.engine.forest
    nodes = [*forest.cohorts.values(), *forest.queues.values()]
    roots = [node for node in nodes if node.parent is None or _is_own_ancestor(node)]
    return [_node(ledger, node, ()) for node in sorted(roots, key=_order)]


def _is_own_ancestor(node: Node) -> bool:
    seen: set[str] = set()
    above = node.parent
    while above is not None and above.name not in seen:
        seen.add(above.name)
        above = above.parent
    return not node.is_queue and node.name in seen


def _node(ledger: Ledger, node: Node, above: tuple[str, ...]) -> Object:
    if node.is_queue:
        return _queue(ledger, node)
    if node.name in above:
        return {"kind": "Cohort", "name": node.name, "children": [], "why": "The cohort is its own ancestor"}
    children = [_node(ledger, child, (*above, node.name)) for child in sorted(node.children.values(), key=_order)]
    return {"kind": "Cohort", "name": node.name, "children": children}


def _queue(ledger: Ledger, node: Node) -> Object:
    state = ledger.engine.inventory.state(node.name)
    quotas: list[Object] = []
    for fr, quota in sorted(node.quotas.items()):
        flavor, resource = fr
        quotas.append(
            {
                "flavor": flavor,
                "resource": resource,
                "nominal": text_of(resource, quota.nominal),
                "potential": text_of(resource, node.potential(fr)),
                "used": text_of(resource, node.usage.get(fr, 0)),
            }
        )
    waiting = ledger.engine.pending[node.name].ordered()
    return {
        "kind": "ClusterQueue",
        "name": node.name,
        "active": state.active,
        "why": "" if state.active else state.message,
        "quota": quotas,
        "holding": [_holder(ledger, owner, item) for owner, item in ledger.holders(node.name)],
        "waiting": [_waiter(ledger, item, at) for at, item in enumerate(waiting, 1)],
    }


def _holder(ledger: Ledger, owner: str, item: Item) -> Object:
    total: dict[str, int] = {}
    for (_, resource), amount in item.usage.items():
        total[resource] = total.get(resource, 0) + amount
    resources = {name: text_of(name, amount) for name, amount in sorted(total.items())}
    return {**_about(ledger, owner, item), "resources": resources, "evicted": item.evicted}


def _waiter(ledger: Ledger, item: Item, position: int) -> Object:
    workload = ledger.workloads[item.key]
    verdict = ledger.verdict(workload)
    about = _about(ledger, ledger.owner(item.key), item)
    return {**about, "position": position, "need": dict(verdict.need), "why": verdict.message}


def _about(ledger: Ledger, owner: str, item: Item) -> Object:
    workload = ledger.workloads.get(item.key)
    role = workload.metadata.label(labels.ROLE) if workload is not None else ""
    return {"owner": owner, "workload": item.key, "localQueue": item.queue, "priority": item.priority, "role": role}


def _order(node: Node) -> tuple[bool, str]:
    return (node.is_queue, node.name)
