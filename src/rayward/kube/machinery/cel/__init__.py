"""CEL as Kubernetes speaks it: Google's library parses and checks types, evaluation and its budget are ours.

``compile_expression`` is for free-standing expressions such as match conditions; schemas use ``compile_for_schema``.
"""

from __future__ import annotations

from rayward.kube.machinery.cel.library import CompileError
from rayward.kube.machinery.cel.program import InstantiationError, Program, compile_expression, compile_for_schema
from rayward.kube.machinery.cel.values import BudgetExceededError, EvaluationError, NoSuchOverloadError

__all__ = [
    "BudgetExceededError",
    "CompileError",
    "EvaluationError",
    "InstantiationError",
    "NoSuchOverloadError",
    "Program",
    "compile_expression",
    "compile_for_schema",
]
