"""Which nodes a pod's spec allows: node selector, required node affinity, and taints that it tolerates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from rayward.kube.machinery.jsonvalue import Object, entries, section

_KEEPS_OFF: Final = ("NoSchedule", "NoExecute")


def is_allowed(spec: Object, name: str, labels: Mapping[str, str]) -> bool:
    """Whether a pod's selector and required node affinity allow a node."""
    if any(labels.get(key) != value for key, value in section(spec, "nodeSelector").items()):
        return False
    required = (section(section(spec, "affinity"), "nodeAffinity")).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    return required is None or any(term_matches(term, name, labels) for term in entries(required, "nodeSelectorTerms"))


def term_matches(term: Object, name: str, labels: Mapping[str, str]) -> bool:
    """Whether a node selector term holds for a node; an empty one holds for none."""
    expressions, fields = entries(term, "matchExpressions"), entries(term, "matchFields")
    if not expressions and not fields:
        return False
    names = {"metadata.name": name}
    return all(_holds(one, labels) for one in expressions) and all(_holds(one, names) for one in fields)


def is_kept_off(spec: Object, taints: Iterable[Object]) -> bool:
    """Whether a taint keeps the pod off its node."""
    return any(taint["effect"] in _KEEPS_OFF and not is_tolerated(spec, taint) for taint in taints)


def is_tolerated(spec: Object, taint: Object) -> bool:
    """Whether a pod tolerates a taint."""
    return any(_tolerates(toleration, taint) for toleration in entries(spec, "tolerations"))


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


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if (toleration.get("operator") or "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")
