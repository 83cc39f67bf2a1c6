"""Validating admission policies and their bindings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery import cel
from rayward.kube.machinery.cel import ast, authorization
from rayward.kube.machinery.fielderror import FieldError, duplicate, forbidden, invalid, not_supported, required
from rayward.kube.machinery.names import check_dns1035_label, check_dns1123_subdomain, check_qualified_name
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import Errors, dns_subdomain, label_selector
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.kind import age_of, behaviour, keep_spec, keep_status, name_of, requirements_text
from rayward.local.apiserver.builtin.webhookconfiguration import check_match_conditions, check_rule

Spec = Mapping[str, Any]

MESSAGE_VARIABLES = {"object": "dyn", "oldObject": "dyn", "request": "dyn", "namespaceObject": "dyn"}
POLICY_VARIABLES = {**MESSAGE_VARIABLES, **authorization.VARIABLES}
_REASONS = ["Forbidden", "Invalid", "RequestEntityTooLarge"]
_ACTIONS = ["Audit", "Deny", "Warn"]
_MOST_ANNOTATIONS = 20
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_GROUP = "admissionregistration.k8s.io"


def policy_behaviour() -> Behaviour:
    """The rules of ``admissionregistration.k8s.io/v1/validatingadmissionpolicies``."""
    return behaviour(
        "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicy",
        f"{_GROUP}/v1/validatingadmissionpolicies",
        policy_cells,
        default=default_policy,
        prepare_create=lambda obj: obj.update(status={}),
        prepare_update=keep_status,
        prepare_status=keep_spec,
        validate=validate_policy,
        validate_update=lambda new, _old: validate_policy(new),
        has_status=True,
        counts_generation=True,
    )


def binding_behaviour() -> Behaviour:
    """The rules of ``admissionregistration.k8s.io/v1/validatingadmissionpolicybindings``."""
    return behaviour(
        "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBinding",
        f"{_GROUP}/v1/validatingadmissionpolicybindings",
        binding_cells,
        default=default_binding,
        validate=validate_binding,
        validate_update=lambda new, _old: validate_binding(new),
        counts_generation=True,
    )


def default_policy(obj: Object) -> None:
    """A policy that cannot be evaluated refuses, and means any version of what it matches."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    _default_matching(spec.get("matchConstraints"))


def default_binding(obj: Object) -> None:
    """A binding matches what its policy does, unless it says otherwise."""
    _default_matching(obj.setdefault("spec", {}).get("matchResources"))


def _default_matching(declared: Object | None) -> None:
    if declared is None:
        return
    declared.setdefault("matchPolicy", "Equivalent")
    for field in ("namespaceSelector", "objectSelector"):
        if declared.get(field) is None:
            declared[field] = {}
    for field in ("resourceRules", "excludeResourceRules"):
        for rule in declared.get(field) or NO_ITEMS:
            rule.setdefault("scope", "*")


def validate_policy(obj: Object) -> list[FieldError]:
    """A policy, new or changed."""
    out: Errors = []
    spec = obj.get("spec") or NOTHING
    if spec.get("failurePolicy") not in ("Fail", "Ignore"):
        out.append(not_supported("spec.failurePolicy", spec.get("failurePolicy"), ["Fail", "Ignore"]))
    kind = spec.get("paramKind")
    if kind is not None:
        _check_param_kind(kind, "spec.paramKind", out)
    constraints = spec.get("matchConstraints")
    if constraints is None:
        out.append(required("spec.matchConstraints"))
    else:
        _check_matching(constraints, "spec.matchConstraints", out)
        if not constraints.get("resourceRules"):
            out.append(required("spec.matchConstraints.resourceRules"))
    params = {"params": "dyn"} if kind is not None else {}
    conditions = spec.get("matchConditions") or NO_ITEMS
    check_match_conditions(conditions, "spec.matchConditions", out, {**POLICY_VARIABLES, **params})
    _check_expressions(obj, spec, params, out)
    return out


