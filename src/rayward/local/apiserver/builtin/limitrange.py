"""Limit ranges: what one pod, container or claim of a namespace may ask for, and what it gets without asking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, duplicate, forbidden, invalid, required
from rayward.kube.machinery.names import check_qualified_name
from rayward.kube.machinery.quantity import Quantity, parse
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import Errors
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import behaviour, meta_of, name_of
from rayward.local.apiserver.builtin.resources import (
    can_be_overcommitted,
    check_container_name,
    check_name,
    round_list,
)

Spec = Mapping[str, Any]

_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_AMOUNTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_ONE = Quantity(1)


def limitrange_behaviour() -> Behaviour:
    """The rules of ``v1/limitranges``."""
    return behaviour(
        "io.k8s.api.core.v1.LimitRange",
        "v1/limitranges",
        cells,
        default=default,
        validate=validate,
        validate_update=lambda new, _old: validate(new),
        kube_finalizers=True,
    )


def default(obj: Object) -> None:
    """Of containers, the highest limit is also the usual one, and the usual limit is what is requested."""
    for limit in (obj.get("spec") or NOTHING).get("limits") or NO_ITEMS:
        for field in _AMOUNTS:
            if limit.get(field):
                round_list(limit[field])
        if limit.get("type") != "Container":
            continue
        usual = {**(limit.get("max") or NOTHING), **(limit.get("default") or NOTHING)}
        requested = {**(limit.get("min") or NOTHING), **usual, **(limit.get("defaultRequest") or NOTHING)}
        if usual:
            limit["default"] = usual
        if requested:
            limit["defaultRequest"] = requested


def validate(obj: Object) -> list[FieldError]:
    """A limit range, new or changed."""
    out: Errors = []
    seen: set[str] = set()
    for index, limit in enumerate((obj.get("spec") or NOTHING).get("limits") or NO_ITEMS):
        at, kind = f"spec.limits[{index}]", limit.get("type") or ""
        _check_type(kind, f"{at}.type", out)
        if kind in seen:
            out.append(duplicate(f"{at}.type", kind))
        seen.add(kind)
        _check_limit(limit, kind, at, out)
    return out


def _check_type(kind: str, at: str, out: Errors) -> None:
    problems = check_qualified_name(kind)
    out += [invalid(at, kind, problem) for problem in problems]
    if not problems and "/" not in kind and kind not in _TYPES:
        out.append(invalid(at, kind, "must be a standard limit type or fully qualified"))


def _check_limit(limit: Spec, kind: str, at: str, out: Errors) -> None:
    amounts = {
        field: {name: parse(value) for name, value in (limit.get(field) or NOTHING).items()} for field in _AMOUNTS
    }
    check = check_container_name if kind in ("Pod", "Container") else check_name
    for field in _AMOUNTS:
        if kind == "Pod" and field in ("default", "defaultRequest"):
            if amounts[field]:
                out.append(forbidden(f"{at}.{field}", "may not be specified when `type` is 'Pod'"))
                amounts[field] = {}
            continue
        if field == "maxLimitRequestRatio" and kind == "PersistentVolumeClaim":
            _check_claim(amounts, at, out)
        for name in amounts[field]:
            check(name, f"{at}.{field}[{name}]", out)
    for name in sorted({name for field in _AMOUNTS for name in amounts[field]}):
        _check_order(name, amounts, at, out)


def _check_claim(amounts: Mapping[str, Mapping[str, Quantity]], at: str, out: Errors) -> None:
    if "storage" not in amounts["min"] and "storage" not in amounts["max"]:
        text = "either minimum or maximum storage value is required, but neither was provided"
        out.append(required(f"{at}.limits", text))


def _check_order(name: str, amounts: Mapping[str, Mapping[str, Quantity]], at: str, out: Errors) -> None:
    least, most = amounts["min"].get(name), amounts["max"].get(name)
    usual, asked = amounts["default"].get(name), amounts["defaultRequest"].get(name)
    ratio = amounts["maxLimitRequestRatio"].get(name)

    def above(low: Quantity | None, high: Quantity | None, field: str, shown: Quantity | None, text: str) -> None:
        if low is not None and high is not None and low > high:
            out.append(invalid(f"{at}.{field}[{name}]", str(shown), text.format(low, high)))

    above(least, most, "min", least, "min value {} is greater than max value {}")
    above(least, asked, "defaultRequest", asked, "min value {} is greater than default request value {}")
    above(asked, most, "defaultRequest", asked, "default request value {} is greater than max value {}")
    above(asked, usual, "defaultRequest", asked, "default request value {} is greater than default limit value {}")
    above(least, usual, "default", least, "min value {} is greater than default value {}")
    above(usual, most, "default", most, "default value {} is greater than max value {}")
    if ratio is not None:
        _check_ratio(ratio, least, most, f"{at}.maxLimitRequestRatio[{name}]", out)
    if not can_be_overcommitted(name) and usual is not None and asked is not None and usual != asked:
        text = f"default value {usual} must equal to defaultRequest value {asked} in {name}"
        out.append(invalid(f"{at}.defaultRequest[{name}]", str(asked), text))


def _check_ratio(ratio: Quantity, least: Quantity | None, most: Quantity | None, at: str, out: Errors) -> None:
    if ratio < _ONE:
        out.append(invalid(at, str(ratio), f"ratio {ratio} is less than 1"))
    if least is not None and most is not None and not least.is_zero:
        highest = most.milli() / least.milli()
        if ratio.milli() / 1000 > highest:
            out.append(invalid(at, str(ratio), f"ratio {ratio} is greater than max/min = {highest:f}"))


def cells(obj: Object, _now: float) -> list[Any]:
    """Name, Created At."""
    return [name_of(obj), meta_of(obj).get("creationTimestamp")]
