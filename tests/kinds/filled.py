"""Templates as an API server prints them."""

from __future__ import annotations

from typing import Any

from rayward.local.apiserver.builtin.podspec.defaults import default_template

Object = dict[str, Any]


def filled_in(template: Object) -> Object:
    """A template with all that a server fills in; amounts are text, as a server decodes them."""
    found = with_text_amounts(template)
    default_template(found)
    return found


def with_text_amounts(value: Any, field: str = "") -> Any:
    """A copy in which every amount is text."""
    if isinstance(value, list):
        return [with_text_amounts(item, field) for item in value]
    if not isinstance(value, dict):
        return str(value) if field in ("sizeLimit", "divisor") else value
    amounts = field in ("limits", "requests", "overhead")
    return {name: str(part) if amounts else with_text_amounts(part, name) for name, part in value.items()}
