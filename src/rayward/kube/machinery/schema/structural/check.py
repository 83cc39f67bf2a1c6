"""All rules for the schema of a CRD version, in kube-apiserver's order."""

from __future__ import annotations

from typing import Any, Final

import orjson

from rayward.kube.machinery import fielderror
from rayward.kube.machinery.fielderror import FieldError
from rayward.kube.machinery.schema.node import Raw
from rayward.kube.machinery.schema.structural import defaults, invariants, openapi, shape
from rayward.kube.machinery.schema.structural.budget import Budget

# In the order, and under the names, of the Go struct that the message lists.
_ALLOWED_AT_ROOT: Final = {
    "Description": "description",
    "Type": "type",
    "Format": "format",
    "Title": "title",
    "Maximum": "maximum",
    "ExclusiveMaximum": "exclusiveMaximum",
    "Minimum": "minimum",
    "ExclusiveMinimum": "exclusiveMinimum",
    "MaxLength": "maxLength",
    "MinLength": "minLength",
    "Pattern": "pattern",
    "MaxItems": "maxItems",
    "MinItems": "minItems",
    "UniqueItems": "uniqueItems",
    "MultipleOf": "multipleOf",
    "Required": "required",
    "Items": "items",
    "Properties": "properties",
    "ExternalDocs": "externalDocs",
    "Example": "example",
    "XPreserveUnknownFields": "x-kubernetes-preserve-unknown-fields",
    "XValidations": "x-kubernetes-validations",
}


def check(schema: Raw, path: str, *, status_subresource: bool = False) -> list[FieldError]:
    """What is wrong with a CRD version's ``openAPIV3Schema``.

    Args:
        schema: The schema itself.
        path: The field that holds ``openAPIV3Schema``: ``spec.versions[0].schema``, or ``spec.validation`` where all
            versions have the same schema, as kube-apiserver then calls it.
        status_subresource: Whether the version has a status subresource, which limits what the root may say.
    """
    where = f"{path}.openAPIV3Schema"
    if (problem := shape.problem(schema)) is not None:
        return [fielderror.invalid(where, "", problem)]
    errors = _check_root(schema, path, status_subresource)
    unsupported = invariants.unsupported(schema)
    budget: Budget | None = None
    if not unsupported:
        structural = invariants.check(schema, where) or defaults.check(schema, where)
        errors += structural
        if not structural:
            # Rules are looked at only in a schema that is otherwise right.
            budget = Budget()
    errors += openapi.check(schema, where, budget)
    if not errors and unsupported:
        errors.append(fielderror.invalid(where, "", unsupported))
    if budget is not None:
        errors += budget.check_total(where)
    return errors


def _check_root(schema: Raw, path: str, status_subresource: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    where = f"{path}.openAPIV3Schema"
    if status_subresource:
        allowed = set(_ALLOWED_AT_ROOT.values())
        kind = schema.get("type") or ""
        if kind and kind != "object":
            text = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
            errors.append(fielderror.invalid(f"{where}.type", kind, text))
        elif any(name not in allowed and _is_set(value) for name, value in schema.items()):
            listed = " ".join(_ALLOWED_AT_ROOT)
            text = f"only [{listed}] fields are allowed at the root of the schema if the status subresource is enabled"
            errors.append(fielderror.invalid(where, orjson.loads(orjson.dumps(schema)), text))
    if schema.get("nullable") is True:
        errors.append(fielderror.forbidden(f"{where}.nullable", "nullable cannot be true at the root"))
    return errors


def _is_set(value: Any) -> bool:
    return value is not None and value is not False and value != "" and value != [] and value != {}
