"""What kube-apiserver fills in, refuses and shows of ControllerRevisions."""

from __future__ import annotations

from typing import Any

from rayward.kube.machinery.fielderror import FieldError, invalid, required
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import IMMUTABLE, Errors, not_negative
from rayward.local.apiserver.builtin.empty import NO_ITEMS
from rayward.local.apiserver.builtin.kind import age_of, behaviour, meta_of, name_of


def controllerrevision_behaviour() -> Behaviour:
    """The rules of ``apps/v1/controllerrevisions``."""
    return behaviour(
        "io.k8s.api.apps.v1.ControllerRevision",
        "apps/v1/controllerrevisions",
        cells,
        validate=validate,
        validate_update=validate_update,
        kube_finalizers=True,
    )


def validate(obj: Object) -> list[FieldError]:
    out: Errors = []
    not_negative(obj.get("revision") or 0, "revision", out)
    data = obj.get("data")
    if data is None:
        out.append(required("data", "data is mandatory"))
    elif not isinstance(data, dict):
        out.append(required("data", "data must be a valid JSON object"))
    return out


def validate_update(new: Object, old: Object) -> list[FieldError]:
    """A revision is written once."""
    out: Errors = []
    not_negative(new.get("revision") or 0, "revision", out)
    if new.get("data") != old.get("data"):
        out.append(invalid("data", new.get("data"), IMMUTABLE))
    return out


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Controller, Revision, Age."""
    owner = next((o for o in meta_of(obj).get("ownerReferences") or NO_ITEMS if o.get("controller")), None)
    text = "<none>"
    if owner is not None:
        group = (owner.get("apiVersion") or "").rpartition("/")[0]
        kind = f"{owner.get('kind') or ''}.{group}" if group else owner.get("kind") or ""
        text = f"{kind.lower()}/{owner.get('name') or ''}"
    return [name_of(obj), text, obj.get("revision") or 0, age_of(obj, now)]
