"""What kube-apiserver fills in, refuses and shows of Deployments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.apply import set_of
from rayward.kube.machinery.digits import MAX_INT64, parse_digits
from rayward.kube.machinery.fielderror import FieldError, Reason, forbidden, invalid, not_supported, required
from rayward.kube.machinery.names import check_percent
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import Errors, not_negative
from rayward.local.apiserver.builtin.empty import NOTHING
from rayward.local.apiserver.builtin.inner import go_json, inner
from rayward.local.apiserver.builtin.kind import (
    age_of,
    behaviour,
    containers_text,
    keep_spec,
    meta_of,
    name_of,
    requirements_text,
)
from rayward.local.apiserver.builtin.podspec.defaults import default_template, drop_disabled
from rayward.local.apiserver.builtin.workload import pods
from rayward.local.apiserver.builtin.workload.pods import (
    check_collisions,
    check_counts,
    check_pods,
    selector_changes,
    warnings,
)

Spec = Mapping[str, Any]

_STRATEGIES = ["Recreate", "RollingUpdate"]
_COUNTS = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "terminatingReplicas",
    "collisionCount",
)


def deployment_behaviour() -> Behaviour:
    """The rules of ``apps/v1/deployments``."""
    return behaviour(
        "io.k8s.api.apps.v1.Deployment",
        "apps/v1/deployments",
        cells,
        default=default,
        prepare_create=prepare_create,
        prepare_update=prepare_update,
        prepare_status=prepare_status,
        validate=validate,
        validate_update=validate_update,
        validate_status=validate_status,
        warnings=warnings,
        reset_status=set_of(("f:spec",), ("f:metadata", "f:labels")),
        has_status=True,
        counts_generation=True,
        kube_finalizers=True,
    )


def default(obj: Object) -> None:
    """Fill in a deployment."""
    spec = obj["spec"]
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    default_template(spec["template"])


def prepare_create(obj: Object) -> None:
    """A new deployment has no status."""
    obj["status"] = {}
    drop_disabled(obj["spec"]["template"]["spec"])


def prepare_update(new: Object, old: Object) -> None:
    """A changed deployment keeps its status; new annotations make a new generation too."""
    pods.prepare_update(new, old)
    if (meta_of(new).get("annotations") or NOTHING) != (meta_of(old).get("annotations") or NOTHING):
        new["metadata"]["generation"] = (meta_of(old).get("generation") or 0) + 1


def prepare_status(new: Object, old: Object) -> None:
    """A changed status keeps the labels too."""
    keep_spec(new, old)
    if "labels" in old["metadata"]:
        new["metadata"]["labels"] = old["metadata"]["labels"]
    else:
        new["metadata"].pop("labels", None)


def validate(obj: Object) -> list[FieldError]:
    """A deployment, new or changed."""
    out: Errors = []
    spec = obj["spec"]
    not_negative(spec.get("replicas") or 0, "spec.replicas", out)
    check_pods(spec, "empty selector is invalid for deployment", out)
    _check_strategy(spec.get("strategy") or NOTHING, out)
    ready, deadline = spec.get("minReadySeconds") or 0, spec.get("progressDeadlineSeconds")
    not_negative(ready, "spec.minReadySeconds", out)
    not_negative(spec.get("revisionHistoryLimit") or 0, "spec.revisionHistoryLimit", out)
    if deadline is not None:
        not_negative(deadline, "spec.progressDeadlineSeconds", out)
        if deadline <= ready:
            out.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return out


def _check_strategy(strategy: Spec, out: Errors) -> None:
    at, kind, rolling = "spec.strategy", strategy.get("type") or "", strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            text = "may not be specified when strategy `type` is 'Recreate'"
            out.append(forbidden(f"{at}.rollingUpdate", text))
    elif kind == "RollingUpdate":
        if rolling is None:
            out.append(required(f"{at}.rollingUpdate", "this should be defaulted and never be nil"))
        else:
            _check_rolling(rolling, f"{at}.rollingUpdate", out)
    else:
        listed = not_supported("", "", _STRATEGIES).detail
        value = go_json(inner("DeploymentStrategy", strategy))
        out.append(FieldError(Reason.NOT_SUPPORTED, at, detail=f"{value}: {listed}"))


def _check_rolling(rolling: Spec, at: str, out: Errors) -> None:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    count_or_percent(unavailable, f"{at}.maxUnavailable", out)
    count_or_percent(surge, f"{at}.maxSurge", out)
    if _amount(unavailable) == 0 and _amount(surge) == 0:
        out.append(invalid(f"{at}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"))
    at_most_all(unavailable, f"{at}.maxUnavailable", out)


def count_or_percent(value: int | str, at: str, out: Errors) -> None:
    """A number of pods or a share of them."""
    if isinstance(value, int):
        not_negative(value, at, out)
    else:
        out += [invalid(at, value, message) for message in check_percent(value)]


def at_most_all(value: int | str, at: str, out: Errors) -> None:
    """A share is at most everything."""
    if isinstance(value, str) and not check_percent(value) and parse_digits(value[:-1], 100) is None:
        out.append(invalid(at, value, "must not be greater than 100%"))


def _amount(value: int | str) -> int:
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    number = parse_digits(digits)
    # Go's Atoi gives its largest number for one that is larger.
    return MAX_INT64 if number is None and digits.isascii() and digits.isdigit() else number or 0


def validate_update(new: Object, old: Object) -> list[FieldError]:
    """A changed deployment keeps its selector."""
    return validate(new) + selector_changes(new, old)


def validate_status(new: Object, old: Object) -> list[FieldError]:
    """What a controller reports."""
    out: Errors = []
    check_counts(new, _COUNTS, bounded=("updatedReplicas", "readyReplicas", "availableReplicas"), out=out)
    check_collisions(new, old, out)
    return out


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Ready, Up-to-date, Available, Age, Containers, Images, Selector."""
    spec, status = obj.get("spec") or NOTHING, obj.get("status") or NOTHING
    names, images = containers_text((spec.get("template") or NOTHING).get("spec") or NOTHING)
    return [
        name_of(obj),
        f"{status.get('readyReplicas') or 0}/{spec.get('replicas') or 0}",
        status.get("updatedReplicas") or 0,
        status.get("availableReplicas") or 0,
        age_of(obj, now),
        names,
        images,
        requirements_text(spec.get("selector") or NOTHING),
    ]
