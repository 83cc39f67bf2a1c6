"""A compiled ValidatingAdmissionPolicy, and what it says of one request. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rayward.kube.machinery.cel import authorization
from rayward.kube.machinery.jsonvalue import entries, section
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.admissionpolicy import MESSAGE_VARIABLES, POLICY_VARIABLES
from rayward.local.apiserver.evaluation import (
    BUDGET,
    CONDITIONS_BUDGET,
    Expression,
    FailedError,
    SpentError,
    Stage,
    compiled,
    conditions_hold,
)
from rayward.local.apiserver.webhooks.matching import Matching, matching_of

_LONGEST_MESSAGE: Final = 5120


def declarations(spec: Mapping[str, Any], variables: Mapping[str, str] = POLICY_VARIABLES) -> dict[str, str]:
    """The variables of a policy's expressions."""
    named: dict[str, str] = {"variables": "dyn"} if spec.get("variables") else {}
    return {**variables, **({"params": "dyn"} if spec.get("paramKind") else {}), **named}


@dataclass(frozen=True, slots=True)
class Validation:
    """What must hold, and what is said if it does not."""

    expression: Expression
    message: str
    message_expression: Expression | None
    reason: str


@dataclass(frozen=True, slots=True)
class Decision:
    """Why a request is refused."""

    message: str
    reason: str = ""
    always: bool = False
    """Whether the request is refused whatever the binding says is to be done."""


@dataclass(frozen=True, slots=True)
class Policy:
    name: str
    fails_closed: bool
    param_kind: Object | None
    matching: Matching
    conditions: tuple[Expression, ...]
    variables: Mapping[str, Expression]
    validations: tuple[Validation, ...]
    annotations: tuple[tuple[str, Expression], ...]

    def decide(self, inputs: Mapping[str, Any]) -> tuple[list[Decision], dict[str, str]]:
        """The refusals of a request, and the audit annotations it gets."""
        try:
            # as recorded, conditions see no namespace, messages and annotations no authorizer
            stage = Stage({**inputs, "namespaceObject": None}, CONDITIONS_BUDGET, self.variables)
            if not conditions_hold(stage, self.conditions):
                return [], {}
            refused = self._refusals(inputs)
            failed, annotations = self._annotated(inputs)
        except FailedError as error:
            return self._failed(str(error)), {}
        return [*refused, *failed], annotations

    def _refusals(self, inputs: Mapping[str, Any]) -> list[Decision]:
        stage = Stage(inputs, BUDGET, self.variables)
        values = stage.values(validation.expression for validation in self.validations)
        said = Stage(_without_authorizer(inputs), stage.left, self.variables)
        found: list[Decision] = []
        for validation, value in zip(self.validations, values, strict=True):
            if isinstance(value, FailedError):
                found += self._failed(str(value))
            elif value is not True:
                try:
                    found.append(Decision(_message(validation, said), validation.reason))
                except SpentError as error:
                    found += self._failed(f"failed messageExpression: {error}")
        return found

    def _annotated(self, inputs: Mapping[str, Any]) -> tuple[list[Decision], dict[str, str]]:
        stage = Stage(_without_authorizer(inputs), BUDGET, self.variables)
        failed: list[Decision] = []
        annotations: dict[str, str] = {}
        values = stage.values(expression for _, expression in self.annotations)
        for (key, _), value in zip(self.annotations, values, strict=True):
            if isinstance(value, FailedError):
                failed += self._failed(str(value), always=True)
            elif isinstance(value, str) and value.strip():
                annotations[key] = value.strip()
        return failed, annotations

    def _failed(self, message: str, *, always: bool = False) -> list[Decision]:
        return [Decision(message, always=always)] if self.fails_closed else []


def _message(validation: Validation, stage: Stage) -> str:
    said = ""
    if validation.message_expression is not None:
        value = stage.values([validation.message_expression])[0]
        if isinstance(value, str) and len(value.strip().encode()) <= _LONGEST_MESSAGE and "\n" not in value.strip():
            said = value.strip()
    return said or validation.message.strip() or f"failed expression: {validation.expression.text.strip()}"


def _without_authorizer(inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in inputs.items() if name not in authorization.VARIABLES}


def policy_of(obj: Object) -> Policy:
    spec = section(obj, "spec")
    declared = declarations(spec)
    return Policy(
        name=obj["metadata"]["name"],
        fails_closed=spec.get("failurePolicy", "Fail") != "Ignore",
        param_kind=spec.get("paramKind"),
        matching=matching_of(section(spec, "matchConstraints"), "resourceRules"),
        conditions=tuple(compiled(each["expression"], declared) for each in entries(spec, "matchConditions")),
        variables={each["name"]: compiled(each["expression"], declared) for each in entries(spec, "variables")},
        validations=tuple(_validation(each, spec) for each in entries(spec, "validations")),
        annotations=tuple(
            (each["key"], compiled(each["valueExpression"], declared)) for each in entries(spec, "auditAnnotations")
        ),
    )


def _validation(declared: Object, spec: Object) -> Validation:
    text = declared.get("messageExpression") or ""
    return Validation(
        compiled(declared["expression"], declarations(spec)),
        declared.get("message") or "",
        compiled(text, declarations(spec, MESSAGE_VARIABLES)) if text else None,
        declared.get("reason") or "Invalid",
    )
