"""What kube-apiserver fills in, refuses and shows of ResourceQuotas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, invalid, required
from rayward.kube.machinery.quantity import parse
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import IMMUTABLE, Errors
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.inner import shown
from rayward.local.apiserver.builtin.kind import age_of, behaviour, keep_spec, keep_status, meta_of, name_of
from rayward.local.apiserver.builtin.resources import check_quantity, check_quota_name, is_quota_name, round_list

Spec = Mapping[str, Any]

_POD_SCOPES = frozenset(
    {"Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"}
)
_SCOPES = _POD_SCOPES | {"BestEffort", "VolumeAttributesClass"}
_COMPUTE = frozenset({"cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"})
_ONLY_EXISTS = frozenset({"BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"})
_OPPOSITES = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})


def quota_behaviour() -> Behaviour:
    """The rules of ``v1/resourcequotas``."""
    return behaviour(
        "io.k8s.api.core.v1.ResourceQuota",
        "v1/resourcequotas",
        cells,
        default=default,
        prepare_create=prepare_create,
        prepare_update=keep_status,
        prepare_status=keep_spec,
        validate=validate,
        validate_update=validate_update,
        validate_status=validate_status,
        warnings=warnings,
        has_status=True,
        returns_deleted=True,
        kube_finalizers=True,
    )


def default(obj: Object) -> None:
    """Limits finer than thousandths are rounded up."""
    for part, fields in (("spec", ("hard",)), ("status", ("hard", "used"))):
        for field in fields:
            amounts = (obj.get(part) or NOTHING).get(field)
            if amounts:
                round_list(amounts)


def prepare_create(obj: Object) -> None:
    """A new quota has no status."""
    obj["status"] = {}


def _check_amounts(amounts: Spec | None, at: str, out: Errors) -> None:
    for name, value in (amounts or NOTHING).items():
        check_quota_name(name, f"{at}[{name}]", out)
        check_quantity(name, value, f"{at}[{name}]", out)


def validate(obj: Object) -> list[FieldError]:
    """A quota, new or changed."""
    out: Errors = []
    spec, status = obj.get("spec") or NOTHING, obj.get("status") or NOTHING
    _check_amounts(spec.get("hard"), "spec.hard", out)
    _check_scopes(spec, out)
    _check_selector(spec, out)
    _check_amounts(status.get("hard"), "status.hard", out)
    _check_amounts(status.get("used"), "status.used", out)
    return out


def _fits(scope: str, name: str) -> bool:
    if scope in _POD_SCOPES:
        return name == "pods" or name in _COMPUTE
    if scope == "BestEffort":
        return name == "pods"
    return scope != "VolumeAttributesClass" or name in ("persistentvolumeclaims", "requests.storage")


def _check_scopes(spec: Spec, out: Errors) -> None:
    scopes: Sequence[str] = spec.get("scopes") or NO_ITEMS
    for scope in scopes:
        if scope not in _SCOPES:
            out.append(invalid("spec.scopes", list(scopes), "unsupported scope"))
        for name in sorted(spec.get("hard") or NO_ITEMS):
            if is_quota_name(name) and not _fits(scope, name):
                out.append(invalid("spec.scopes", list(scopes), "unsupported scope applied to resource"))
    for pair in _OPPOSITES:
        if pair <= set(scopes):
            out.append(invalid("spec.scopes", list(scopes), "conflicting scopes"))


def _check_selector(spec: Spec, out: Errors) -> None:
    selector = spec.get("scopeSelector")
    if selector is None:
        return
    at, scopes = "spec.scopeSelector.matchExpressions", set[str]()
    for expression in selector.get("matchExpressions") or NO_ITEMS:
        scope, operator = expression.get("scopeName") or "", expression.get("operator") or ""
        values = expression.get("values") or NO_ITEMS
        scopes.add(scope)
        if scope not in _SCOPES:
            out.append(invalid(f"{at}.scopeName", scope, "unsupported scope"))
        for name in sorted(spec.get("hard") or NO_ITEMS):
            if is_quota_name(name) and not _fits(scope, name):
                out.append(shown("ScopeSelector", selector, at, "unsupported scope applied to resource"))
        if scope in _ONLY_EXISTS and operator != "Exists":
            text = (
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
                "ResourceQuotaScopeCrossNamespacePodAffinity"
            )
            out.append(invalid(f"{at}.operator", operator, text))
        if operator in ("In", "NotIn"):
            if not values:
                text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                out.append(required(f"{at}.values", text))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                out.append(invalid(f"{at}.values", values, text))
        else:
            out.append(invalid(f"{at}.operator", operator, "not a valid selector operator"))
    for pair in _OPPOSITES:
        if pair <= scopes:
            out.append(invalid(at, spec.get("scopes"), "conflicting scopes"))


def validate_update(new: Object, old: Object) -> list[FieldError]:
    """A changed quota keeps its scopes."""
    spec, before = new.get("spec") or NOTHING, old.get("spec") or NOTHING
    out = validate({"spec": spec})
    if set(spec.get("scopes") or NO_ITEMS) != set(before.get("scopes") or NO_ITEMS):
        out.append(invalid("spec.scopes", spec.get("scopes"), IMMUTABLE))
    return out


def validate_status(new: Object, _old: Object) -> list[FieldError]:
    """What a controller counts."""
    out: Errors = []
    if not meta_of(new).get("resourceVersion"):
        out.append(required("resourceVersion"))
    for field in ("hard", "used"):
        _check_amounts((new.get("status") or NOTHING).get(field), f"status.{field}", out)
    return out


def warnings(new: Object, old: Object | None) -> list[str]:
    """Requests beyond limits can never be used."""
    hard = (new.get("spec") or NOTHING).get("hard") or NOTHING
    found: list[str] = []
    for name in ("cpu", "memory", "storage", "ephemeral-storage") if old is None else ():
        request = f"requests.{name}"
        if request not in hard and name in ("cpu", "memory"):
            request = name
        limit = f"limits.{name}"
        if request in hard and limit in hard and parse(hard[request]) > parse(hard[limit]):
            text = f"ResourceQuota {request} ({hard[request]}) should be less than {limit} ({hard[limit]})"
            found.append(text)
    return found


def cells(obj: Object, now: float) -> list[Any]:
    """Name, Request, Limit, Age."""
    status = obj.get("status") or NOTHING
    hard, used = status.get("hard") or NOTHING, status.get("used") or NOTHING
    lines = {name: f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard)}
    return [
        name_of(obj),
        ", ".join(text for name, text in lines.items() if not name.startswith("limits.")),
        ", ".join(text for name, text in lines.items() if name.startswith("limits.")),
        age_of(obj, now),
    ]
