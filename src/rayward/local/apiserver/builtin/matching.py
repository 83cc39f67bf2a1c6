"""Whether a label selector in an object matches labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.names import check_label_value, check_qualified_name
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING


def matches(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """No selector matches nothing, an empty one everything."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or NOTHING).items()):
        return False
    return all(_meets(expression, labels) for expression in selector.get("matchExpressions") or NO_ITEMS)


def _meets(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, operator, values = (
        expression.get("key") or "",
        expression.get("operator"),
        expression.get("values") or NO_ITEMS,
    )
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return key not in labels or labels[key] not in values
    return (key in labels) == (operator == "Exists")


def is_sound(selector: Mapping[str, Any] | None) -> bool:
    """Whether keys and values have their form, and every expression a known operator with the values it needs."""
    for key, value in ((selector or NOTHING).get("matchLabels") or NOTHING).items():
        if check_qualified_name(key) or check_label_value(value):
            return False
    for expression in (selector or NOTHING).get("matchExpressions") or NO_ITEMS:
        operator, values = expression.get("operator"), expression.get("values") or NO_ITEMS
        if check_qualified_name(expression.get("key") or "") or any(map(check_label_value, values)):
            return False
        if operator in ("In", "NotIn"):
            if not values:
                return False
        elif operator not in ("Exists", "DoesNotExist") or values:
            return False
    return True
