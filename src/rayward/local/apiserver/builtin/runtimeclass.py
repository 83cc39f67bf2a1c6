"""Runtime classes, and what a pod takes from the one it names: overhead, node selector, tolerations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, Verbatim, duplicate, required
from rayward.kube.machinery.quantity import parse
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import Errors, dns_label, labels, unchanged
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import age_of, behaviour, name_of
from rayward.local.apiserver.builtin.podspec.scheduling import check_tolerations
from rayward.local.apiserver.builtin.resources import check_requirements, round_list

Spec = Mapping[str, Any]

_KEYS = ("key", "operator", "value", "effect")


def runtimeclass_behaviour() -> Behaviour:
    """The rules of ``node.k8s.io/v1/runtimeclasses``."""
    return behaviour(
        "io.k8s.api.node.v1.RuntimeClass",
        "node.k8s.io/v1/runtimeclasses",
        cells,
        default=default,
        validate=validate,
        validate_update=validate_update,
        kube_finalizers=True,
    )


def default(obj: Object) -> None:
    """Overhead finer than thousandths is rounded up."""
    fixed = (obj.get("overhead") or NOTHING).get("podFixed")
    if fixed:
        round_list(fixed)


def validate(obj: Object) -> list[FieldError]:
    out: Errors = []
    handler = obj.get("handler") or ""
    if not handler:
        out.append(required("handler"))
    else:
        dns_label(handler, "handler", out)
    if obj.get("overhead") is not None:
        check_requirements({"limits": obj["overhead"].get("podFixed")}, (), "overhead", out)
    scheduling = obj.get("scheduling")
    if scheduling is not None:
        labels(scheduling.get("nodeSelector"), "scheduling.nodeSelector", out)
        _check_tolerations(scheduling.get("tolerations") or NO_ITEMS, "scheduling.tolerations", out)
    return out


def _check_tolerations(tolerations: Sequence[Spec], at: str, out: Errors) -> None:
    check_tolerations(tolerations, at, out)
    seen: set[tuple[str, ...]] = set()
    for index, toleration in enumerate(tolerations):
        key = tuple(toleration.get(field) or "" for field in _KEYS)
        if key in seen:
            told = {field[0].upper() + field[1:]: toleration.get(field) or "" for field in _KEYS}
            told["TolerationSeconds"] = toleration.get("tolerationSeconds")
            out.append(duplicate(f"{at}[{index}]", Verbatim(json.dumps(told, separators=(",", ":")))))
        seen.add(key)


def validate_update(new: Object, old: Object) -> list[FieldError]:
    """A class keeps its handler."""
    out: Errors = []
    unchanged(new.get("handler") or "", old.get("handler") or "", "handler", out)
    return out


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Handler, Age."""
    return [name_of(obj), obj.get("handler") or "", age_of(obj, now)]


def refusal(spec: Spec, runtime_class: Spec | None) -> str:
    """Why a pod does not fit the class it names; empty: it does."""
    fixed = ((runtime_class or NOTHING).get("overhead") or NOTHING).get("podFixed")
    overhead = spec.get("overhead")
    if (runtime_class or NOTHING).get("overhead") is None:
        return "Pod Overhead set without corresponding RuntimeClass defined Overhead" if overhead else ""
    same = {name: parse(value) for name, value in (overhead or NOTHING).items()} == {
        name: parse(value) for name, value in (fixed or NOTHING).items()
    }
    return "" if same else "Pod's Overhead doesn't match RuntimeClass's defined Overhead"


def complete(spec: Object, runtime_class: Spec) -> str:
    """Give a pod what its class says; returns why the two cannot go together, or nothing."""
    fixed = (runtime_class.get("overhead") or NOTHING).get("podFixed")
    if fixed:
        if spec.get("overhead") and (why := refusal(spec, runtime_class)):
            return f"pod rejected: {why}"
        spec["overhead"] = dict(fixed)
    scheduling = runtime_class.get("scheduling") or NOTHING
    selector = dict(spec.get("nodeSelector") or NOTHING)
    for key, value in (scheduling.get("nodeSelector") or NOTHING).items():
        if selector.get(key, value) != value:
            return (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}"
            )
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    if runtime_class.get("scheduling") is not None:
        merged = _merged([*(spec.get("tolerations") or NO_ITEMS), *(scheduling.get("tolerations") or NO_ITEMS)])
        if merged:
            spec["tolerations"] = merged
    return ""


def _merged(tolerations: list[Spec]) -> list[Spec]:
    """Tolerations without those that another one covers."""
    kept: list[Spec] = []
    for index, one in enumerate(tolerations):
        later = [other for other in tolerations[index + 1 :] if other != one]
        if not any(_covers(other, one) for other in (*kept, *later)):
            kept.append(one)
    return kept


def _covers(wide: Spec, narrow: Spec) -> bool:
    if wide == narrow:
        return True
    exists = wide.get("operator") == "Exists"
    if narrow.get("key") != wide.get("key") and (wide.get("key") or not exists):
        return False
    if narrow.get("effect") != wide.get("effect") and wide.get("effect"):
        return False
    if wide.get("effect") == "NoExecute" and wide.get("tolerationSeconds") is not None:
        # a limited stay covers only a shorter one
        seconds = narrow.get("tolerationSeconds")
        if seconds is None or seconds > wide["tolerationSeconds"]:
            return False
    if exists:
        return True
    return (wide.get("operator") or "Equal") == (narrow.get("operator") or "Equal") and wide.get("value") == narrow.get(
        "value"
    )