def _check_expressions(obj: Object, spec: Spec, params: Mapping[str, str], out: Errors) -> None:
    variables, validations = spec.get("variables") or NO_ITEMS, spec.get("validations") or NO_ITEMS
    annotations = spec.get("auditAnnotations") or NO_ITEMS
    declared = {**POLICY_VARIABLES, **params, **({"variables": "dyn"} if variables else {})}
    known: set[str] = set()
    for index, variable in enumerate(variables):
        _check_variable(variable, declared, known, f"spec.variables[{index}]", out)
        known.add(variable.get("name") or "")
    if not validations and not annotations:
        for field in ("validations", "auditAnnotations"):
            out.append(required(f"spec.{field}", "validations or auditAnnotations must contain at least one item"))
        return
    for index, validation in enumerate(validations):
        _check_validation(validation, declared, known, f"spec.validations[{index}]", out)
    if len(annotations) > _MOST_ANNOTATIONS:
        text = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        out.append(invalid("spec.auditAnnotations", annotations, text))
    keys: set[str] = set()
    for index, annotation in enumerate(annotations):
        at, key = f"spec.auditAnnotations[{index}]", annotation.get("key") or ""
        for problem in check_qualified_name(f"{name_of(obj)}/{key}"):
            out.append(invalid(f"{at}.key", f"{name_of(obj)}/{key}", problem))
        text = annotation.get("valueExpression") or ""
        if not text.strip():
            out.append(required(f"{at}.valueExpression", "valueExpression is not specified"))
        else:
            _check_expression(text, ("string", "null"), declared, known, f"{at}.valueExpression", out)
        if key in keys:
            out.append(duplicate(f"{at}.key", key))
        keys.add(key)


def _check_variable(variable: Spec, declared: Mapping[str, str], known: set[str], at: str, out: Errors) -> None:
    name, text = variable.get("name") or "", variable.get("expression") or ""
    if not name.strip():
        out.append(required(f"{at}.name", "name is not specified"))
    elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
        out.append(invalid(f"{at}.name", name, "must be a valid CEL identifier"))
    if not text.strip():
        out.append(required(f"{at}.expression", "expression is not specified"))
    else:
        _check_expression(text, (), declared, known, f"{at}.expression", out)


def _check_validation(validation: Spec, declared: Mapping[str, str], known: set[str], at: str, out: Errors) -> None:
    text, message = validation.get("expression") or "", validation.get("message") or ""
    said = validation.get("messageExpression") or ""
    if not text.strip():
        out.append(required(f"{at}.expression", "expression is not specified"))
    else:
        _check_expression(text, ("bool",), declared, known, f"{at}.expression", out)
    if said and not said.strip():
        out.append(invalid(f"{at}.messageExpression", said, "must be non-empty if specified"))
    elif said:
        told = {name: kind for name, kind in declared.items() if name not in authorization.VARIABLES}
        _check_expression(said, ("string",), told, known, f"{at}.messageExpression", out)
    if message and not message.strip():
        out.append(invalid(f"{at}.message", message, "must be non-empty if specified"))
    elif "\n" in message.strip() or "\r" in message.strip():
        out.append(invalid(f"{at}.message", message, "must not contain line breaks"))
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        out.append(not_supported(f"{at}.reason", reason, _REASONS))


def _check_expression(
    text: str, results: Sequence[str], declared: Mapping[str, str], known: set[str], at: str, out: Errors
) -> None:
    try:
        program = cel.compile_expression(text, declared)
    except cel.CompileError as error:
        out.append(invalid(at, text, f"compilation failed: {error}"))
        return
    undefined = sorted(composed(program) - known)
    if undefined:
        out.append(invalid(at, text, f"compilation failed: ERROR: undefined field '{undefined[0]}'"))
        return
    # The real server knows the types of requests, namespaces and variables, we do not.
    unknown = program.result == "dyn" and bool(program.variables & {"request", "variables", "namespaceObject"})
    if results and program.result not in results and not unknown:
        wanted = results[0] if len(results) == 1 else f"one of {list(results)}".replace("'", "").replace(", ", " ")
        out.append(invalid(at, text, f"must evaluate to {wanted} but got {program.result}"))


def composed(program: cel.Program) -> frozenset[str]:
    """The names in all ``variables.NAME`` of an expression."""
    return frozenset(
        each.field
        for each in ast.walk(program.tree.root)
        if isinstance(each, ast.Select) and isinstance(each.operand, ast.Ident) and each.operand.name == "variables"
    )


