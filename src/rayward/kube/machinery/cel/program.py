"""From the text of an expression to a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from rayward.kube.machinery.cel import ast, library, literals
from rayward.kube.machinery.cel.ast import Ast
from rayward.kube.machinery.cel.decltype import DeclType, Messages
from rayward.kube.machinery.cel.evaluate import PER_CALL_LIMIT, Compiler
from rayward.kube.machinery.cel.evaluate import Program as _Runnable
from rayward.kube.machinery.cel.library import CompileError

_CACHE: Final = 512


class InstantiationError(CompileError):
    """The expression is well typed, but a constant part of it fails."""


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression: ``result`` is the type it gives, ``variables`` those it uses."""

    result: str
    variables: frozenset[str]
    tree: Ast
    _runnable: _Runnable

    def evaluate(self, variables: Mapping[str, Any], limit: int = PER_CALL_LIMIT) -> tuple[Any, int]:
        """The value for these variables, and what it cost.

        Raises:
            EvaluationError: The expression fails on them.
            BudgetExceededError: It would cost more than the limit.
        """
        return self._runnable.evaluate(variables, limit)


@lru_cache(maxsize=_CACHE)
def _compile_untyped(text: str, variables: tuple[tuple[str, str], ...]) -> Program:
    return _compile(text, dict(variables), {name: None for name, _ in variables}, None)


def compile_expression(text: str, variables: Mapping[str, str]) -> Program:
    """Compiles an expression over variables of the given types (``dyn``, ``string``, ``list<int>``...).

    Raises:
        CompileError: It does not parse or its types do not fit.
    """
    return _compile_untyped(text, tuple(sorted(variables.items())))


def compile_for_schema(text: str, self_type: DeclType, *, optional_old: bool = False) -> Program:
    """Compiles an expression over ``self`` and ``oldSelf``, both of a type that a schema describes.

    Raises:
        CompileError: It does not parse or its types do not fit.
    """
    messages = Messages.for_expressions(text)
    signature = messages.signature(self_type)
    old = f"optional_type<{signature}>" if optional_old else signature
    declared = {"self": self_type, "oldSelf": self_type}
    return _compile(text, {"self": signature, "oldSelf": old}, declared, messages.serialized())


def _compile(
    text: str, variables: Mapping[str, str], declared: Mapping[str, DeclType | None], messages: bytes | None
) -> Program:
    serialized = library.check(text, variables, messages)
    tree = ast.decode(serialized)
    if problems := literals.problems(tree, text):
        raise CompileError(problems)
    if problem := literals.instantiation_problem(tree):
        raise InstantiationError(problem)
    used = frozenset(e.name for e in ast.walk(tree.root) if isinstance(e, ast.Ident) and e.name in variables)
    return Program(tree.type_of(tree.root), used, tree, Compiler(tree, declared).compile())
