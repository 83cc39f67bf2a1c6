"""What Deployments, replica sets and stateful sets have in common: a selector, a template and counted pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, forbidden, invalid, not_supported, required
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.check import IMMUTABLE, Errors, label_selector, not_negative
from rayward.local.apiserver.builtin.empty import NOTHING
from rayward.local.apiserver.builtin.inner import shown
from rayward.local.apiserver.builtin.kind import keep_status
from rayward.local.apiserver.builtin.matching import is_sound, matches
from rayward.local.apiserver.builtin.podspec.defaults import drop_disabled
from rayward.local.apiserver.builtin.podspec.spec import check_template
from rayward.local.apiserver.builtin.podspec.warnings import spec_warnings

Spec = Mapping[str, Any]


def prepare_update(new: Object, old: Object) -> None:
    """A changed one keeps its status."""
    keep_status(new, old)
    drop_disabled(new["spec"]["template"]["spec"])


def check_pods(spec: Spec, empty: str, out: Errors, *, whole: bool = True) -> None:
    """Selector and template of anything that runs replicas; ``empty`` says what an empty selector is.

    ``whole`` is off where the pods are checked only when they are made: their volumes may be claims yet to come.
    """
    selector = spec.get("selector")
    if selector is None:
        out.append(required("spec.selector"))
    else:
        label_selector(selector, "spec.selector", out)
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            out.append(invalid("spec.selector", selector, empty))
    if is_sound(selector):
        _check_template(spec, out, whole=whole)
    else:
        out.append(shown("*LabelSelector", selector, "spec.selector", "invalid label selector"))


def _check_template(spec: Spec, out: Errors, *, whole: bool) -> None:
    template, selector, at = spec["template"], spec.get("selector"), "spec.template"
    labels = (template.get("metadata") or NOTHING).get("labels")
    if not matches(selector, labels or NOTHING) and not (selector is not None and not any(selector.values())):
        text = "`selector` does not match template `labels`"
        out.append(invalid(f"{at}.metadata.labels", labels, text))
    if whole:
        check_template(template, at, out)
    pod = template.get("spec") or NOTHING
    if pod.get("restartPolicy") != "Always":
        out.append(not_supported(f"{at}.spec.restartPolicy", pod.get("restartPolicy") or "", ["Always"]))
    if pod.get("activeDeadlineSeconds") is not None:
        text = "activeDeadlineSeconds in ReplicaSet is not Supported"
        out.append(forbidden(f"{at}.spec.activeDeadlineSeconds", text))


def selector_changes(new: Object, old: Object) -> list[FieldError]:
    """A selector stays as it was made."""
    selector = new["spec"].get("selector")
    if selector == old["spec"].get("selector"):
        return []
    return [shown("*LabelSelector", selector, "spec.selector", IMMUTABLE)]


def check_counts(
    obj: Object, counts: Sequence[str], *, bounded: Sequence[str], out: Errors, ready: str = "readyReplicas"
) -> None:
    """The counts of a status: none is negative, ``bounded`` are at most all, the available at most the ready.

    ``ready`` is what the refusal calls those: the kinds differ.
    """
    status = obj.get("status") or NOTHING
    for field in counts:
        not_negative(status.get(field) or 0, f"status.{field}", out)
    for field in bounded:
        if (status.get(field) or 0) > (status.get("replicas") or 0):
            out.append(invalid(f"status.{field}", status.get(field) or 0, "cannot be greater than status.replicas"))
    available = status.get("availableReplicas") or 0
    if available > (status.get("readyReplicas") or 0):
        out.append(invalid("status.availableReplicas", available, f"cannot be greater than {ready}"))


def check_collisions(new: Object, old: Object, out: Errors) -> None:
    """Names that collided are only counted up."""
    before, after = ((each.get("status") or NOTHING).get("collisionCount") for each in (old, new))
    if before is not None and (after or 0) < before:
        out.append(invalid("status.collisionCount", after or 0, "cannot be decremented"))


def warnings(new: Object, old: Object | None) -> list[str]:
    """Doubts about the pods it describes."""
    if old is not None and new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    template = new["spec"]["template"]
    return spec_warnings("spec.template", template.get("spec") or NOTHING, template.get("metadata") or NOTHING)