def _check_param_kind(kind: Spec, at: str, out: Errors) -> None:
    version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    if not version:
        out.append(required(f"{at}.apiVersion"))
    elif version.count("/") > 1:
        out.append(invalid(f"{at}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    else:
        group, _, short = version.rpartition("/")
        if group and (problems := check_dns1123_subdomain(group)):
            out.append(invalid(f"{at}.apiVersion", group, ",".join(problems)))
        if problems := check_dns1035_label(short):
            out.append(invalid(f"{at}.apiVersion", short, ",".join(problems)))
    if not name:
        out.append(required(f"{at}.kind"))
    elif problems := check_dns1035_label(name.lower()):
        text = "may have mixed case, but should otherwise match: " + ",".join(problems)
        out.append(invalid(f"{at}.kind", name, text))


def _check_matching(declared: Spec, at: str, out: Errors) -> None:
    if declared.get("matchPolicy") not in ("Equivalent", "Exact"):
        out.append(not_supported(f"{at}.matchPolicy", declared.get("matchPolicy"), ["Equivalent", "Exact"]))
    for field in ("namespaceSelector", "objectSelector"):
        label_selector(declared.get(field), f"{at}.{field}", out)
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(declared.get(field) or NO_ITEMS):
            names: set[str] = set()
            for place, name in enumerate(rule.get("resourceNames") or NO_ITEMS):
                if name in names:
                    out.append(duplicate(f"{at}.{field}[{index}].resourceNames[{place}]", name))
                names.add(name)
            check_rule(rule, f"{at}.{field}[{index}]", out)


def validate_binding(obj: Object) -> list[FieldError]:
    """A binding, new or changed."""
    out: Errors = []
    spec = obj.get("spec") or NOTHING
    if not spec.get("policyName"):
        out.append(required("spec.policyName"))
    else:
        dns_subdomain(spec["policyName"], "spec.policyName", out)
    if spec.get("paramRef") is not None:
        _check_param_ref(spec["paramRef"], "spec.paramRef", out)
    if spec.get("matchResources") is not None:
        _check_matching(spec["matchResources"], "spec.matchResources", out)
    _check_actions(spec.get("validationActions") or NO_ITEMS, "spec.validationActions", out)
    return out


def _check_param_ref(ref: Spec, at: str, out: Errors) -> None:
    name, selector = ref.get("name") or "", ref.get("selector")
    exclusive = "name and selector are mutually exclusive"
    if name and selector is not None:
        out.append(forbidden(f"{at}.name", exclusive))
    if selector is not None:
        label_selector(selector, f"{at}.selector", out)
        if name:
            out.append(forbidden(f"{at}.selector", exclusive))
    if not name and selector is None:
        out.append(required(at, "one of name or selector must be specified"))
    action = ref.get("parameterNotFoundAction")
    if not action:
        out.append(required(f"{at}.parameterNotFoundAction"))
    elif action not in ("Deny", "Allow"):
        out.append(not_supported(f"{at}.parameterNotFoundAction", action, ["Deny", "Allow"]))


def _check_actions(actions: Sequence[str], at: str, out: Errors) -> None:
    seen: set[str] = set()
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            out.append(not_supported(f"{at}[{index}]", action, _ACTIONS))
        if action in seen:
            out.append(duplicate(f"{at}[{index}]", action))
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        text = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API response"
        )
        out.append(invalid(at, list(actions), f"{text} and headers serves no purpose)"))
    if not seen:
        out.append(required(at, "at least one validation action is required"))


def policy_cells(obj: Object, now: float) -> list[Any]:
    """Name, Validations, ParamKind, Age."""
    spec = obj.get("spec") or NOTHING
    kind = spec.get("paramKind")
    shown = f"{kind.get('apiVersion') or ''}/{kind.get('kind') or ''}" if kind is not None else "<unset>"
    return [name_of(obj), len(spec.get("validations") or NO_ITEMS), shown, age_of(obj, now)]


def binding_cells(obj: Object, now: float) -> list[Any]:
    """Name, PolicyName, ParamRef, Age."""
    spec = obj.get("spec") or NOTHING
    ref, shown = spec.get("paramRef"), "<unset>"
    if ref is not None and ref.get("name"):
        shown = f"{ref.get('namespace') or '*'}/{ref['name']}"
    elif ref is not None and ref.get("selector") is not None:
        shown = requirements_text(ref["selector"])
    return [name_of(obj), spec.get("policyName") or "", shown, age_of(obj, now)]
