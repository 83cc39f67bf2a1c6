"""Words for writing a schema."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def text(description: str = "", **more: Any) -> Object:
    """A string."""
    return _node("string", description, more)


def integer(description: str = "", *, bits: int = 32, **more: Any) -> Object:
    """A whole number."""
    return _node("integer", description, {"format": f"int{bits}", **more})


def int_or_text() -> Object:
    """A whole number or a string."""
    return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}


def number(description: str = "", **more: Any) -> Object:
    """Any number."""
    return _node("number", description, more)


def boolean(description: str = "", **more: Any) -> Object:
    """True or false."""
    return _node("boolean", description, more)


def time(description: str = "", **more: Any) -> Object:
    """A moment, RFC 3339."""
    return _node("string", description, {"format": "date-time", **more})


def listing(items: Object, description: str = "", **more: Any) -> Object:
    """A list."""
    return _node("array", description, {"items": items, **more})


def mapping(values: Object, description: str = "", **more: Any) -> Object:
    """A map from free keys."""
    return _node("object", description, {"additionalProperties": values, **more})


def structure(
    properties: dict[str, Object],
    description: str = "",
    *,
    required: tuple[str, ...] = (),
    rules: tuple[Object, ...] = (),
    **more: Any,
) -> Object:
    """An object with named fields, and what must hold between them."""
    if required:
        more["required"] = sorted(required)
    return _node("object", description, {"properties": dict(sorted(properties.items())), **more, **with_rules(*rules)})


def with_rules(*rules: Object) -> Object:
    """The keyword for CEL rules; nothing without one."""
    return {"x-kubernetes-validations": list(rules)} if rules else {}


def rule(expression: str, message: str, *, at: str = "", reason: str = "FieldValueInvalid", **more: Any) -> Object:
    """What must hold; the message says what to write instead.

    Args:
        expression: CEL over ``self``.
        message: A fixed text: CEL's price of a computed one cannot be bounded.
        at: The field that is to blame, below the place of the rule.
        reason: What the refusal says of the field.
        more: Further keywords of a rule.
    """
    place = {"fieldPath": at} if at else {}
    return {"rule": expression, "message": message, **place, "reason": reason, **more}


def described(node: Object, description: str) -> Object:
    """The same with a description."""
    return {"description": description, **node}


def _node(kind: str, description: str, more: Object) -> Object:
    return {**({"description": description} if description else {}), "type": kind, **more}
