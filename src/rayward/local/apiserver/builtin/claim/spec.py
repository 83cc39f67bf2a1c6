"""The wish of a volume claim, in a claim of its own or in a pod's template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import forbidden, invalid, not_supported, required
from rayward.kube.machinery.names import check_dns1123_label, check_dns1123_subdomain
from rayward.kube.machinery.objectmeta import check_annotations
from rayward.kube.machinery.quantity import parse
from rayward.local.apiserver.builtin.check import Errors, fits, label_selector, labels
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.resources import check_quantity

Spec = Mapping[str, Any]

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
_OTHER_META = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uID",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
    "managedFields",
)


def check_template(template: Spec, at: str, out: Errors) -> None:
    """The claim that is made for an ephemeral volume."""
    meta = template.get("metadata") or NOTHING
    out += check_annotations(meta.get("annotations"), f"{at}.metadata.annotations")
    labels(meta.get("labels"), f"{at}.metadata.labels", out)
    for field in _OTHER_META:
        if meta.get("uid" if field == "uID" else field):
            out.append(forbidden(f"{at}.metadata.{field}", "cannot be set"))
    check_claim_spec(template.get("spec") or NOTHING, f"{at}.spec", out)


def check_claim_spec(spec: Spec, at: str, out: Errors, *, any_group: bool = False) -> None:
    """What a claim asks for."""
    modes = spec.get("accessModes") or NO_ITEMS
    if not modes:
        out.append(required(f"{at}.accessModes", "at least 1 access mode is required"))
    label_selector(spec.get("selector"), f"{at}.selector", out)
    for mode in modes:
        if mode not in _ACCESS_MODES:
            out.append(not_supported(f"{at}.accessModes", mode, list(_ACCESS_MODES)))
    if "ReadWriteOncePod" in modes and any(m in _ACCESS_MODES and m != "ReadWriteOncePod" for m in modes):
        out.append(forbidden(f"{at}.accessModes", "may not use ReadWriteOncePod with other access modes"))
    _check_storage((spec.get("resources") or NOTHING).get("requests") or NOTHING, f"{at}.resources[storage]", out)
    if spec.get("storageClassName"):
        fits(check_dns1123_subdomain, spec["storageClassName"], f"{at}.storageClassName", out)
    volume_mode = spec.get("volumeMode")
    if volume_mode is not None and volume_mode not in _VOLUME_MODES:
        out.append(not_supported(f"{at}.volumeMode", volume_mode, list(_VOLUME_MODES)))
    _check_data_sources(spec, at, out, any_group=any_group)
    if spec.get("volumeAttributesClassName"):
        fits(check_dns1123_subdomain, spec["volumeAttributesClassName"], f"{at}.volumeAttributesClassName", out)


def _check_storage(requests: Spec, at: str, out: Errors) -> None:
    storage = requests.get("storage")
    if storage is None:
        out.append(required(at))
    elif parse(storage).unscaled <= 0:
        out.append(invalid(at, storage, "must be greater than zero"))
    else:
        check_quantity("storage", storage, at, out)


def _check_data_sources(spec: Spec, at: str, out: Errors, *, any_group: bool) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    for field, value in (("dataSource", source), ("dataSourceRef", reference)):
        if value is None:
            continue
        here = f"{at}.{field}"
        kind, group = value.get("kind") or "", value.get("apiGroup") or ""
        if not value.get("name"):
            out.append(required(f"{here}.name"))
        if not kind:
            out.append(required(f"{here}.kind"))
        if not group and kind != "PersistentVolumeClaim":
            out.append(invalid(here, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"))
        if group and not any_group:
            fits(check_dns1123_subdomain, group, f"{here}.apiGroup", out)
        if field == "dataSourceRef" and value.get("namespace"):
            fits(check_dns1123_label, value["namespace"], f"{here}.namespace", out)
    if source is None or reference is None:
        return
    # The bad value is the path itself: that is what Kubernetes puts there, as an empty struct.
    if reference.get("namespace"):
        out.append(invalid(at, {}, "may not be specified when dataSourceRef.namespace is specified"))
    elif any(source.get(field) != reference.get(field) for field in ("apiGroup", "kind", "name")):
        out.append(invalid(at, {}, "must match dataSourceRef"))
