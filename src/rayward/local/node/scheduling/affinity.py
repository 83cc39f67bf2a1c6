"""Node selectors, node affinity, pod affinity and anti-affinity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.kube.machinery.selectors import labels as selectors
from rayward.local.node.scheduling.model import Candidate, Occupant


def node_matches(spec: Object, node: Candidate) -> bool:
    """Whether a pod's selector and required node affinity allow a node."""
    if any(node.labels.get(name) != value for name, value in section(spec, "nodeSelector").items()):
        return False
    required = (section(section(spec, "affinity"), "nodeAffinity")).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    return required is None or any(_term_matches(term, node) for term in entries(required, "nodeSelectorTerms"))


def node_preference(spec: Object, node: Candidate) -> int:
    """How much a pod prefers a node, by the weights of its preferred node affinity."""
    preferred = (section(section(spec, "affinity"), "nodeAffinity")).get(
        "preferredDuringSchedulingIgnoredDuringExecution"
    )
    return sum(choice["weight"] for choice in preferred or () if _term_matches(choice["preference"], node))


def _term_matches(term: Object, node: Candidate) -> bool:
    expressions, fields = entries(term, "matchExpressions"), entries(term, "matchFields")
    if not expressions and not fields:
        return False
    names = {"metadata.name": node.name}
    return all(_holds(one, node.labels) for one in expressions) and all(_holds(one, names) for one in fields)


def _holds(expression: Object, values: Mapping[str, str]) -> bool:
    key, operator, wanted = expression["key"], expression["operator"], entries(expression, "values")
    value = values.get(key)
    if operator == "In":
        return value in wanted
    if operator == "NotIn":
        return value not in wanted
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    try:
        number, bound = int(value or ""), int(wanted[0])
    except (ValueError, IndexError):
        return False
    return number > bound if operator == "Gt" else number < bound


def attracted(pod: Occupant, node: Candidate, nodes: Sequence[Candidate]) -> bool:
    """Whether a node is where the pods are that the pod's required affinity names."""
    for term in _terms(pod.affinity, "podAffinity"):
        places = [other for other in nodes if any(_selects(term, pod, found) for found in other.occupants)]
        if not places and _selects(term, pod, pod) and term["topologyKey"] in node.labels:
            # The first of a group that wants to be together has to begin somewhere.
            continue
        if not any(_same_place(term, node, other) for other in places):
            return False
    return True


def repelled(pod: Occupant, node: Candidate, nodes: Sequence[Candidate]) -> bool:
    """Whether a node is where pods are that the pod's required anti-affinity names."""
    return any(
        _same_place(term, node, other) and any(_selects(term, pod, found) for found in other.occupants)
        for term in _terms(pod.affinity, "podAntiAffinity")
        for other in nodes
    )


def repelled_by_others(pod: Occupant, node: Candidate, nodes: Sequence[Candidate]) -> bool:
    """Whether pods that are there refuse the company of this one."""
    return any(
        _same_place(term, node, other) and _selects(term, found, pod)
        for other in nodes
        for found in other.occupants
        for term in _terms(found.affinity, "podAntiAffinity")
    )


def _terms(affinity: Object, kind: str) -> Iterable[Object]:
    return entries(section(affinity, kind), "requiredDuringSchedulingIgnoredDuringExecution")


def _selects(term: Object, owner: Occupant, other: Occupant) -> bool:
    namespaces = term.get("namespaces") or ([] if term.get("namespaceSelector") is not None else [owner.namespace])
    everywhere = term.get("namespaceSelector") == {}
    if not everywhere and other.namespace not in namespaces:
        return False
    selector = term.get("labelSelector")
    return selector is not None and selectors.from_object(selector).matches(other.labels)


def _same_place(term: Object, one: Candidate, other: Candidate) -> bool:
    place = one.labels.get(term["topologyKey"])
    return place is not None and place == other.labels.get(term["topologyKey"])
