"""What makes a schema structural: types outside of logic, nothing but conditions inside it."""

from __future__ import annotations

from typing import Any, Final

from rayward.kube.machinery import fielderror
from rayward.kube.machinery.cel.regex import PatternError, compile_pattern
from rayward.kube.machinery.fielderror import FieldError
from rayward.kube.machinery.schema.node import Raw

_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_EMPTY_TYPE: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_UNSUPPORTED: Final = {
    "id": "id",
    "$schema": "schema",
    "$ref": "$ref",
    "patternProperties": "patternProperties",
    "dependencies": "dependencies",
    "additionalItems": "additionalItems",
    "definitions": "definitions",
}
# Keywords that a nested condition must not have, with what they must be instead.
_FORBIDDEN_IN_LOGIC: Final = {
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    "x-kubernetes-validations": "must be empty to be structural",
}
_IGNORED_IN_METADATA: Final = frozenset({"type", "default"})


def unsupported(schema: Raw) -> str:
    """The first keyword anywhere that no structural schema can hold; nothing when there is none."""
    for keyword, shown in _UNSUPPORTED.items():
        value = schema.get(keyword)
        if value if keyword != "additionalItems" else value is not None:
            return f"OpenAPIV3Schema '{shown}' is not supported"
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    if schema.get("items").__class__ is list:
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    return next((found for child in _below(schema) if (found := unsupported(child))), "")


def _below(schema: Raw) -> list[Raw]:
    children: list[Raw] = [*(schema.get("properties") or {}).values()]
    children += [
        schema[keyword] for keyword in ("items", "additionalProperties", "not") if schema.get(keyword).__class__ is dict
    ]
    for keyword in ("allOf", "anyOf", "oneOf"):
        children += schema.get(keyword) or ()
    return children


def check(schema: Raw, path: str) -> list[FieldError]:
    """Every breach of the rules of structural schemas, sorted by text."""
    errors: list[FieldError] = []
    _check(schema, "root", path, errors)
    _check_complete(schema, schema, path, path, errors)
    return sorted(errors, key=str)


def _check(schema: Raw, level: str, path: str, errors: list[FieldError]) -> None:
    kind = schema.get("type") or ""
    properties: dict[str, Raw] = schema.get("properties") or {}
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if kind == "array" and items is None:
        errors.append(fielderror.required(f"{path}.items", "must be specified"))
    if items is not None:
        _check(items, "item", f"{path}.items", errors)
    for name, child in properties.items():
        _check(child, "field", f"{path}.properties[{name}]", errors)
    if additional is not None:
        if level == "root":
            errors.append(fielderror.forbidden(f"{path}.additionalProperties", "must not be used at the root"))
        if additional.__class__ is dict:
            _check(additional, "field", f"{path}.additionalProperties", errors)
    _check_extensions(schema, path, errors)
    _check_conditions(schema, path, errors, outer=True)
    _check_type(schema, kind, level, path, errors)
    _check_identity(schema, properties, level, path, errors)


def _check_extensions(schema: Raw, path: str, errors: list[FieldError]) -> None:
    if schema.get("x-kubernetes-int-or-string") is not True:
        return
    text = "must be false if x-kubernetes-int-or-string is true"
    errors += [
        fielderror.invalid(f"{path}.{keyword}", True, text)
        for keyword in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")
        if schema.get(keyword) is True
    ]


def _check_type(schema: Raw, kind: str, level: str, path: str, errors: list[FieldError]) -> None:
    embedded = schema.get("x-kubernetes-embedded-resource") is True
    where = f"{path}.type"
    if embedded and kind != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        errors.append(fielderror.invalid(where, kind, text) if kind else fielderror.required(where, text))
    elif (
        not kind
        and schema.get("x-kubernetes-int-or-string") is not True
        and schema.get("x-kubernetes-preserve-unknown-fields") is not True
    ):
        errors.append(fielderror.required(where, _EMPTY_TYPE[level]))
    if embedded and schema.get("additionalProperties") is not None:
        text = "must not be used if x-kubernetes-embedded-resource is set"
        errors.append(fielderror.forbidden(f"{path}.additionalProperties", text))
    if level == "root" and kind and kind != "object":
        errors.append(fielderror.invalid(where, kind, "must be object at the root"))


