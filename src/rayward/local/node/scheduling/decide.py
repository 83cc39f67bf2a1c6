"""Where a pod goes, or why it cannot go anywhere, in kube-scheduler's words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from rayward.kube.machinery import nodefit
from rayward.kube.machinery.jsonvalue import Object
from rayward.kube.machinery.podrequests import ZERO
from rayward.kube.machinery.quantity import Quantity
from rayward.local.node.scheduling import affinity
from rayward.local.node.scheduling.model import Candidate, Occupant, host_ports

_NOT_READY: Final = "node(s) were not ready"
_UNSCHEDULABLE: Final = "node(s) were unschedulable"
_UNSCHEDULABLE_TAINT: Final = "node.kubernetes.io/unschedulable"
_FLAGS: Final = {"cpu": "--cpus", "memory": "--memory", "nvidia.com/gpu": "--gpus"}
_INSUFFICIENT: Final = "Insufficient "
_HOPELESS: Final = "Preemption is not helpful for scheduling"
_NO_VICTIMS: Final = "No preemption victims found for incoming pod"


class Placed(msgspec.Struct, frozen=True):
    """The node that takes a pod."""

    node: str


class Refused(msgspec.Struct, frozen=True):
    """No node takes a pod."""

    message: str
    node: str = ""
    """Where there is room once ``victims`` are gone."""
    victims: tuple[Occupant, ...] = ()
    shortage: str = ""
    """What the pod asks for and what is free, and how a node gets more. It changes with every other pod, so it is
    told once for a message."""


def place(pod: Object, nodes: Sequence[Candidate]) -> Placed | Refused:
    """The best node for a pod."""
    if not nodes:
        return Refused("no nodes available to schedule pods")
    incoming = Occupant.of(pod)
    spec = pod["spec"]
    reasons = {node.name: _obstacles(spec, incoming, node, nodes) for node in nodes}
    fitting = [node for node in nodes if not reasons[node.name]]
    if fitting:
        return Placed(max(fitting, key=_score(spec, incoming)).name)
    lines = Counter(reason for found in reasons.values() for reason in found)
    message = f"0/{len(nodes)} nodes are available: {_listed(lines)}."
    refused = _with_preemption(message, pod, incoming, nodes, reasons)
    short = {reason.removeprefix(_INSUFFICIENT) for reason in lines if reason.startswith(_INSUFFICIENT)}
    requests = {name: amount for name, amount in incoming.requests.items() if name in short}
    return msgspec.structs.replace(refused, shortage=_shortage(requests, nodes)) if requests else refused


def refuse_everywhere(reason: str, nodes: int) -> Refused:
    """No node can take a pod, for a reason that lies in the pod itself."""
    return Refused(
        f"0/{nodes} nodes are available: {reason}. preemption: 0/{nodes} nodes are available: {nodes} {_HOPELESS}."
    )


def _score(spec: Object, incoming: Occupant) -> Callable[[Candidate], tuple[float, ...]]:
    def score(node: Candidate) -> tuple[float, ...]:
        soft = sum(
            1
            for taint in node.taints
            if taint["effect"] == "PreferNoSchedule" and not nodefit.is_tolerated(spec, taint)
        )
        used = node.used()
        free = [
            1 - (used.get(name, ZERO) + incoming.requests.get(name, ZERO)).milli() / room.milli()
            for name in ("cpu", "memory")
            if (room := node.allocatable.get(name, ZERO)) > ZERO
        ]
        return (affinity.node_preference(spec, node), -soft, sum(free), -len(node.occupants))

    return score


def _obstacles(spec: Object, incoming: Occupant, node: Candidate, nodes: Sequence[Candidate]) -> list[str]:
    """What keeps the pod off a node: the first plugin of kube-scheduler that objects, in its order."""
    if not node.ready:
        return [_NOT_READY]
    if node.unschedulable and not nodefit.is_tolerated(spec, {"key": _UNSCHEDULABLE_TAINT, "effect": "NoSchedule"}):
        return [_UNSCHEDULABLE]
    if nodefit.is_kept_off(spec, node.taints):
        return ["node(s) had untolerated taint(s)"]
    if not nodefit.is_allowed(spec, node.name, node.labels):
        return ["node(s) didn't match Pod's node affinity/selector"]
    taken = {port for occupant in node.occupants for port in occupant.ports}
    if any(_clashes(port, taken) for port in host_ports(spec)):
        return ["node(s) didn't have free ports for the requested pod ports"]
    if missing := _missing(incoming.requests, node):
        return missing
    if not affinity.attracted(incoming, node, nodes):
        return ["node(s) didn't match pod affinity rules"]
    if affinity.repelled(incoming, node, nodes):
        return ["node(s) didn't match pod anti-affinity rules"]
    if affinity.repelled_by_others(incoming, node, nodes):
        return ["node(s) didn't satisfy existing pods anti-affinity rules"]
    return []


def _missing(requests: Mapping[str, Quantity], node: Candidate) -> list[str]:
    used = node.used()
    missing: list[str] = []
    if "pods" in node.allocatable and used["pods"] >= node.allocatable["pods"]:
        missing.append("Too many pods")
    for name, amount in requests.items():
        if amount > ZERO and used.get(name, ZERO) + amount > node.allocatable.get(name, ZERO):
            missing.append(f"{_INSUFFICIENT}{name}")
    return missing


def _shortage(requests: Mapping[str, Quantity], nodes: Sequence[Candidate]) -> str:
    """Of the resources that no node has enough of."""
    told: list[str] = []
    sizes = [(node.allocatable, node.used()) for node in nodes]
    for name, amount in requests.items():
        free, whole = max((has.get(name, ZERO) - used.get(name, ZERO), has.get(name, ZERO)) for has, used in sizes)
        if free < amount:
            flag = f" (rayward up {_FLAGS[name]} gives a node more)" if name in _FLAGS else ""
            told.append(f"The pod requests {amount} {name}; the most that a node has free is {free} of {whole}{flag}.")
    return " ".join(told)


def _clashes(port: tuple[str, str, int], taken: set[tuple[str, str, int]]) -> bool:
    address, protocol, number = port
    anywhere = "0.0.0.0"  # noqa: S104
    return any(
        number == other and protocol == kind and (anywhere in (address, where) or address == where)
        for where, kind, other in taken
    )


def _with_preemption(
    message: str, pod: Object, incoming: Occupant, nodes: Sequence[Candidate], reasons: Mapping[str, list[str]]
) -> Refused:
    outcomes: Counter[str] = Counter()
    best: tuple[tuple[int, int], Candidate, list[Occupant]] | None = None
    may_preempt = pod["spec"].get("preemptionPolicy") != "Never"
    for node in nodes:
        curable = all(reason.startswith((_INSUFFICIENT, "Too many")) for reason in reasons[node.name])
        victims = _victims(pod["spec"], incoming, node, nodes) if curable and may_preempt else None
        if victims is None:
            outcomes[_NO_VICTIMS if curable else _HOPELESS] += 1
            continue
        cost = (max(victim.priority for victim in victims), len(victims))
        if best is None or cost < best[0]:
            best = (cost, node, victims)
    if best is not None:
        return Refused(message, best[1].name, tuple(best[2]))
    if not may_preempt:
        return Refused(f"{message} preemption: not eligible due to preemptionPolicy=Never.")
    return Refused(f"{message} preemption: 0/{len(nodes)} nodes are available: {_listed(outcomes)}.")


def _victims(spec: Object, incoming: Occupant, node: Candidate, nodes: Sequence[Candidate]) -> list[Occupant] | None:
    """The least important pods whose end makes room; None if there are none such."""
    below = sorted((one for one in node.occupants if one.priority < incoming.priority), key=lambda one: -one.priority)
    if not below:
        return None
    kept = [one for one in node.occupants if one.priority >= incoming.priority]
    victims: list[Occupant] = []
    if _obstacles(spec, incoming, msgspec.structs.replace(node, occupants=tuple(kept)), nodes):
        return None
    # Spare the most important first, as long as the pod still fits.
    for one in below:
        spared = msgspec.structs.replace(node, occupants=(*kept, one))
        if _obstacles(spec, incoming, spared, nodes):
            victims.append(one)
        else:
            kept.append(one)
    return victims


def _listed(lines: Counter[str]) -> str:
    return ", ".join(sorted(f"{count} {reason}" for reason, count in lines.items()))
