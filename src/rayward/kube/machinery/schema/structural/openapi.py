"""The rules that hold for each level of a CRD's schema, logic included."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final

from rayward.kube.machinery import fielderror
from rayward.kube.machinery.fielderror import FieldError
from rayward.kube.machinery.schema import fieldpath
from rayward.kube.machinery.schema.node import META_FIELDS, Raw
from rayward.kube.machinery.schema.structural import expressions
from rayward.kube.machinery.schema.structural.budget import Budget, elements

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LINE_BREAK: Final = re.compile(r"[\n\r]")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


_NEEDS_KEYWORD_CHECK: Final = frozenset({*_UNSUPPORTED, "default", "x-kubernetes-embedded-resource"})
_EXTENSIONS: Final = frozenset(
    {
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-map-type",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
    }
)
_NESTING: Final = frozenset({"not", "allOf", "oneOf", "anyOf", "definitions"})


@dataclass(frozen=True, slots=True)
class _Place:
    """What the levels above decide for the schemas below them."""

    root: bool = False
    defaults: str | None = None
    in_meta: bool = False
    uncorrelated: str = ""


_ROOT: Final = _Place(root=True)
_ORDINARY: Final = _Place()


@dataclass(slots=True)
class _Walk:
    """Complaints about the schema, and about its rules where the schema is otherwise right."""

    budget: Budget | None
    schema: list[FieldError]
    rules: list[FieldError]

    def check(self, schema: Raw, path: str, at: _Place, times: int | None, *, logic: bool = False) -> None:
        """One level and all below it; ``times`` is how often its values can occur, ``logic`` that it is a condition."""
        before = len(self.schema)
        kind = schema.get("type")
        if kind not in _TYPES or not _NEEDS_KEYWORD_CHECK.isdisjoint(schema) or schema.get("items").__class__ is list:
            self.schema += _check_keywords(schema, path, at)
        if schema.get("uniqueItems") is True:
            text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
            self.schema.append(fielderror.forbidden(f"{path}.uniqueItems", text))
        factor = 1 if kind not in ("object", "array") else elements(schema)
        below = None if times is None or factor is None else times * factor
        self._check_additional(schema, path, at, below, logic)
        self._check_properties(schema, path, at, below, logic)
        if not _NESTING.isdisjoint(schema):
            self._check_logic(schema, path, at)
        self._check_items(schema, path, at, below, logic)
        if not _EXTENSIONS.isdisjoint(schema):
            self.schema += _check_extensions(schema, path)
            self.schema += _check_keyed_list(schema, path)
        if schema.get("x-kubernetes-validations"):
            self._check_rules(schema, path, at, times, sound=len(self.schema) == before, logic=logic)

    def _check_rules(self, schema: Raw, path: str, at: _Place, times: int | None, *, sound: bool, logic: bool) -> None:
        where = f"{path}.x-kubernetes-validations"
        before = len(self.schema)
        for place, rule in enumerate(schema["x-kubernetes-validations"]):
            self.schema += _check_rule(rule, schema, f"{where}[{place}]")
        if self.budget is not None and not logic and sound and len(self.schema) == before:
            root = at.root or schema.get("x-kubernetes-embedded-resource") is True
            scope = expressions.Scope(self.budget, times, resource_root=root)
            self.rules += expressions.check(schema, where, scope, at.uncorrelated)

    def _check_logic(self, schema: Raw, path: str, at: _Place) -> None:
        inner = replace(at, root=False) if at.root else at
        if schema.get("not") is not None:
            self.check(schema["not"], f"{path}.not", inner, None, logic=True)
        for keyword in ("allOf", "oneOf", "anyOf"):
            for place, part in enumerate(schema.get(keyword) or ()):
                self.check(part, f"{path}.{keyword}[{place}]", inner, None, logic=True)
        definitions: dict[str, Raw] = schema.get("definitions") or {}
        for name, part in definitions.items():
            self.check(part, f"{path}.definitions[{name}]", inner, None, logic=True)

    def _check_additional(self, schema: Raw, path: str, at: _Place, times: int | None, logic: bool) -> None:
        additional: Any = schema.get("additionalProperties")
        if additional is None:
            return
        where = f"{path}.additionalProperties"
        if schema.get("properties") and additional is not True:
            text = "additionalProperties and properties are mutual exclusive"
            self.schema.append(fielderror.forbidden(where, text))
        if additional.__class__ is dict:
            declared: Any = additional
            below = replace(at, root=False) if at.root else at
            if at.in_meta:
                below = replace(below, defaults="inside additionalProperties applying to object metadata")
            self.check(declared, where, below, times, logic=logic)

    def _check_properties(self, schema: Raw, path: str, at: _Place, times: int | None, logic: bool) -> None:
        properties = schema.get("properties")
        if not properties:
            return
        ordinary = _ORDINARY if at is _ROOT else at
        if schema.get("x-kubernetes-map-type") not in (None, "granular", "atomic"):
            ordinary = replace(ordinary, uncorrelated=ordinary.uncorrelated or path)
        identity = at.root or schema.get("x-kubernetes-embedded-resource") is True
        for name, child in properties.items():
            below = ordinary
            if identity and name in META_FIELDS:
                below = replace(below, in_meta=True)
                if at.root:
                    below = replace(below, defaults=f"in top-level {name}")
            self.check(child, f"{path}.properties[{name}]", below, times, logic=logic)

    def _check_items(self, schema: Raw, path: str, at: _Place, times: int | None, logic: bool) -> None:
        items = schema.get("items")
        if items is None:
            return
        below = at
        if schema.get("x-kubernetes-list-type") != "map" and not at.uncorrelated:
            below = replace(at, root=False, uncorrelated=path)
        if items.__class__ is dict:
            self.check(items, f"{path}.items", below, times, logic=logic)
        else:
            for place, item in enumerate(items):
                self.check(item, f"{path}.items[{place}]", below, times, logic=logic)


def check(schema: Raw, path: str, budget: Budget | None) -> list[FieldError]:
    """What is wrong with any level; rules are compiled only where a budget is given."""
    walk = _Walk(budget, [], [])
    walk.check(schema, path, _ROOT, 1)
    return walk.schema + walk.rules


def _check_keywords(schema: Raw, path: str, at: _Place) -> list[FieldError]:
    errors: list[FieldError] = []
    kind = schema.get("type") or ""
    if kind and kind not in _TYPES:
        errors.append(fielderror.not_supported(f"{path}.type", kind, list(_TYPES)))
    if schema.get("default") is not None and at.defaults is not None:
        errors.append(fielderror.forbidden(f"{path}.default", f"must not be set {at.defaults}"))
    for keyword in _UNSUPPORTED:
        value = schema.get(keyword)
        if value if keyword in ("id", "patternProperties", "definitions") else value is not None:
            errors.append(fielderror.forbidden(f"{path}.{keyword}", f"{keyword} is not supported"))
    if kind == "null":
        text = "type cannot be set to null, use nullable as an alternative"
        errors.append(fielderror.forbidden(f"{path}.type", text))
    if schema.get("items").__class__ is list:
        text = "items must be a schema object and not an array"
        errors.append(fielderror.forbidden(f"{path}.items", text))
    if at.in_meta and schema.get("x-kubernetes-embedded-resource") is True:
        text = "must not be used inside of resource meta"
        errors.append(fielderror.forbidden(f"{path}.x-kubernetes-embedded-resource", text))
    return errors


def _must_be(kind: str, wanted: str, keyword: str, path: str) -> FieldError:
    text = f"must be {wanted} if {keyword} is specified"
    return fielderror.invalid(f"{path}.type", kind, text) if kind else fielderror.required(f"{path}.type", text)


def _check_extensions(schema: Raw, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    kind = schema.get("type") or ""
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        where = f"{path}.x-kubernetes-preserve-unknown-fields"
        errors.append(fielderror.invalid(where, False, "must be true or undefined"))
    map_type, list_type = schema.get("x-kubernetes-map-type"), schema.get("x-kubernetes-list-type")
    if map_type is not None:
        if kind != "object":
            errors.append(_must_be(kind, "object", "x-kubernetes-map-type", path))
        if map_type not in ("atomic", "granular"):
            errors.append(fielderror.not_supported(f"{path}.x-kubernetes-map-type", map_type, ["atomic", "granular"]))
    if list_type is not None:
        if kind != "array":
            errors.append(_must_be(kind, "array", "x-kubernetes-list-type", path))
        elif list_type == "set" and schema.get("items").__class__ is dict:
            errors += _check_set_items(schema["items"], path)
        if list_type not in ("atomic", "set", "map"):
            errors.append(
                fielderror.not_supported(f"{path}.x-kubernetes-list-type", list_type, ["atomic", "set", "map"])
            )
    return errors


def _check_set_items(items: Raw, path: str) -> list[FieldError]:
    text = "must be atomic as item of a list with x-kubernetes-list-type=set"
    list_type = items.get("x-kubernetes-list-type")
    if items.get("type") == "array" and list_type not in (None, "atomic"):
        return [fielderror.invalid(f"{path}.items.x-kubernetes-list-type", list_type, text)]
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        # The value shown is that of the other keyword: so it is upstream.
        return [fielderror.invalid(f"{path}.items.x-kubernetes-map-type", list_type, text)]
    return []


def _check_keyed_list(schema: Raw, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    keys: list[str] = schema.get("x-kubernetes-list-map-keys") or []
    list_type = schema.get("x-kubernetes-list-type")
    items: Any = schema.get("items")
    if keys and list_type != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        where = f"{path}.x-kubernetes-list-type"
        errors.append(
            fielderror.required(where, text) if list_type is None else fielderror.invalid(where, list_type, text)
        )
    if list_type == "map":
        if not keys:
            text = "must not be empty if x-kubernetes-list-type is map"
            errors.append(fielderror.required(f"{path}.x-kubernetes-list-map-keys", text))
        if items is None:
            text = "must have a schema if x-kubernetes-list-type is map"
            errors.append(fielderror.required(f"{path}.items", text))
        elif items.__class__ is dict:
            errors += _check_keys(keys, items, path)
        else:
            text = "must only have a single schema if x-kubernetes-list-type is map"
            errors.append(fielderror.invalid(f"{path}.items", items, text))
    if list_type in ("set", "map") and items.__class__ is dict:
        declared: Any = items
        errors += _check_items_present(list_type, keys, declared, path)
    return errors


def _check_keys(keys: list[str], items: Raw, path: str) -> list[FieldError]:
    kind = items.get("type") or ""
    if kind != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        return [fielderror.invalid(f"{path}.items.type", kind, text)]
    errors: list[FieldError] = []
    properties: dict[str, Raw] = items.get("properties") or {}
    seen: set[str] = set()
    where = f"{path}.x-kubernetes-list-map-keys"
    for key in keys:
        if key not in properties:
            errors.append(fielderror.invalid(where, keys, "entries must all be names of item properties"))
        elif properties[key].get("type") in ("array", "object"):
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            errors.append(fielderror.invalid(f"{path}.items.properties[{key}].type", kind, text))
        if key in seen:
            errors.append(fielderror.invalid(where, keys, "must not contain duplicate entries"))
        seen.add(key)
    return errors


def _check_items_present(list_type: str, keys: list[str], items: Raw, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if items.get("nullable") is True:
        text = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        errors.append(fielderror.forbidden(f"{path}.items.nullable", text))
    if list_type != "map":
        return errors
    required: list[str] = items.get("required") or []
    properties: dict[str, Raw] = items.get("properties") or {}
    for key in keys:
        declared = properties.get(key)
        if declared is None:
            continue
        where = f"{path}.items.properties[{key}]"
        text = "this property is in x-kubernetes-list-map-keys, so it "
        if key not in required and declared.get("default") is None:
            errors.append(
                fielderror.required(f"{where}.default", text + "must have a default or be a required property")
            )
        if declared.get("nullable") is True:
            errors.append(fielderror.forbidden(f"{where}.nullable", text + "cannot be nullable"))
    return errors


def _check_rule(rule: Raw, schema: Raw, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    text, message = str(rule.get("rule") or ""), str(rule.get("message") or "")
    message_expression, where = str(rule.get("messageExpression") or ""), str(rule.get("fieldPath") or "")
    if not text.strip():
        errors.append(fielderror.required(f"{path}.rule", "rule is not specified"))
    elif message and not message.strip():
        errors.append(fielderror.invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif _LINE_BREAK.search(message.strip()):
        errors.append(fielderror.invalid(f"{path}.message", message, "must not contain line breaks"))
    elif _LINE_BREAK.search(text.strip()) and not message.strip():
        errors.append(fielderror.required(f"{path}.message", "message must be specified if rule contains line breaks"))
    if message_expression and not message_expression.strip():
        errors.append(
            fielderror.required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
        )
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        errors.append(fielderror.not_supported(f"{path}.reason", reason, list(_REASONS)))
    if where and not where.strip():
        errors.append(fielderror.invalid(f"{path}.fieldPath", where, "must be non-empty if specified"))
    if _LINE_BREAK.search(where):
        errors.append(fielderror.invalid(f"{path}.fieldPath", where, "must not contain line breaks"))
    if where and fieldpath.normalize(where, schema) is None:
        errors.append(fielderror.invalid(f"{path}.fieldPath", where, "must be a valid path"))
    return errors
