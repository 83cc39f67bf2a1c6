"""What kube-apiserver fills in, refuses and shows of Leases."""

from __future__ import annotations

from typing import Any

from rayward.kube.machinery.fielderror import FieldError, invalid
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import NEGATIVE, Errors
from rayward.local.apiserver.builtin.empty import NOTHING
from rayward.local.apiserver.builtin.kind import age_of, behaviour, name_of


def lease_behaviour() -> Behaviour:
    """The rules of ``coordination.k8s.io/v1/leases``."""
    return behaviour(
        "io.k8s.api.coordination.v1.Lease",
        "coordination.k8s.io/v1/leases",
        cells,
        prepare_create=_drop_disabled,
        prepare_update=lambda new, _old: _drop_disabled(new),
        validate=validate,
        validate_update=lambda new, _old: validate(new),
        create_on_update=True,
        needs_resource_version=True,
    )


def _drop_disabled(obj: Object) -> None:
    """Coordinated elections are off unless asked for."""
    for field in ("strategy", "preferredHolder"):
        if "spec" in obj:
            obj["spec"].pop(field, None)


def validate(obj: Object) -> list[FieldError]:
    """A lease, new or changed."""
    out: Errors = []
    spec = obj.get("spec") or NOTHING
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        out.append(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        out.append(invalid("spec.leaseTransitions", transitions, NEGATIVE))
    return out


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Holder, Age."""
    return [name_of(obj), (obj.get("spec") or NOTHING).get("holderIdentity") or "", age_of(obj, now)]
