"""Whose operator acts on an object, by what only that one leaves behind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from rayward.changes.refs import Ref
from rayward.changes.steps import Operation, Send
from rayward.kinds import labels
from rayward.kinds.effects import Rules
from rayward.kinds.resources import RAY_CLUSTERS
from rayward.kube.client import errors, verbs
from rayward.kube.client.request import Request
from rayward.kube.core.resource import LEASES, PODS
from rayward.kube.machinery.jsonvalue import Object, entries, section

_OURS: Final = frozenset({"Accepted", "Reconciling", "Stalled"})
"""Conditions that KubeRay's operator sets on none of its kinds."""
_LEASES: Final = {"rayward-operator": Rules.RAYWARD, "ray-operator-leader": Rules.KUBERAY_1_7}


@dataclass(frozen=True, slots=True)
class Operator:
    """Whose rules count, and whether that was found out or is assumed."""

    rules: Rules = Rules.RAYWARD
    known: bool = True


def rules_of(version: str) -> Rules:
    """Whose operator a mark of ``ray.io/kuberay-version`` names; Rayward where there is none."""
    plain = version.removeprefix("v")
    if plain in ("", "rayward"):
        return Rules.RAYWARD
    return Rules.KUBERAY_1_6 if plain.startswith("1.6") else Rules.KUBERAY_1_7


def mark_of(obj: Object) -> str:
    """The version of the operator that made a pod or a RayCluster; empty where it bears none."""
    annotations: Any = section(section(obj, "metadata"), "annotations")
    return str(annotations.get(labels.OPERATOR_VERSION) or "")


def find_operator(ref: Ref, live: Object | None, children: Iterable[Object]) -> Operation[Operator]:
    """Whose operator acts: by the mark on the object's children, its status, its neighbours, or a lease.

    Neighbours are the head pods and RayClusters of the namespace. Of a lease and of a status without a mark KubeRay's
    version cannot be told: the newer is assumed.
    """
    if marks := [mark for child in children if (mark := mark_of(child))]:
        return Operator(rules_of(marks[0]))
    if live is not None and _is_ours(live):
        return Operator()
    selector = f"{labels.NODE_TYPE}={labels.HEAD}"
    heads = yield from _list(verbs.list_(PODS, ref.namespace, label_selector=selector, limit=1))
    marks = [mark for head in heads if (mark := mark_of(head))]
    if marks:
        return Operator(rules_of(marks[0]))
    if live is not None and _has_conditions(live):
        return Operator(Rules.KUBERAY_1_7)
    clusters = yield from _list(verbs.list_(RAY_CLUSTERS, ref.namespace, limit=20))
    told = [cluster for cluster in clusters if _has_conditions(cluster)]
    if told:
        return Operator(Rules.RAYWARD if any(map(_is_ours, told)) else Rules.KUBERAY_1_7)
    for name, rules in _LEASES.items():
        held = yield from _list(verbs.list_(LEASES, field_selector=f"metadata.name={name}", limit=1))
        if any(section(lease, "spec").get("holderIdentity") for lease in held):
            return Operator(rules)
    return Operator(known=False)


def _is_ours(obj: Object) -> bool:
    return any(one.get("type") in _OURS for one in entries(section(obj, "status"), "conditions"))


def _has_conditions(obj: Object) -> bool:
    return bool(entries(section(obj, "status"), "conditions"))


def _list(request: Request) -> Operation[list[Object]]:
    try:
        found: Object = yield Send(request)
    except (errors.Forbidden, errors.NotFound):
        # who may not look has one sign less
        return []
    return entries(found, "items")
