"""What kube-apiserver fills in, refuses and shows of PriorityClasses."""

from __future__ import annotations

from typing import Any

from rayward.kube.machinery.fielderror import FieldError, forbidden, invalid
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import IMMUTABLE, Errors
from rayward.local.apiserver.builtin.kind import age_of, behaviour, name_of
from rayward.local.apiserver.builtin.podspec.spec import check_preemption_policy

_HIGHEST = 1_000_000_000
SYSTEM_CLASSES = {
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    "system-cluster-critical": (
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
}


def priorityclass_behaviour() -> Behaviour:
    """The rules of ``scheduling.k8s.io/v1/priorityclasses``."""
    return behaviour(
        "io.k8s.api.scheduling.v1.PriorityClass",
        "scheduling.k8s.io/v1/priorityclasses",
        cells,
        default=lambda obj: obj.setdefault("preemptionPolicy", "PreemptLowerPriority"),
        prepare_create=lambda obj: obj["metadata"].update(generation=1),
        validate=validate,
        validate_update=validate_update,
        kube_finalizers=True,
    )


def validate(obj: Object) -> list[FieldError]:
    out: Errors = []
    name, value = name_of(obj), obj.get("value") or 0
    if name.startswith("system-"):
        problem = _system_problem(name, value, is_default=bool(obj.get("globalDefault")))
        if problem:
            text = "priority class names with 'system-' prefix are reserved for system use only. error: "
            out.append(forbidden("metadata.name", text + problem))
    elif value > _HIGHEST:
        out.append(forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST}"))
    check_preemption_policy(obj.get("preemptionPolicy"), "preemptionPolicy", out)
    return out


def _system_problem(name: str, value: int, *, is_default: bool) -> str:
    if name not in SYSTEM_CLASSES:
        return f"{name} is not a known system priority class"
    expected = SYSTEM_CLASSES[name][0]
    if value != expected:
        return f"value of {name} PriorityClass must be {expected}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


def validate_update(new: Object, old: Object) -> list[FieldError]:
    """A class keeps its value."""
    out: Errors = []
    if (new.get("value") or 0) != (old.get("value") or 0):
        out.append(forbidden("value", "may not be changed in an update."))
    policy = new.get("preemptionPolicy")
    if policy != old.get("preemptionPolicy"):
        out.append(invalid("preemptionPolicy", policy, IMMUTABLE))
    return out


def default_conflict(obj: Object, others: list[Object]) -> str:
    """Why a class may not be the default; empty if it may. ``others`` are all stored classes but itself."""
    if not obj.get("globalDefault"):
        return ""
    defaults = [other for other in others if other.get("globalDefault")]
    if not defaults:
        return ""
    name = name_of(min(defaults, key=lambda other: other.get("value") or 0))
    return f"PriorityClass {name} is already marked as default. Only one default can exist"


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Value, Global-Default, Age, PreemptionPolicy."""
    value, is_default = obj.get("value") or 0, bool(obj.get("globalDefault"))
    return [name_of(obj), value, is_default, age_of(obj, now), obj.get("preemptionPolicy") or ""]
