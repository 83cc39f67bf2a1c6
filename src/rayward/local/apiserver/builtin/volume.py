"""Persistent volumes and storage classes: stored and served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, not_supported, required
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import Errors, qualified_name
from rayward.local.apiserver.builtin.claim.strategy import CLASS_ANNOTATION
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import age_of, behaviour, keep_spec, keep_status, meta_of, name_of
from rayward.local.apiserver.builtin.podspec.defaults import SOURCES
from rayward.local.apiserver.builtin.resources import check_quantity, round_list

Spec = Mapping[str, Any]

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def volume_behaviour() -> Behaviour:
    """The rules of ``v1/persistentvolumes``."""
    return behaviour(
        "io.k8s.api.core.v1.PersistentVolume",
        "v1/persistentvolumes",
        volume_cells,
        default=default_volume,
        prepare_create=prepare_volume,
        prepare_update=keep_status,
        prepare_status=keep_spec,
        validate=validate_volume,
        validate_update=lambda new, _old: validate_volume(new),
        fields=lambda obj: {"name": name_of(obj)},
        selectable=frozenset({"name"}),
        has_status=True,
        returns_deleted=True,
        kube_finalizers=True,
    )


def default_volume(obj: Object) -> None:
    """Fill in a volume."""
    spec = obj.setdefault("spec", {})
    obj.setdefault("status", {}).setdefault("phase", "Pending")
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    for field in spec.keys() & SOURCES.keys():
        for name, value in SOURCES[field].items():
            spec[field].setdefault(name, value)
    if spec.get("capacity"):
        round_list(spec["capacity"])


def prepare_volume(obj: Object) -> None:
    """A new volume waits for a claim."""
    obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": meta_of(obj).get("creationTimestamp")}


def validate_volume(obj: Object) -> list[FieldError]:
    """A volume has room and a way to be used."""
    out: Errors = []
    spec = obj.get("spec") or NOTHING
    modes, capacity = spec.get("accessModes") or NO_ITEMS, spec.get("capacity") or NOTHING
    if not modes:
        out.append(required("spec.accessModes"))
    for mode in modes:
        if mode not in _MODES:
            out.append(not_supported("spec.accessModes", mode, sorted(_MODES)))
    if not capacity:
        out.append(required("spec.capacity"))
    if list(capacity) != ["storage"]:
        out.append(not_supported("spec.capacity", spec.get("capacity"), ["storage"]))
    for name, value in capacity.items():
        check_quantity(name, value, f"spec.capacity[{name}]", out)
    return out


def volume_cells(obj: Object, now: float) -> list[Any]:
    """The columns of a volume: what it holds, who uses it, how it came about."""
    spec, status, meta = obj.get("spec") or NOTHING, obj.get("status") or NOTHING, meta_of(obj)
    modes, claim = spec.get("accessModes") or NO_ITEMS, spec.get("claimRef")
    return [
        name_of(obj),
        (spec.get("capacity") or NOTHING).get("storage", "0"),
        ",".join(short for mode, short in _MODES.items() if mode in modes),
        spec.get("persistentVolumeReclaimPolicy") or "",
        "Terminating" if meta.get("deletionTimestamp") else status.get("phase") or "",
        f"{claim.get('namespace') or ''}/{claim.get('name') or ''}" if claim else "",
        (meta.get("annotations") or NOTHING).get(CLASS_ANNOTATION) or spec.get("storageClassName") or "",
        spec.get("volumeAttributesClassName", "<unset>"),
        status.get("reason") or "",
        age_of(obj, now),
        spec.get("volumeMode", "<unset>"),
    ]


def storageclass_behaviour() -> Behaviour:
    """The rules of ``storage.k8s.io/v1/storageclasses``."""
    return behaviour(
        "io.k8s.api.storage.v1.StorageClass",
        "storage.k8s.io/v1/storageclasses",
        class_cells,
        default=default_class,
        validate=validate_class,
        validate_update=lambda new, _old: validate_class(new),
        returns_deleted=True,
        kube_finalizers=True,
    )


def default_class(obj: Object) -> None:
    """Fill in a class."""
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def validate_class(obj: Object) -> list[FieldError]:
    """A class names who makes its volumes."""
    out: Errors = []
    name = obj.get("provisioner") or ""
    if not name:
        out.append(required("provisioner"))
    else:
        qualified_name(name.lower(), "provisioner", out)
    return out


def class_cells(obj: Object, now: float) -> list[Any]:
    """Name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age."""
    annotations = meta_of(obj).get("annotations") or NOTHING
    name = name_of(obj)
    if any(annotations.get(key) == "true" for key in _DEFAULT_CLASS):
        name = f"{name} (default)"
    return [
        name,
        obj.get("provisioner") or "",
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        bool(obj.get("allowVolumeExpansion")),
        age_of(obj, now),
    ]
