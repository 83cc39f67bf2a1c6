"""What kube-apiserver fills in, refuses and shows of StatefulSets."""

from __future__ import annotations

from typing import Any

from rayward.kube.machinery.fielderror import FieldError, forbidden, invalid, required
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import Errors, not_negative
from rayward.local.apiserver.builtin.claim import strategy as claim
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import age_of, behaviour, containers_text, keep_spec, name_of
from rayward.local.apiserver.builtin.podspec.defaults import default_template, drop_disabled
from rayward.local.apiserver.builtin.workload.pods import (
    check_collisions,
    check_counts,
    check_pods,
    prepare_update,
    warnings,
)

_COUNTS = ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "observedGeneration")
_MAY_CHANGE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_RETENTION = ("Retain", "Delete")


def statefulset_behaviour() -> Behaviour:
    """The rules of ``apps/v1/statefulsets``."""
    return behaviour(
        "io.k8s.api.apps.v1.StatefulSet",
        "apps/v1/statefulsets",
        cells,
        default=default,
        prepare_create=prepare_create,
        prepare_update=prepare_update,
        prepare_status=keep_spec,
        validate=validate,
        validate_update=validate_update,
        validate_status=validate_status,
        warnings=warnings,
        has_status=True,
        counts_generation=True,
        kube_finalizers=True,
    )


def default(obj: Object) -> None:
    """Fill in a stateful set."""
    spec = obj["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec.setdefault("template", {}))
    for template in spec.get("volumeClaimTemplates") or NO_ITEMS:
        template.setdefault("kind", "PersistentVolumeClaim")
        template.setdefault("apiVersion", "v1")
        claim.default(template)


def prepare_create(obj: Object) -> None:
    """A new stateful set has no status."""
    obj["status"] = {"replicas": 0, "availableReplicas": 0}
    drop_disabled(obj["spec"]["template"]["spec"])


def validate(obj: Object) -> list[FieldError]:
    """A stateful set, new or changed."""
    out: Errors = []
    spec = obj["spec"]
    policy = spec.get("podManagementPolicy") or ""
    if not policy:
        out.append(required("spec.podManagementPolicy"))
    elif policy not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        out.append(invalid("spec.podManagementPolicy", policy, text))
    _check_strategy(spec.get("updateStrategy") or NOTHING, out)
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or NOTHING
    for field in ("whenDeleted", "whenScaled"):
        if retention and retention.get(field) not in _RETENTION:
            at = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            out.append(invalid(at, retention.get(field) or "", "must be 'Retain' or 'Delete'"))
    not_negative(spec.get("replicas") or 0, "spec.replicas", out)
    not_negative(spec.get("minReadySeconds") or 0, "spec.minReadySeconds", out)
    not_negative((spec.get("ordinals") or NOTHING).get("start") or 0, "spec.ordinals.start", out)
    check_pods(spec, "empty selector is invalid for statefulset", out, whole=False)
    return out


def _check_strategy(strategy: Object | Any, out: Errors) -> None:
    kind, rolling, at = strategy.get("type") or "", strategy.get("rollingUpdate"), "spec.updateStrategy"
    if not kind:
        out.append(required(at))
    elif kind == "OnDelete":
        if rolling is not None:
            text = "only allowed for updateStrategy 'RollingUpdate'"
            out.append(invalid(f"{at}.rollingUpdate", rolling, text))
    elif kind == "RollingUpdate":
        not_negative((rolling or NOTHING).get("partition") or 0, f"{at}.rollingUpdate.partition", out)
    else:
        out.append(invalid(at, strategy, "must be 'RollingUpdate' or 'OnDelete'"))


def validate_update(new: Object, old: Object) -> list[FieldError]:
    """Of a stateful set little can change."""
    out = validate(new)
    before, after = ({k: v for k, v in each["spec"].items() if k not in _MAY_CHANGE} for each in (old, new))
    if before != after:
        quoted = [f"'{name}'" for name in _MAY_CHANGE]
        allowed = f"{', '.join(quoted[:-1])} and {quoted[-1]}"
        out.append(forbidden("spec", f"updates to statefulset spec for fields other than {allowed} are forbidden"))
    return out


def validate_status(new: Object, old: Object) -> list[FieldError]:
    """What a controller reports."""
    out: Errors = []
    bounded = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    check_counts(new, _COUNTS, bounded=bounded, out=out, ready="status.readyReplicas")
    check_collisions(new, old, out)
    return out


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Ready, Age, Containers, Images."""
    spec, status = obj.get("spec") or NOTHING, obj.get("status") or NOTHING
    names, images = containers_text((spec.get("template") or NOTHING).get("spec") or NOTHING)
    ready = f"{status.get('readyReplicas') or 0}/{spec.get('replicas') or 0}"
    return [name_of(obj), ready, age_of(obj, now), names, images]
