"""The ``resize`` endpoint of pods: cpu and memory of a running pod, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, forbidden, invalid
from rayward.kube.machinery.qos import quality
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.check import Errors
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import keep_metadata, meta_of
from rayward.local.apiserver.builtin.podspec.annotations import MIRROR
from rayward.local.apiserver.builtin.podspec.spec import check_pod

Spec = Mapping[str, Any]

_RESIZED = ("cpu", "memory")


def prepare_resize(new: Object, old: Object) -> None:
    """Take resources and resize policies from the writer, everything else from the pod."""
    spec, before = new.get("spec") or NOTHING, old["spec"]
    fields = ("containers", "initContainers")
    if any(len(spec.get(f) or NO_ITEMS) != len(before.get(f) or NO_ITEMS) for f in fields):
        return
    kept: Object = dict(before)
    kept.pop("resources", None)
    if spec.get("resources") is not None:
        kept["resources"] = spec["resources"]
    for field in fields:
        if spec.get(field):
            kept[field] = _with_resources(spec[field], before[field])
    new["spec"] = kept
    new["status"] = old.get("status") or {}
    keep_metadata(new, old)


def _with_resources(now: Sequence[Spec], then: Sequence[Spec]) -> list[Any]:
    if any(new.get("name") != old.get("name") for new, old in zip(now, then, strict=True)):
        return list(now)
    merged: list[Any] = []
    for new, old in zip(now, then, strict=True):
        container: Object = {**old, "resources": new.get("resources") or {}}
        container.pop("resizePolicy", None)
        if new.get("resizePolicy"):
            container["resizePolicy"] = new["resizePolicy"]
        merged.append(container)
    return merged


def check_resize(new: Object, old: Object) -> list[FieldError]:
    """A change through the ``resize`` endpoint."""
    spec, before, status = new["spec"], old["spec"], old.get("status") or NOTHING
    if MIRROR in (meta_of(old).get("annotations") or NOTHING):
        return [forbidden("", "static pods cannot be resized")]
    if (before.get("os") or NOTHING).get("name") == "windows":
        return [forbidden("", "windows pods cannot be resized")]
    out: Errors = []
    check_pod(meta_of(new), spec, out)
    former = status.get("qosClass") or quality(before)
    if former != quality(spec):
        out.append(invalid("spec", former, "Pod QOS Class may not change as a result of resizing"))
    if not _node_resizes(status):
        out.append(forbidden("spec", "Pod running on node without support for resize"))
    rest: Object = dict(spec)
    _check_pod_level(rest, before, out)
    if not _check_order(spec, before, out):
        return out
    _check_containers(rest, before, out)
    if not out and rest != before:
        out.append(forbidden("spec", "only cpu and memory resources are mutable"))
    return out


def _node_resizes(status: Spec) -> bool:
    for container in status.get("containerStatuses") or NO_ITEMS:
        if (container.get("state") or NOTHING).get("running") is not None:
            return container.get("resources") is not None
    return True


def _check_order(spec: Spec, before: Spec, out: Errors) -> bool:
    count = len(out)
    for field in ("containers", "initContainers"):
        now, then = spec.get(field) or NO_ITEMS, before.get(field) or NO_ITEMS
        if len(now) != len(then):
            out.append(forbidden(f"spec.{field}", f"{field} may not be added or removed on resize"))
            continue
        for index, container in enumerate(then):
            if now[index].get("name") != container.get("name"):
                text = f"{field} may not be renamed or reordered on resize"
                out.append(forbidden(f"spec.{field}[{index}].name", text))
    return len(out) == count


def _removed(now: Spec, then: Spec, field: str) -> bool:
    return not (then.get(field) or NOTHING).keys() <= (now.get(field) or NOTHING).keys()


def _masked(now: Spec, then: Spec) -> Object:
    """Requirements with cpu and memory as they were."""
    result: Object = {}
    for field in ("limits", "requests"):
        old = then.get(field) or NOTHING
        amounts = {k: v for k, v in (now.get(field) or NOTHING).items() if k not in _RESIZED}
        amounts |= {name: old[name] for name in _RESIZED if name in old}
        if amounts:
            result[field] = amounts
    return result


def _check_pod_level(rest: Object, before: Spec, out: Errors) -> None:
    now, then = rest.get("resources"), before.get("resources")
    if not any((now or NOTHING).values()) and not any((then or NOTHING).values()):
        return
    if now is None:
        out.append(forbidden("spec.resources", "pod-level resources cannot be removed"))
        return
    for field in ("requests", "limits"):
        if then is not None and _removed(now, then, field):
            out.append(forbidden(f"spec.resources.{field}", f"pod-level resource {field} cannot be removed"))
    masked = _masked(now, then or NOTHING)
    if masked or then is not None:
        rest["resources"] = masked
    else:
        del rest["resources"]
    if rest.get("resources") != then:
        out.append(forbidden("spec", "only cpu and memory resources are mutable at pod-level"))


def _check_containers(rest: Object, before: Spec, out: Errors) -> None:
    for field in ("initContainers", "containers"):
        for index, (now, then) in enumerate(_pairs(rest, before, field)):
            for part in ("requests", "limits"):
                if _removed(now.get("resources") or NOTHING, then.get("resources") or NOTHING, part):
                    path = f"spec.{field}[{index}].resources.{part}"
                    out.append(forbidden(path, f"resource {part} cannot be removed"))
    for field in ("containers", "initContainers"):
        masked: list[Any] = []
        for index, (now, then) in enumerate(_pairs(rest, before, field)):
            same = {**now, "resources": _masked(now.get("resources") or NOTHING, then.get("resources") or NOTHING)}
            masked.append(same)
            if same != then and field == "containers":
                out.append(forbidden("spec", "only cpu and memory resources are mutable"))
            elif same != then:
                text = "only cpu and memory resources for init or sidecar containers are mutable"
                out.append(forbidden(f"spec.initContainers[{index}]", text))
        if masked:
            rest[field] = masked


def _pairs(rest: Spec, before: Spec, field: str) -> list[tuple[Spec, Spec]]:
    return list(zip(rest.get(field) or NO_ITEMS, before.get(field) or NO_ITEMS, strict=True))
