"""A compiled ValidatingAdmissionPolicy, and what it says of one request. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rayward.kube.machinery import cel
from rayward.kube.machinery.cel import authorization
from rayward.kube.machinery.jsonvalue import entries, section
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.builtin.admissionpolicy import MESSAGE_VARIABLES, POLICY_VARIABLES, composed
from rayward.local.apiserver.webhooks.matching import Matching, matching_of

_BUDGET: Final = 10_000_000
_LONGEST_MESSAGE: Final = 5120
_SPENT: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


def declarations(spec: Mapping[str, Any], variables: Mapping[str, str] = POLICY_VARIABLES) -> dict[str, str]:
    """The variables of a policy's expressions."""
    named: dict[str, str] = {"variables": "dyn"} if spec.get("variables") else {}
    return {**variables, **({"params": "dyn"} if spec.get("paramKind") else {}), **named}


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression as it was written, and its program or why there is none."""

    text: str
    program: cel.Program | cel.CompileError
    needs: frozenset[str] = frozenset()


def _compiled(text: str, spec: Object, variables: Mapping[str, str] = POLICY_VARIABLES) -> Expression:
    try:
        program = cel.compile_expression(text, declarations(spec, variables))
    except cel.CompileError as error:
        return Expression(text, error)
    return Expression(text, program, composed(program))


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


@dataclass(frozen=True, slots=True)
class Policy:
    name: str
    fails_closed: bool
    param_kind: Object | None
    matching: Matching
    conditions: tuple[tuple[str, Expression], ...]
    variables: Mapping[str, Expression]
    validations: tuple[Validation, ...]
    annotations: tuple[tuple[str, Expression], ...]

    def decide(self, inputs: Mapping[str, Any]) -> tuple[list[Decision], dict[str, str]]:
        """The refusals of a request, and the audit annotations it gets."""
        run = _Run(self, inputs)
        try:
            if not run.condition_holds():
                return [], {}
        except _FailedError as error:
            return self._failed(str(error)), {}
        refused: list[Decision] = []
        for validation in self.validations:
            try:
                if run.value(validation.expression) is not True:
                    refused.append(Decision(run.message(validation), validation.reason))
            except _SpentError:
                return self._failed(_SPENT), {}
            except _FailedError as error:
                refused += self._failed(str(error))
        annotations: dict[str, str] = {}
        for key, expression in self.annotations:
            try:
                value = run.value(expression)
            except (_FailedError, _SpentError) as error:
                refused += self._failed(str(error))
                continue
            if isinstance(value, str) and value.strip():
                annotations[key] = value.strip()
        return refused, annotations

    def _failed(self, message: str) -> list[Decision]:
        return [Decision(message)] if self.fails_closed else []


class _FailedError(Exception):
    """An expression has no value."""


class _SpentError(_FailedError):
    """All expressions together cost too much."""


class _Run:
    """The expressions of one policy on one request: variables are evaluated once, and only if they are needed."""

    def __init__(self, policy: Policy, inputs: Mapping[str, Any]) -> None:
        self._policy = policy
        self._inputs = inputs
        self._values: dict[str, Any] = {}
        self._problems: dict[str, str] = {}
        self._left = _BUDGET

    def condition_holds(self) -> bool:
        problems: list[str] = []
        for _name, expression in self._policy.conditions:
            try:
                if self.value(expression) is not True:
                    # one that is false decides, whatever fails beside it
                    return False
            except _FailedError as error:
                problems.append(str(error))
        if problems:
            raise _FailedError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
        return True

    def message(self, validation: Validation) -> str:
        said = ""
        if validation.message_expression is not None and not self._asks_roles(validation.message_expression.needs):
            try:
                value = self.value(validation.message_expression)
            except _SpentError:
                raise
            except _FailedError:
                value = ""
            if isinstance(value, str) and len(value.strip().encode()) <= _LONGEST_MESSAGE and "\n" not in value.strip():
                said = value.strip()
        return said or validation.message.strip() or f"failed expression: {validation.expression.text.strip()}"

    def value(self, expression: Expression) -> Any:
        problem = next(self._lacking(expression.needs), None)
        try:
            return self._evaluated(expression)
        except (cel.EvaluationError, cel.BudgetExceededError) as error:
            why = f"composited variable {problem}" if problem else str(error)
            raise _FailedError(f"expression '{expression.text.strip()}' resulted in error: {why}") from None

    def _asks_roles(self, names: frozenset[str]) -> bool:
        """Whether variables need ``authorizer``: a message has none, and then no value either."""
        needed = [self._policy.variables[name] for name in names & self._policy.variables.keys()]
        return any(
            not isinstance(each.program, cel.CompileError)
            and (not each.program.variables.isdisjoint(authorization.VARIABLES) or self._asks_roles(each.needs))
            for each in needed
        )

    def _lacking(self, names: frozenset[str]) -> Iterator[str]:
        """Why variables that are needed have no value; they are evaluated first."""
        order = list(self._policy.variables)
        for name in sorted(names & self._policy.variables.keys(), key=order.index):
            if name not in self._values and name not in self._problems:
                expression = self._policy.variables[name]
                inner = next(self._lacking(expression.needs), None)
                try:
                    self._values[name] = self._evaluated(expression)
                except (cel.EvaluationError, cel.BudgetExceededError) as error:
                    why = f"composited variable {inner}" if inner else str(error)
                    self._problems[name] = f'"{name}" fails to evaluate: {why}'
            if name in self._problems:
                yield self._problems[name]

    def _evaluated(self, expression: Expression) -> Any:
        if isinstance(expression.program, cel.CompileError):
            raise _FailedError(f"compilation failed: {expression.program}")
        value, cost = expression.program.evaluate({**self._inputs, "variables": self._values})
        self._left -= cost
        if self._left < 0:
            raise _SpentError(_SPENT)
        return value


def policy_of(obj: Object) -> Policy:
    spec = section(obj, "spec")
    named: Sequence[Object] = entries(spec, "variables")
    return Policy(
        name=obj["metadata"]["name"],
        fails_closed=spec.get("failurePolicy", "Fail") != "Ignore",
        param_kind=spec.get("paramKind"),
        matching=matching_of(section(spec, "matchConstraints"), "resourceRules"),
        conditions=tuple(
            (each["name"], _compiled(each["expression"], spec)) for each in entries(spec, "matchConditions")
        ),
        variables={each["name"]: _compiled(each["expression"], spec) for each in named},
        validations=tuple(_validation(each, spec) for each in entries(spec, "validations")),
        annotations=tuple(
            (each["key"], _compiled(each["valueExpression"], spec)) for each in entries(spec, "auditAnnotations")
        ),
    )


def _validation(declared: Object, spec: Object) -> Validation:
    text = declared.get("messageExpression") or ""
    return Validation(
        _compiled(declared["expression"], spec),
        declared.get("message") or "",
        _compiled(text, spec, MESSAGE_VARIABLES) if text else None,
        declared.get("reason") or "Invalid",
    )
