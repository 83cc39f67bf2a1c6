"""Whether every keyword of a schema has the JSON type that it must have.

An API server decodes CRDs into typed objects first; this keeps a schema that did not pass through that from being
taken apart.
"""

from __future__ import annotations

from typing import Any, Final

MAX_DEPTH: Final = 100
"""Deepest nesting of schemas."""

_TEXT: Final = ("id", "$schema", "$ref", "description", "type", "format", "title", "pattern")
_TEXTS: Final = ("x-kubernetes-list-type", "x-kubernetes-map-type")
_NUMBERS: Final = ("maximum", "minimum", "multipleOf")
_COUNTS: Final = ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties")
_FLAGS: Final = (
    "nullable",
    "uniqueItems",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
)
_NAMES: Final = ("required", "x-kubernetes-list-map-keys")
_RULE_TEXT: Final = ("rule", "message", "messageExpression", "reason", "fieldPath")


def problem(schema: Any, depth: int = 0) -> str | None:
    """The first keyword of the wrong type, or None."""
    if schema.__class__ is not dict:
        return "a schema must be an object"
    if depth > MAX_DEPTH:
        return f"schemas must not be nested more than {MAX_DEPTH} deep"
    for name, value in schema.items():
        if value is None:
            continue
        found = _keyword(str(name), value, depth)
        if found is not None:
            return found
    return None


def _keyword(name: str, value: Any, depth: int) -> str | None:
    if name in _TEXT or name in _TEXTS:
        return None if isinstance(value, str) else f"{name} must be a string"
    if name in _NUMBERS:
        return None if isinstance(value, int | float) and not isinstance(value, bool) else f"{name} must be a number"
    if name in _COUNTS:
        return None if isinstance(value, int) and not isinstance(value, bool) else f"{name} must be an integer"
    if name in _FLAGS:
        return None if isinstance(value, bool) else f"{name} must be a boolean"
    if name in _NAMES:
        return None if _is_list_of(value, str) else f"{name} must be a list of strings"
    match name:
        case "properties" | "patternProperties" | "definitions":
            return _schemas(name, list(value.values()) if value.__class__ is dict else None, depth)
        case "allOf" | "anyOf" | "oneOf":
            return _schemas(name, value, depth)
        case "not":
            return problem(value, depth + 1)
        case "items":
            return _schemas(name, value, depth) if value.__class__ is list else problem(value, depth + 1)
        case "additionalProperties" | "additionalItems":
            return None if isinstance(value, bool) else problem(value, depth + 1)
        case "enum":
            return None if value.__class__ is list else "enum must be a list"
        case "x-kubernetes-validations":
            return _rules(value)
        case _:
            return None


def _is_list_of(value: Any, kind: type) -> bool:
    return value.__class__ is list and all(isinstance(item, kind) for item in value)


def _schemas(name: str, value: Any, depth: int) -> str | None:
    if value.__class__ is not list:
        return f"{name} must hold schemas"
    return next((found for item in value if (found := problem(item, depth + 1)) is not None), None)


def _rules(value: Any) -> str | None:
    if not _is_list_of(value, dict):
        return "x-kubernetes-validations must be a list of objects"
    for rule in value:
        for name in _RULE_TEXT:
            if rule.get(name) is not None and not isinstance(rule[name], str):
                return f"x-kubernetes-validations: {name} must be a string"
    return None
