"""Which nodes a pod prefers, and pod affinity and anti-affinity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.kube.machinery.nodefit import term_matches
from rayward.kube.machinery.selectors import labels as selectors
from rayward.local.node.scheduling.model import Candidate, Occupant


def node_preference(spec: Object, node: Candidate) -> int:
    """How much a pod prefers a node, by the weights of its preferred node affinity."""
    preferred = (section(section(spec, "affinity"), "nodeAffinity")).get(
        "preferredDuringSchedulingIgnoredDuringExecution"
    )
    return sum(
        choice["weight"] for choice in preferred or () if term_matches(choice["preference"], node.name, node.labels)
    )


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