def _check_identity(schema: Raw, properties: dict[str, Raw], level: str, path: str, errors: list[FieldError]) -> None:
    embedded = schema.get("x-kubernetes-embedded-resource") is True
    checked = level == "root" or embedded
    errors += [
        fielderror.invalid(f"{path}.properties[{name}].type", kind, "must be string")
        for name in ("kind", "apiVersion")
        if checked and name in properties and (kind := properties[name].get("type") or "") != "string"
    ]
    metadata = properties.get("metadata")
    if metadata is not None:
        where = f"{path}.properties[metadata]"
        if checked and (kind := metadata.get("type") or "") != "object":
            errors.append(fielderror.invalid(f"{where}.type", kind, "must be object"))
        if level == "root" and not _only_names(metadata):
            text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            errors.append(fielderror.forbidden(where, text))
    if embedded and schema.get("x-kubernetes-preserve-unknown-fields") is not True and not properties:
        text = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        errors.append(fielderror.required(f"{path}.properties", text))


def _only_names(metadata: Raw) -> bool:
    if (metadata.get("properties") or {}).keys() - {"name", "generateName"}:
        return False
    others = metadata.keys() - _IGNORED_IN_METADATA - {"properties"}
    return not any(_is_set(metadata[name]) for name in others)


def _is_set(value: Any) -> bool:
    return value is not None and value is not False and value != "" and value != [] and value != {}


def _check_conditions(schema: Raw, path: str, errors: list[FieldError], *, outer: bool) -> None:
    """The logic of a schema; an int-or-string may say ``integer`` or ``string`` in the two customary places."""
    any_of: list[Raw] = schema.get("anyOf") or []
    if not (outer and any_of == _INT_OR_STRING):
        for place, part in enumerate(any_of):
            _check_nested(part, f"{path}.anyOf[{place}]", errors)
    all_of: list[Raw] = schema.get("allOf") or []
    for place, part in enumerate(all_of):
        customary = outer and place == 0 and (part.get("anyOf") or []) == _INT_OR_STRING
        _check_nested(part, f"{path}.allOf[{place}]", errors, customary=customary)
    for place, part in enumerate(schema.get("oneOf") or []):
        _check_nested(part, f"{path}.oneOf[{place}]", errors)
    if schema.get("not") is not None:
        _check_nested(schema["not"], f"{path}.not", errors)
    if pattern := schema.get("pattern"):
        try:
            compile_pattern(pattern)
        except PatternError as error:
            text = f"must be a valid regular expression, but isn't: {error}"
            errors.append(fielderror.invalid(f"{path}.pattern", pattern, text))


def _check_nested(schema: Raw, path: str, errors: list[FieldError], *, customary: bool = False) -> None:
    _check_conditions({**schema, "anyOf": None} if customary else schema, path, errors, outer=False)
    if schema.get("items") is not None:
        _check_nested(schema["items"], f"{path}.items", errors)
    properties: dict[str, Raw] = schema.get("properties") or {}
    for name, child in properties.items():
        _check_nested(child, f"{path}.properties[{name}]", errors)
    if schema.get("type"):
        errors.append(fielderror.forbidden(f"{path}.type", "must be empty to be structural"))
    if schema.get("additionalProperties") not in (None, False):
        errors.append(fielderror.forbidden(f"{path}.additionalProperties", "must be undefined to be structural"))
    for keyword, text in _FORBIDDEN_IN_LOGIC.items():
        value = schema.get(keyword)
        if value is not None if keyword == "default" else _is_set(value):
            errors.append(fielderror.forbidden(f"{path}.{keyword}", text))
    if "metadata" in properties:
        text = "must not be specified in a nested context"
        errors.append(fielderror.forbidden(f"{path}.properties[metadata]", text))


def _check_complete(condition: Raw, schema: Raw | None, path: str, where: str, errors: list[FieldError]) -> None:
    """Conditions may only speak of what the structure declares."""
    nested: list[tuple[str, Raw]] = []
    if condition.get("not") is not None:
        nested.append((f"{where}.not", condition["not"]))
    for keyword in ("allOf", "anyOf", "oneOf"):
        nested += [(f"{where}.{keyword}[{place}]", part) for place, part in enumerate(condition.get(keyword) or [])]
    for at, part in nested:
        _check_part(part, schema, path, at, errors)


def _check_part(condition: Raw, schema: Raw | None, path: str, where: str, errors: list[FieldError]) -> None:
    if schema is None:
        errors.append(fielderror.required(path, f"because it is defined in {where}"))
        return
    _check_complete(condition, schema, path, where, errors)
    if condition.get("items") is not None:
        _check_part(condition["items"], schema.get("items"), f"{path}.items", f"{where}.items", errors)
    declared: dict[str, Raw] = schema.get("properties") or {}
    mentioned: dict[str, Raw] = condition.get("properties") or {}
    for name, child in mentioned.items():
        at, inner = f"{where}.properties[{name}]", f"{path}.properties[{name}]"
        _check_part(child, declared.get(name), inner, at, errors)
