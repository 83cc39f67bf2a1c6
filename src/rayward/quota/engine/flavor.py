"""Whether pods may use a flavor: its taints tolerated, its labels wanted.

Only the flavor's own label keys count: a selector for anything else is for the scheduler of pods to judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rayward.kinds.kueue.setup import ResourceFlavor, Taint
from rayward.kube.machinery.jsonvalue import Object, entries, section

_KEEPING_OUT: Final = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Expression:
    """A ``matchExpressions`` entry."""

    key: str
    operator: str
    values: tuple[str, ...]

    def matches(self, labels: Mapping[str, str]) -> bool:
        """As kube-scheduler judges a node."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return _compares(value, self.operator, self.values)
            case _:
                return False


@dataclass(frozen=True, slots=True)
class Placement:
    """What a pod template says about nodes."""

    node_selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[tuple[Expression, ...], ...] = ()
    """Required node affinity: one of them has to hold; empty is no such affinity."""
    tolerations: tuple[tuple[str, str, str, str], ...] = ()
    """Key, operator, value, effect."""


def placement_of(spec: Object) -> Placement:
    """What a pod spec says about nodes."""
    required = section(
        section(section(spec, "affinity"), "nodeAffinity"), "requiredDuringSchedulingIgnoredDuringExecution"
    )
    return Placement(
        tuple(sorted(section(spec, "nodeSelector").items())),
        tuple(
            tuple(
                Expression(one.get("key", ""), one.get("operator", ""), tuple(one.get("values") or ()))
                for one in entries(term, "matchExpressions")
            )
            for term in entries(required, "nodeSelectorTerms")
        ),
        tuple(
            (one.get("key") or "", one.get("operator") or "Equal", one.get("value") or "", one.get("effect") or "")
            for one in entries(spec, "tolerations")
        ),
    )


class Flavor:
    """A flavor that remembers its answers: workloads of one shape ask the same."""

    __slots__ = ("_answers", "_labels", "_taints", "_tolerations", "name", "topology")

    def __init__(self, flavor: ResourceFlavor) -> None:
        spec = flavor.spec
        self.name = flavor.metadata.name
        self.topology = spec.topology_name
        self._labels = spec.node_labels or {}
        self._taints = [taint for taint in spec.node_taints or () if taint.effect in _KEEPING_OUT]
        self._tolerations = tuple((one.key, one.operator, one.value, one.effect) for one in spec.tolerations or ())
        self._answers: dict[Placement, str] = {}

    def objection(self, placement: Placement) -> str:
        """Why pods cannot use the flavor; empty when they can."""
        answer = self._answers.get(placement)
        if answer is None:
            answer = self._answers[placement] = self._judge(placement)
        return answer

    def _judge(self, placement: Placement) -> str:
        tolerations = (*placement.tolerations, *self._tolerations)
        for taint in self._taints:
            if not any(_tolerates(toleration, taint) for toleration in tolerations):
                shown = f"{taint.key}={taint.value}" if taint.value else taint.key
                return f"untolerated taint {shown}:{taint.effect} in flavor {self.name}"
        if self._is_wanted(placement):
            return ""
        return f"flavor {self.name} doesn't match node affinity"

    def _is_wanted(self, placement: Placement) -> bool:
        if any(self._labels[key] != value for key, value in placement.node_selector if key in self._labels):
            return False
        terms = [[one for one in term if one.key in self._labels] for term in placement.terms]
        # a term that says nothing about this flavor matches it, and one matching term is enough
        return not all(terms) or not terms or any(_all_match(term, self._labels) for term in terms)


def _all_match(term: Sequence[Expression], labels: Mapping[str, str]) -> bool:
    return all(expression.matches(labels) for expression in term)


def _tolerates(toleration: tuple[str, str, str, str], taint: Taint) -> bool:
    key, operator, value, effect = toleration
    if effect not in ("", taint.effect) or key not in ("", taint.key):
        return False
    if operator == "Exists":
        return True
    if operator in ("Lt", "Gt"):
        return bool(key) and _compares(taint.value, operator, (value,))
    return bool(key) and value == taint.value


def _compares(value: str | None, operator: str, values: Sequence[str]) -> bool:
    try:
        left, right = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return left > right if operator == "Gt" else left < right
