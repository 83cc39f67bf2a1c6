"""What kube-apiserver fills in, refuses and shows of ReplicaSets."""

from __future__ import annotations

from typing import Any

from rayward.kube.machinery.fielderror import FieldError
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import Errors, not_negative
from rayward.local.apiserver.builtin.empty import NOTHING
from rayward.local.apiserver.builtin.kind import (
    age_of,
    behaviour,
    containers_text,
    keep_spec,
    name_of,
    requirements_text,
)
from rayward.local.apiserver.builtin.podspec.defaults import default_template, drop_disabled
from rayward.local.apiserver.builtin.workload.pods import (
    check_counts,
    check_pods,
    prepare_update,
    selector_changes,
    warnings,
)

_COUNTS = (
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
    "terminatingReplicas",
)


def replicaset_behaviour() -> Behaviour:
    """The rules of ``apps/v1/replicasets``."""
    return behaviour(
        "io.k8s.api.apps.v1.ReplicaSet",
        "apps/v1/replicasets",
        cells,
        default=default,
        prepare_create=prepare_create,
        prepare_update=prepare_update,
        prepare_status=keep_spec,
        validate=validate,
        validate_update=validate_update,
        validate_status=validate_status,
        warnings=warnings,
        fields=lambda obj: {"status.replicas": str((obj.get("status") or NOTHING).get("replicas") or 0)},
        selectable=frozenset({"status.replicas"}),
        has_status=True,
        counts_generation=True,
        kube_finalizers=True,
    )


def default(obj: Object) -> None:
    """Fill in a replica set."""
    obj["spec"].setdefault("replicas", 1)
    default_template(obj["spec"].setdefault("template", {}))


def prepare_create(obj: Object) -> None:
    """A new replica set has no status."""
    obj["status"] = {"replicas": 0}
    drop_disabled(obj["spec"]["template"]["spec"])


def validate(obj: Object) -> list[FieldError]:
    """A replica set, new or changed."""
    out: Errors = []
    spec = obj["spec"]
    not_negative(spec.get("replicas") or 0, "spec.replicas", out)
    not_negative(spec.get("minReadySeconds") or 0, "spec.minReadySeconds", out)
    check_pods(spec, "empty selector is invalid for deployment", out)
    return out


def validate_update(new: Object, old: Object) -> list[FieldError]:
    """A changed replica set keeps its selector."""
    return validate(new) + selector_changes(new, old)


def validate_status(new: Object, _old: Object) -> list[FieldError]:
    """What a controller reports."""
    out: Errors = []
    check_counts(new, _COUNTS, bounded=("fullyLabeledReplicas", "readyReplicas", "availableReplicas"), out=out)
    return out


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Desired, Current, Ready, Age, Containers, Images, Selector."""
    spec, status = obj.get("spec") or NOTHING, obj.get("status") or NOTHING
    names, images = containers_text((spec.get("template") or NOTHING).get("spec") or NOTHING)
    return [
        name_of(obj),
        spec.get("replicas") or 0,
        status.get("replicas") or 0,
        status.get("readyReplicas") or 0,
        age_of(obj, now),
        names,
        images,
        requirements_text(spec.get("selector") or NOTHING),
    ]
