"""What kube-apiserver fills in, refuses and shows of Pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.apply import set_of
from rayward.kube.machinery.fielderror import FieldError, forbidden
from rayward.kube.machinery.names import check_dns1123_label
from rayward.kube.machinery.qos import quality
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import Errors
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import STATUS, behaviour, keep_spec, meta_of, name_of
from rayward.local.apiserver.builtin.pod.change import check_change
from rayward.local.apiserver.builtin.pod.status import check_status, keep_observed_generations
from rayward.local.apiserver.builtin.pod.table import cells, row_conditions
from rayward.local.apiserver.builtin.podspec.apparmor import apply_annotations
from rayward.local.apiserver.builtin.podspec.defaults import (
    default_pod_only,
    default_spec,
    drop_disabled,
    drop_init_annotations,
)
from rayward.local.apiserver.builtin.podspec.security import check_profiles_match
from rayward.local.apiserver.builtin.podspec.spec import check_pod
from rayward.local.apiserver.builtin.podspec.warnings import spec_warnings

_RESET_STATUS = set_of(("f:spec",), ("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences"))
_GATED: Mapping[str, Any] = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "lastTransitionTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
SELECTABLE = frozenset(
    {
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    }
)


def pod_behaviour() -> Behaviour:
    """The rules of ``v1/pods``."""
    return behaviour(
        "io.k8s.api.core.v1.Pod",
        "v1/pods",
        cells,
        default=default,
        prepare_create=prepare_create,
        prepare_update=prepare_update,
        prepare_status=prepare_status,
        validate=validate,
        validate_update=check_change,
        validate_status=check_status,
        warnings=warnings,
        fields=fields,
        selectable=SELECTABLE,
        reset=STATUS,
        reset_status=_RESET_STATUS,
        has_status=True,
        counts_generation=True,
        returns_deleted=True,
        kube_finalizers=True,
        grace=grace,
        row_conditions=row_conditions,
    )


def default(obj: Object) -> None:
    """Fill in a pod."""
    spec = obj["spec"]
    default_spec(spec)
    default_pod_only(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    drop_init_annotations(obj["metadata"])
    status = obj.get("status")
    if status:
        _settle_addresses(status)


def _settle_addresses(status: Object) -> None:
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and not address:
        status["podIP"] = addresses[0].get("ip") or ""


def prepare_create(obj: Object) -> None:
    """What a new pod starts with."""
    spec = obj["spec"]
    given = (obj.get("status") or NOTHING).get("qosClass")
    status: Object = {"phase": "Pending"}
    drop_disabled(spec)
    if spec.get("schedulingGates"):
        status["conditions"] = [{**_GATED, "lastTransitionTime": meta_of(obj).get("creationTimestamp")}]
    status["qosClass"] = given or quality(spec)
    obj["status"] = status
    _merge_label_keys(spec, meta_of(obj).get("labels") or NOTHING)
    apply_annotations(meta_of(obj).get("annotations") or NOTHING, spec)


def _merge_label_keys(spec: Object, labels: Mapping[str, str]) -> None:
    affinity = spec.get("affinity") or NOTHING
    for field in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(field) or NOTHING
        for weighted in pods.get("preferredDuringSchedulingIgnoredDuringExecution") or NO_ITEMS:
            _extend_selector(weighted["podAffinityTerm"], labels)
        for term in pods.get("requiredDuringSchedulingIgnoredDuringExecution") or NO_ITEMS:
            _extend_selector(term, labels)
    for constraint in spec.get("topologySpreadConstraints") or NO_ITEMS:
        _extend_selector(constraint, labels)


def _extend_selector(term: Object, labels: Mapping[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(field) or NO_ITEMS:
            if key in labels:
                expression = {"key": key, "operator": operator, "values": [labels[key]]}
                selector.setdefault("matchExpressions", []).append(expression)


def prepare_update(new: Object, old: Object) -> None:
    """A change of the pod leaves its status alone."""
    new["status"] = old.get("status") or NOTHING
    drop_disabled(new["spec"])


def prepare_status(new: Object, old: Object) -> None:
    """A change of the status leaves everything else alone."""
    keep_spec(new, old)
    metadata, before = new["metadata"], old["metadata"]
    for field in ("deletionTimestamp", "ownerReferences"):
        metadata.pop(field, None)
    if "ownerReferences" in before:
        metadata["ownerReferences"] = before["ownerReferences"]
    status, old_status = new.setdefault("status", {}), old.get("status") or NOTHING
    if not status.get("qosClass") and old_status.get("qosClass"):
        status["qosClass"] = old_status["qosClass"]
    keep_observed_generations(status, old_status)


def validate(obj: Object) -> list[FieldError]:
    out: Errors = []
    meta, spec = meta_of(obj), obj["spec"]
    check_pod(meta, spec, out)
    if spec.get("ephemeralContainers"):
        out.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        out.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    check_profiles_match(meta.get("annotations") or NOTHING, spec, "spec", out)
    return out


def warnings(new: Object, old: Object | None) -> list[str]:
    """Doubts about a new pod; changes are made by programs and get none."""
    if old is not None:
        return []
    found: list[str] = []
    messages = check_dns1123_label(name_of(new))
    if messages:
        found.append(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label "
            f"is recommended: [{' '.join(messages)}]"
        )
    return found + spec_warnings("", new["spec"], meta_of(new))


def fields(obj: Object) -> dict[str, str]:
    """What pods can be selected by."""
    spec, status = obj.get("spec") or NOTHING, obj.get("status") or NOTHING
    addresses = status.get("podIPs") or NO_ITEMS
    return {
        "spec.nodeName": spec.get("nodeName") or "",
        "spec.restartPolicy": spec.get("restartPolicy") or "",
        "spec.schedulerName": spec.get("schedulerName") or "",
        "spec.serviceAccountName": spec.get("serviceAccountName") or "",
        "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
        "status.phase": status.get("phase") or "",
        "status.podIP": (addresses[0].get("ip") or "") if addresses else "",
        "status.nominatedNodeName": status.get("nominatedNodeName") or "",
    }


def grace(obj: Object, asked: int | None) -> int:
    """Seconds that a deleted pod gets; none if it runs nowhere."""
    spec, status = obj.get("spec") or NOTHING, obj.get("status") or NOTHING
    seconds = asked if asked is not None else spec.get("terminationGracePeriodSeconds") or 0
    if not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
        return 0
    return 1 if seconds < 0 else seconds
