"""What may change in a pod that exists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, forbidden, invalid, required
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.check import Errors
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.formats import MAX_INT32, range_text
from rayward.local.apiserver.builtin.inner import difference, shown
from rayward.local.apiserver.builtin.kind import keep_metadata, meta_of
from rayward.local.apiserver.builtin.podspec.annotations import (
    MIRROR,
    check_annotation_changes,
    check_pod_annotations,
)
from rayward.local.apiserver.builtin.podspec.scheduling import check_tolerations
from rayward.local.apiserver.builtin.podspec.spec import check_pod

Spec = Mapping[str, Any]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_CHANGEABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
)


def check_change(new: Object, old: Object) -> list[FieldError]:
    """A change through the main endpoint."""
    out: Errors = []
    spec, before = new["spec"], old["spec"]
    if spec != before:
        check_pod(meta_of(new), spec, out)
    else:
        # The specification was checked when it was stored; annotations may have changed.
        check_pod_annotations(meta_of(new).get("annotations") or NOTHING, spec, "metadata.annotations", out)
    check_annotation_changes(new, old, out)
    if spec == before or not _check_containers(spec, before, out) or not _check_deadline(spec, before, out):
        return out
    _check_tolerations(spec, before, out)
    _check_gates(spec, before, out)
    rest = _with_changeable_from(spec, before)
    if before.get("schedulingGates"):
        _check_gated(rest, before, out)
    if rest != before:
        out.append(forbidden("spec", f"{_CHANGEABLE}{difference('PodSpec', before, rest)}"))
    return out


def _check_containers(spec: Spec, before: Spec, out: Errors) -> bool:
    for field in ("containers", "initContainers"):
        now, then = spec.get(field) or NO_ITEMS, before.get(field) or NO_ITEMS
        if len(now) != len(then):
            out.append(forbidden(f"spec.{field}", "pod updates may not add or remove containers"))
            return False
        for index, container in enumerate(now):
            image, here = container.get("image") or "", f"spec.{field}[{index}].image"
            if not image:
                out.append(required(here))
            if image.strip() != image:
                out.append(invalid(here, image, "must not have leading or trailing whitespace"))
    return True


def _check_deadline(spec: Spec, before: Spec, out: Errors) -> bool:
    at, now, then = "spec.activeDeadlineSeconds", spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if now is None:
        if then is not None:
            out.append(invalid(at, None, "must not update from a positive integer to nil value"))
        return True
    if not 0 <= now <= MAX_INT32:
        out.append(invalid(at, now, range_text(0, MAX_INT32)))
        return False
    if then is not None and then < now:
        out.append(invalid(at, now, "must be less than or equal to previous value"))
        return False
    return True


def _without_seconds(toleration: Spec) -> dict[str, Any]:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _check_tolerations(spec: Spec, before: Spec, out: Errors) -> None:
    now: Sequence[Spec] = spec.get("tolerations") or NO_ITEMS
    kept = [_without_seconds(toleration) for toleration in now]
    if any(_without_seconds(toleration) not in kept for toleration in before.get("tolerations") or NO_ITEMS):
        text = "existing toleration can not be modified except its tolerationSeconds"
        out.append(forbidden("spec.tolerations", text))
        return
    check_tolerations(now, "spec.tolerations", out)


def _check_gates(spec: Spec, before: Spec, out: Errors) -> None:
    known = {gate.get("name") for gate in before.get("schedulingGates") or NO_ITEMS}
    added = {gate.get("name"): i for i, gate in enumerate(spec.get("schedulingGates") or NO_ITEMS)}
    for name, index in added.items():
        if name not in known:
            text = f"only deletion is allowed, but found new scheduling gate '{name}'"
            out.append(forbidden(f"spec.schedulingGates[{index}].name", text))


def _with_changeable_from(spec: Spec, before: Spec) -> dict[str, Any]:
    rest = dict(spec)
    for field in ("containers", "initContainers"):
        if rest.get(field):
            rest[field] = [
                _same_image(container, then) for container, then in zip(rest[field], before[field], strict=True)
            ]
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _take(rest, before, field)
    seconds = before.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds < 0 and rest.get("terminationGracePeriodSeconds") == 1:
        rest["terminationGracePeriodSeconds"] = seconds
    return rest


def _same_image(container: Spec, then: Spec) -> dict[str, Any]:
    same = dict(container)
    _take(same, then, "image")
    return same


def _take(target: dict[str, Any], source: Spec, field: str) -> None:
    if field in source:
        target[field] = source[field]
    else:
        target.pop(field, None)


def _check_gated(rest: dict[str, Any], before: Spec, out: Errors) -> None:
    """A gated pod may still become choosier about its node."""
    now, then = rest.get("nodeSelector") or NOTHING, before.get("nodeSelector") or NOTHING
    if now != then:
        if any(now.get(key) != value for key, value in then.items()):
            text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            out.append(invalid("spec.nodeSelector", now or None, text))
        _take(rest, before, "nodeSelector")
    affinity, old_affinity = rest.get("affinity"), before.get("affinity")
    node, old_node = (affinity or NOTHING).get("nodeAffinity"), (old_affinity or NOTHING).get("nodeAffinity")
    if node == old_node:
        return
    _check_node_affinity(node or NOTHING, old_node or NOTHING, out)
    others = {key: value for key, value in (affinity or NOTHING).items() if key != "nodeAffinity"}
    if old_node is not None:
        others["nodeAffinity"] = old_node
    if others or old_affinity is not None:
        rest["affinity"] = others
    else:
        rest.pop("affinity", None)


def _check_node_affinity(node: Spec, old_node: Spec, out: Errors) -> None:
    at = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    then: Sequence[Spec] = (old_node.get(_REQUIRED) or NOTHING).get("nodeSelectorTerms") or NO_ITEMS
    now: Sequence[Spec] = (node.get(_REQUIRED) or NOTHING).get("nodeSelectorTerms") or NO_ITEMS
    if not then:
        return
    if len(now) != len(then):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        out.append(shown("[]NodeSelectorTerm", now, at, text))
        return
    for index, (term, old_term) in enumerate(zip(now, then, strict=True)):
        if not _only_adds(term, old_term):
            text = "only additions are allowed (no mutations or deletions)"
            out.append(shown("NodeSelectorTerm", term, f"{at}[{index}]", text))


def _only_adds(term: Spec, old_term: Spec) -> bool:
    lists = [(term.get(f) or NO_ITEMS, old_term.get(f) or NO_ITEMS) for f in ("matchExpressions", "matchFields")]
    if not any(then for _, then in lists):
        return not any(now for now, _ in lists)
    return all(now[: len(then)] == then for now, then in lists)


def prepare_ephemeral(new: Object, old: Object) -> None:
    """The ``ephemeralcontainers`` endpoint takes nothing but those."""
    added = (new.get("spec") or NOTHING).get("ephemeralContainers")
    new["spec"] = dict(old["spec"])
    new["spec"].pop("ephemeralContainers", None)
    if added:
        new["spec"]["ephemeralContainers"] = added
    new["status"] = old.get("status") or NOTHING
    keep_metadata(new, old)


def check_ephemeral(new: Object, old: Object) -> list[FieldError]:
    """A change through the ``ephemeralcontainers`` endpoint."""
    at = "spec.ephemeralContainers"
    if MIRROR in (meta_of(old).get("annotations") or NOTHING):
        return [forbidden("", "static pods do not support ephemeral containers")]
    out: Errors = []
    check_pod(meta_of(new), new["spec"], out)
    check_annotation_changes(new, old, out)
    named = {container.get("name"): container for container in new["spec"].get("ephemeralContainers") or NO_ITEMS}
    for then in old["spec"].get("ephemeralContainers") or NO_ITEMS:
        name = then.get("name")
        if name not in named:
            out.append(forbidden(at, f'existing ephemeral containers "{name}" may not be removed\n'))
        elif named[name] != then:
            changes = difference("EphemeralContainer", then, named[name])
            out.append(forbidden(at, f'existing ephemeral containers "{name}" may not be changed\n{changes}'))
    return out
