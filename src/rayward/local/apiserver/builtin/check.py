"""Checks that many kinds share; each appends what is wrong to ``out``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, forbidden, invalid, not_supported, required
from rayward.kube.machinery.names import (
    check_dns1123_label,
    check_dns1123_subdomain,
    check_label_value,
    check_port_name,
    check_port_number,
    check_qualified_name,
)
from rayward.kube.machinery.objectmeta import check_labels
from rayward.local.apiserver.builtin.empty import NO_ITEMS

Errors = list[FieldError]

IMMUTABLE = "field is immutable"
NEGATIVE = "must be greater than or equal to 0"


def fits(messages: Callable[[str], list[str]], value: str, at: str, out: Errors) -> None:
    """One error per message against the value."""
    for message in messages(value):
        out.append(invalid(at, value, message))


def dns_label(value: str, at: str, out: Errors) -> None:
    fits(check_dns1123_label, value, at, out)


def dns_subdomain(value: str, at: str, out: Errors) -> None:
    fits(check_dns1123_subdomain, value, at, out)


def qualified_name(value: str, at: str, out: Errors) -> None:
    """A name with an optional domain before a slash."""
    fits(check_qualified_name, value, at, out)


def labels(values: Mapping[str, str] | None, at: str, out: Errors) -> None:
    """Labels, or a selector that is a plain map."""
    if values:
        out += check_labels(values, at)


def label_selector(selector: Mapping[str, Any] | None, at: str, out: Errors, *, any_value: bool = False) -> None:
    """Check a meta/v1 LabelSelector; mistakes go to ``out``."""
    if not selector:
        return
    labels(selector.get("matchLabels"), f"{at}.matchLabels", out)
    for index, expression in enumerate(selector.get("matchExpressions") or NO_ITEMS):
        selector_requirement(expression, f"{at}.matchExpressions[{index}]", out, any_value=any_value)


def selector_requirement(expression: Mapping[str, Any], at: str, out: Errors, *, any_value: bool = False) -> None:
    """One expression of a label selector."""
    operator = expression.get("operator") or ""
    values = expression.get("values") or NO_ITEMS
    if operator in ("In", "NotIn"):
        if not values:
            out.append(required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            out.append(forbidden(f"{at}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
    else:
        out.append(invalid(f"{at}.operator", operator, "not a valid selector operator"))
    qualified_name(expression.get("key") or "", f"{at}.key", out)
    if not any_value:
        for index, value in enumerate(values):
            fits(check_label_value, value, f"{at}.values[{index}]", out)


def port_number_or_name(value: int | str, at: str, out: Errors) -> None:
    """A port by number or by name."""
    for message in check_port_number(value) if isinstance(value, int) else check_port_name(value):
        out.append(invalid(at, value, message))


def not_negative(value: int, at: str, out: Errors) -> None:
    if value < 0:
        out.append(invalid(at, value, NEGATIVE))


def positive(value: int, at: str, out: Errors) -> None:
    if value <= 0:
        out.append(invalid(at, value, "must be greater than zero"))


def one_of(value: str, choices: Collection[str], at: str, out: Errors) -> None:
    """One of the choices, which are listed in their order."""
    if value not in choices:
        out.append(not_supported(at, value, list(choices)))


def one_of_required(value: str, choices: Collection[str], at: str, out: Errors) -> None:
    """One of the choices, and not empty."""
    if not value:
        out.append(required(at))
    elif value not in choices:
        out.append(not_supported(at, value, list(choices)))


def unchanged(new: Any, old: Any, at: str, out: Errors, shown: Any = None) -> None:
    """A field that may not change; ``shown`` is what the message shows of the new value."""
    if new != old:
        out.append(invalid(at, new if shown is None else shown, IMMUTABLE))


def annotation_at(key: str) -> str:
    """The path of an annotation."""
    return f"metadata.annotations[{key}]"
