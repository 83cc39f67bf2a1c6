"""What kube-apiserver fills in, refuses and shows of Namespaces."""

from __future__ import annotations

from typing import Any

from rayward.kube.machinery.fielderror import FieldError, invalid
from rayward.kube.machinery.names import check_qualified_name, label_name
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import Errors, fits
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import age_of, behaviour, keep_spec, keep_status, meta_of, name_of

_NAME_LABEL = "kubernetes.io/metadata.name"
_STANDARD = ("kubernetes", "orphan", "foregroundDeletion")


def namespace_behaviour() -> Behaviour:
    """The rules of ``v1/namespaces``."""
    return behaviour(
        "io.k8s.api.core.v1.Namespace",
        "v1/namespaces",
        cells,
        default=default,
        prepare_create=prepare_create,
        prepare_update=prepare_update,
        prepare_status=keep_spec,
        validate=validate,
        validate_update=lambda new, _old: validate(new),
        validate_status=validate_status,
        check_name=label_name,
        fields=lambda obj: {"status.phase": (obj.get("status") or NOTHING).get("phase") or "", "name": name_of(obj)},
        selectable=frozenset({"status.phase", "name"}),
        has_status=True,
        returns_deleted=True,
        kube_finalizers=True,
    )


def default(obj: Object) -> None:
    """Fill in a namespace; one without a name yet gets its label later."""
    _label(obj)
    obj.setdefault("status", {}).setdefault("phase", "Active")


def _label(obj: Object) -> None:
    name = name_of(obj)
    if name:
        obj["metadata"].setdefault("labels", {})[_NAME_LABEL] = name


def prepare_create(obj: Object) -> None:
    """A new namespace is active and is emptied before it goes."""
    obj["status"] = {"phase": "Active"}
    _label(obj)
    finalizers = obj.setdefault("spec", {}).setdefault("finalizers", [])
    if "kubernetes" not in finalizers:
        finalizers.append("kubernetes")


def prepare_update(new: Object, old: Object) -> None:
    """Finalizers change only through the finalize endpoint, the status only through its own."""
    keep_status(new, old)
    finalizers = (old.get("spec") or NOTHING).get("finalizers")
    new["spec"] = {**(new.get("spec") or NOTHING), "finalizers": finalizers}
    if not finalizers:
        del new["spec"]["finalizers"]
    _label(new)


def prepare_finalize(new: Object, old: Object) -> None:
    """The finalize endpoint leaves the status alone."""
    keep_status(new, old)


def validate(obj: Object) -> list[FieldError]:
    """Finalizers of the specification."""
    out: Errors = []
    for name in (obj.get("spec") or NOTHING).get("finalizers") or NO_ITEMS:
        _check_finalizer(name, "spec.finalizers", out)
    return out


def validate_finalize(new: Object, _old: Object) -> list[FieldError]:
    """A change through the finalize endpoint."""
    out: Errors = []
    for index, name in enumerate((new.get("spec") or NOTHING).get("finalizers") or NO_ITEMS):
        _check_finalizer(name, f"spec.finalizers[{index}]", out)
    return out


def _check_finalizer(name: str, at: str, out: Errors) -> None:
    fits(check_qualified_name, name, at, out)
    if "/" not in name and name not in _STANDARD:
        out.append(invalid(at, name, "name is neither a standard finalizer name nor is it fully qualified"))


def validate_status(new: Object, _old: Object) -> list[FieldError]:
    """The phase follows the deletion."""
    phase = (new.get("status") or NOTHING).get("phase") or ""
    if meta_of(new).get("deletionTimestamp"):
        if phase != "Terminating":
            text = "may only be 'Terminating' if `deletionTimestamp` is not empty"
            return [invalid("status.Phase", phase, text)]
    elif phase != "Active":
        return [invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")]
    return []


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Status, Age."""
    return [name_of(obj), (obj.get("status") or NOTHING).get("phase") or "", age_of(obj, now)]
