"""The CEL expressions that decide about one request, within Kubernetes' budgets.

A policy is evaluated in stages: conditions, validations with their messages, audit annotations. Each stage has a budget
of its own and its own values of the policy's variables. The conditions of a webhook are such a stage too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rayward.kube.machinery import cel
from rayward.local.apiserver.builtin.admissionpolicy import composed

# apiserver/pkg/apis/cel/config.go
BUDGET: Final = 10_000_000
CONDITIONS_BUDGET: Final = 2_500_000


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression as it was written, and its program or why there is none."""

    text: str
    program: cel.Program | cel.CompileError
    needs: frozenset[str] = frozenset()
    """The variables of its policy that it names."""


def compiled(text: str, declarations: Mapping[str, str]) -> Expression:
    """An expression over declared variables."""
    try:
        program = cel.compile_expression(text, declarations)
    except cel.CompileError as error:
        # stored by a server that understood it: what cannot be evaluated must fail, not go unseen
        return Expression(text, error)
    return Expression(text, program, composed(program))


class FailedError(Exception):
    """An expression has no value."""


class SpentError(FailedError):
    """The expressions of one stage together cost too much."""

    def __init__(self) -> None:
        super().__init__("validation failed due to running out of cost budget, no further validation rules will be run")


class Stage:
    """Expressions on one request; the variables of their policy are evaluated once, and only if they are needed."""

    def __init__(
        self, inputs: Mapping[str, Any], budget: int, variables: Mapping[str, Expression] | None = None
    ) -> None:
        self._inputs = inputs
        self._variables = variables or {}
        self._values: dict[str, Any] = {}
        self._problems: dict[str, str] = {}
        self.left = budget

    def value(self, expression: Expression) -> Any:
        """Raises FailedError, and SpentError once the budget is spent."""
        problem = next(self._lacking(expression.needs), None)
        try:
            return self._evaluated(expression)
        except (cel.EvaluationError, cel.BudgetExceededError) as error:
            why = f"composited variable {problem}" if problem else str(error)
            raise FailedError(f"expression '{expression.text.strip()}' resulted in error: {why}") from None

    def values(self, expressions: Iterable[Expression]) -> list[Any | FailedError]:
        """The value of each, or why it has none. Raises SpentError."""
        found: list[Any | FailedError] = []
        for expression in expressions:
            try:
                found.append(self.value(expression))
            except SpentError:
                raise
            except FailedError as error:
                found.append(error)
        return found

    def _lacking(self, names: frozenset[str]) -> Iterator[str]:
        """Why variables that are needed have no value; they are evaluated first."""
        order = list(self._variables)
        for name in sorted(names & self._variables.keys(), key=order.index):
            if name not in self._values and name not in self._problems:
                expression = self._variables[name]
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
            raise FailedError(f"compilation failed: {expression.program}")
        variables = {**self._inputs, "variables": self._values}
        if lacking := expression.program.variables - variables.keys():
            raise cel.EvaluationError(f"no such attribute(s): {min(lacking)}")
        value, cost = expression.program.evaluate(variables)
        self.left -= cost
        if self.left < 0:
            raise SpentError
        return value


def conditions_hold(stage: Stage, conditions: Iterable[Expression]) -> bool:
    """Whether all are true; one that is false decides, whatever fails beside it. Raises FailedError."""
    values = stage.values(conditions)
    problems = [str(value) for value in values if isinstance(value, FailedError)]
    holds = all(value is True for value in values if not isinstance(value, FailedError))
    if problems and holds:
        raise FailedError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return holds
