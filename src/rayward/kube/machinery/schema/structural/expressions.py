"""The CEL rules of a schema level: they must compile and be affordable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rayward.kube.machinery import fielderror, gotext
from rayward.kube.machinery.cel import cost
from rayward.kube.machinery.cel.decltype import DeclType, declare
from rayward.kube.machinery.fielderror import OMIT, FieldError, Reason, Verbatim
from rayward.kube.machinery.schema.node import Raw
from rayward.kube.machinery.schema.rules import Rule, compile_rules
from rayward.kube.machinery.schema.structural.budget import PER_RULE, Budget, excess, repeated

_NO_TYPE: Final = (
    "internal error: failed to construct type information for x-kubernetes-validations rules: "
    "unable to convert structural schema to CEL declarations"
)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where rules stand: what they see and how often they can run."""

    budget: Budget
    cardinality: int | None
    resource_root: bool


def check(schema: Raw, path: str, scope: Scope, uncorrelated: str) -> list[FieldError]:
    """What is wrong with the rules of one level."""
    declared = declare(schema, resource_root=scope.resource_root)
    if declared is None:
        return [FieldError(Reason.INTERNAL, path, OMIT, _NO_TYPE)]
    errors: list[FieldError] = []
    for place, rule in enumerate(compile_rules(schema, declared)):
        errors += _check_rule(rule, f"{path}[{place}]", declared, scope, uncorrelated)
    return errors


def _check_rule(rule: Rule, path: str, declared: DeclType, scope: Scope, uncorrelated: str) -> list[FieldError]:
    errors: list[FieldError] = []
    price = 0 if rule.program is None else cost.estimate(rule.program.tree, declared)
    total = repeated(price, scope.cardinality, declared.min_size)
    if total > PER_RULE:
        errors.append(fielderror.forbidden(f"{path}.rule", excess("estimated rule cost", total, PER_RULE)))
    scope.budget.observe(f"{path}.rule", total)
    if rule.error:
        errors.append(_refused(f"{path}.rule", rule, rule.error))
    errors += _check_message(rule, path, declared, scope)
    if rule.uses_old:
        if uncorrelated:
            text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelated}"
            errors.append(fielderror.invalid(f"{path}.rule", rule.raw["rule"], text))
    elif rule.raw.get("optionalOldSelf") is not None:
        text = "may not be set if oldSelf is not used in rule"
        errors.append(fielderror.invalid(f"{path}.optionalOldSelf", rule.raw["optionalOldSelf"], text))
    return errors


def _check_message(rule: Rule, path: str, declared: DeclType, scope: Scope) -> list[FieldError]:
    where = f"{path}.messageExpression"
    if rule.message_error:
        return [_refused(where, rule, rule.message_error)]
    if rule.message_program is None:
        return []
    price = cost.estimate(rule.message_program.tree, declared)
    scope.budget.observe(where, price)
    if price <= PER_RULE:
        return []
    return [fielderror.forbidden(where, excess("estimated messageExpression cost", price, PER_RULE))]


def _refused(where: str, rule: Rule, problem: str) -> FieldError:
    """The rule is shown as the Go struct it is in kube-apiserver, fields in that order."""
    raw = rule.raw
    shown = {
        "Rule": raw.get("rule") or "",
        "Message": raw.get("message") or "",
        "MessageExpression": raw.get("messageExpression") or "",
        "Reason": raw.get("reason"),
        "FieldPath": raw.get("fieldPath") or "",
        "OptionalOldSelf": raw.get("optionalOldSelf"),
    }
    body = ",".join(f"{gotext.json_text(name)}:{gotext.json_text(value)}" for name, value in shown.items())
    return fielderror.invalid(where, Verbatim(f"{{{body}}}"), problem)
