"""What kube-apiserver fills in, refuses and shows of PersistentVolumeClaims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, forbidden, invalid, not_supported, required
from rayward.kube.machinery.names import check_qualified_name
from rayward.kube.machinery.quantity import ZERO, parse
from rayward.kube.machinery.resourcenames import is_native
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import IMMUTABLE, Errors, annotation_at
from rayward.local.apiserver.builtin.claim.spec import check_claim_spec
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.inner import difference
from rayward.local.apiserver.builtin.kind import age_of, behaviour, keep_spec, keep_status, meta_of, name_of
from rayward.local.apiserver.builtin.podspec.warnings import claim_warnings
from rayward.local.apiserver.builtin.resources import check_quantity, round_list

Spec = Mapping[str, Any]

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_IN_USE = "kubernetes.io/pvc-protection"
_RESIZES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def claim_behaviour() -> Behaviour:
    """The rules of ``v1/persistentvolumeclaims``."""
    return behaviour(
        "io.k8s.api.core.v1.PersistentVolumeClaim",
        "v1/persistentvolumeclaims",
        cells,
        default=default,
        prepare_create=prepare_create,
        prepare_update=prepare_update,
        prepare_status=keep_spec,
        validate=validate,
        validate_update=validate_update,
        validate_status=validate_status,
        warnings=warnings,
        fields=lambda obj: {"name": name_of(obj)},
        selectable=frozenset({"name"}),
        has_status=True,
        returns_deleted=True,
        kube_finalizers=True,
    )


def default(obj: Object) -> None:
    """Fill in a claim."""
    obj.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    obj.setdefault("status", {}).setdefault("phase", "Pending")
    for holder in (obj["spec"].get("resources") or NOTHING, obj["status"]):
        for field in ("requests", "limits", "capacity", "allocatedResources"):
            if holder.get(field):
                round_list(holder[field])


def admit(obj: Object) -> None:
    """A new claim is kept until no pod uses it; a controller lifts the finalizer."""
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if _IN_USE not in finalizers:
        finalizers.append(_IN_USE)


def refuse_growth(new: Object, old: Object, *, class_grows: bool) -> str:
    """Why a claim may not ask for more room; empty if it may. ``class_grows``: its storage class allows it."""
    if _storage(new["spec"]) <= _storage(old["spec"]):
        return ""
    if (old.get("status") or NOTHING).get("phase") != "Bound":
        return "Only bound persistent volume claims can be expanded"
    if not class_grows or _class_of(new) != _class_of(old):
        return (
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support "
            "resize"
        )
    return ""


def _class_of(obj: Object) -> str:
    name = (meta_of(obj).get("annotations") or NOTHING).get(CLASS_ANNOTATION)
    return name if name is not None else obj["spec"].get("storageClassName") or ""


def prepare_create(obj: Object) -> None:
    """A new claim is pending."""
    obj["status"] = {"phase": "Pending"}
    _settle_sources(obj["spec"], {})


def prepare_update(new: Object, old: Object) -> None:
    """A changed claim keeps its status."""
    keep_status(new, old)
    _settle_sources(new["spec"], old.get("spec") or NOTHING)


def _settle_sources(spec: Object, before: Spec) -> None:
    """``dataSource`` and ``dataSourceRef`` say the same, whichever the writer set."""
    if (spec.get("dataSourceRef") or NOTHING).get("namespace") and before.get("dataSourceRef") is None:
        del spec["dataSourceRef"]
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    was_used = before.get("dataSource") is not None or before.get("dataSourceRef") is not None
    if source is not None and reference is None and not was_used:
        known = (("PersistentVolumeClaim", ""), ("VolumeSnapshot", "snapshot.storage.k8s.io"))
        if (source.get("kind") or "", source.get("apiGroup") or "") not in known:
            del spec["dataSource"]
            source = None
    fields = ("apiGroup", "kind", "name")
    if source is not None and reference is None:
        spec["dataSourceRef"] = {field: source[field] for field in fields if field in source}
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {field: reference[field] for field in fields if field in reference}


def validate(obj: Object) -> list[FieldError]:
    out: Errors = []
    check_claim_spec(obj["spec"], "spec", out)
    return out


def validate_update(new: Object, old: Object) -> list[FieldError]:
    """A changed claim: the wish stands, only a bound one may ask for more room."""
    spec, before = new["spec"], old["spec"]
    out: Errors = []
    any_group = any((before.get(f) or NOTHING).get("apiGroup") is not None for f in ("dataSource", "dataSourceRef"))
    check_claim_spec(spec, "spec", out, any_group=any_group)
    comparable = _comparable(new, old, out)
    if comparable != before:
        then = dict(before)
        if not before.get("volumeName") and spec.get("volumeName"):
            then["volumeName"] = spec["volumeName"]
        if comparable != then:
            text = (
                "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound "
                "claims\n"
            )
            out.append(forbidden("spec", text + difference("PersistentVolumeClaimSpec", then, comparable)))
    now, then_size = _storage(spec), _storage(before)
    if now < then_size and now <= parse(
        (((old.get("status") or NOTHING).get("capacity")) or NOTHING).get("storage", 0)
    ):
        out.append(forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"))
    if spec.get("volumeMode") != before.get("volumeMode"):
        out.append(invalid("volumeMode", spec.get("volumeMode"), IMMUTABLE))
    _check_class_change(spec, before, old, out)
    return out


def _storage(spec: Spec) -> Any:
    value = ((spec.get("resources") or NOTHING).get("requests") or NOTHING).get("storage")
    return ZERO if value is None else parse(value)


def _comparable(new: Object, old: Object, out: Errors) -> Object:
    """The new specification with what may change set back."""
    spec, before = dict(new["spec"]), old["spec"]
    annotations, then = meta_of(new).get("annotations") or NOTHING, meta_of(old).get("annotations") or NOTHING
    name, former = spec.get("storageClassName"), before.get("storageClassName")
    annotated = then.get(CLASS_ANNOTATION)
    kept = annotations.get(CLASS_ANNOTATION, annotated) == annotated
    if annotated is not None and former is None and name == annotated and kept:
        spec.pop("storageClassName", None)
    else:
        value = annotations.get(CLASS_ANNOTATION, "")
        if value != then.get(CLASS_ANNOTATION, ""):
            out.append(invalid(f"metadata.annotations.{CLASS_ANNOTATION}", value, IMMUTABLE))
        if name is not None and former is None and (annotated is None or name == annotated):
            spec.pop("storageClassName", None)
    if (new.get("status") or NOTHING).get("phase") == "Bound":
        requests = (spec.get("resources") or NOTHING).get("requests")
        if requests is not None:
            stored = ((before.get("resources") or NOTHING).get("requests") or NOTHING).get("storage", "0")
            spec["resources"] = {**spec["resources"], "requests": {**requests, "storage": stored}}
        if "volumeAttributesClassName" in before:
            spec["volumeAttributesClassName"] = before["volumeAttributesClassName"]
        else:
            spec.pop("volumeAttributesClassName", None)
    return spec


def _check_class_change(spec: Spec, before: Spec, old: Object, out: Errors) -> None:
    at, name = "spec.volumeAttributesClassName", spec.get("volumeAttributesClassName")
    current = (old.get("status") or NOTHING).get("currentVolumeAttributesClassName")
    if name == before.get("volumeAttributesClassName") or current is None or name:
        return
    what = "nil" if name is None else "empty string"
    text = f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
    out.append(forbidden(at, text))


def validate_status(new: Object, _old: Object) -> list[FieldError]:
    """What a volume controller reports."""
    out: Errors = []
    status = new.get("status") or NOTHING
    if not meta_of(new).get("resourceVersion"):
        out.append(required("resourceVersion"))
    if not new["spec"].get("accessModes"):
        out.append(required("Spec.accessModes"))
    for name, value in (status.get("capacity") or NOTHING).items():
        if parse(value).as_int() < 0:
            out.append(invalid(f"status.capacity[{name}]", parse(value).as_int(), "must be a valid resource quantity"))
    for name, state in (status.get("allocatedResourceStatuses") or NOTHING).items():
        _check_resource_key(name, "status.allocatedResourceStatuses", out)
        if state not in _RESIZES:
            out.append(not_supported("status.allocatedResourceStatuses", name, list(_RESIZES)))
    for name, value in (status.get("allocatedResources") or NOTHING).items():
        at = f"status.allocatedResources[{name}]"
        if not _check_resource_key(name, "status.allocatedResources", out):
            continue
        if parse(value).as_int() < 0:
            out.append(invalid(at, parse(value).as_int(), "must be a valid resource quantity"))
        else:
            check_quantity("storage", value, at, out)
    return out


def _check_resource_key(name: str, at: str, out: Errors) -> bool:
    messages = check_qualified_name(name)
    for message in messages:
        out.append(invalid(at, name, message))
    if not messages and is_native(name) and name != "storage":
        out.append(not_supported(at, name, ["storage"]))
        return False
    return not messages


def warnings(new: Object, _old: Object | None) -> list[str]:
    """Doubts about a claim."""
    found: list[str] = []
    if CLASS_ANNOTATION in (meta_of(new).get("annotations") or NOTHING):
        text = 'deprecated since v1.8; use "storageClassName" attribute instead'
        found.append(f"{annotation_at(CLASS_ANNOTATION)}: {text}")
    return found + list(claim_warnings(new["spec"], "spec"))


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Status, Volume, Capacity, Access Modes, StorageClass, VolumeAttributesClass, Age, VolumeMode."""
    spec, status, meta = obj.get("spec") or NOTHING, obj.get("status") or NOTHING, meta_of(obj)
    volume = spec.get("volumeName") or ""
    modes = status.get("accessModes") or NO_ITEMS
    return [
        name_of(obj),
        "Terminating" if meta.get("deletionTimestamp") else status.get("phase") or "",
        volume,
        (status.get("capacity") or NOTHING).get("storage", "0") if volume else "",
        ",".join(short for mode, short in _MODES.items() if mode in modes) if volume else "",
        _class_of(obj),
        spec.get("volumeAttributesClassName", "<unset>"),
        age_of(obj, now),
        spec.get("volumeMode", "<unset>"),
    ]
