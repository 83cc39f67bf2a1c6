"""Operators and functions whose arguments are not simply worked out first."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, Protocol

from rayward.kube.machinery.cel import functions, operators
from rayward.kube.machinery.cel.ast import Call, Const, Expr, ListExpr, MapExpr
from rayward.kube.machinery.cel.frame import (
    COST,
    LIMIT,
    Frame,
    Run,
    Typed,
    apply,
    constant,
    entry,
    field_of,
    is_object,
    logical,
    missing,
    optional_entry,
    optionally,
    truth,
)
from rayward.kube.machinery.cel.reading import adder, equality, materializer, reader
from rayward.kube.machinery.cel.values import NONE, BudgetExceededError, EvaluationError, NoSuchOverloadError, Optional


class Compiler(Protocol):
    """Compiles the arguments of a call."""

    def part(self, expr: Expr) -> Typed:
        """A part of the expression with the type that a schema gives it."""
        ...

    def value(self, expr: Expr) -> Run:
        """An expression whose value is used as a whole: whatever it holds is read first."""
        ...


Special = Callable[[Compiler, Call], Typed]


def _and(compiler: Compiler, expr: Call) -> Typed:
    one, other = compiler.value(expr.args[0]), compiler.value(expr.args[1])
    return logical(one, other, decisive=False), None


def _or(compiler: Compiler, expr: Call) -> Typed:
    one, other = compiler.value(expr.args[0]), compiler.value(expr.args[1])
    return logical(one, other, decisive=True), None


def _not(compiler: Compiler, expr: Call) -> Typed:
    inner = compiler.value(expr.args[0])

    def run(frame: Frame) -> bool:
        frame[COST] += 1
        return not truth(inner(frame))

    return run, None


def _conditional(compiler: Compiler, expr: Call) -> Typed:
    test = compiler.value(expr.args[0])
    one, declared = compiler.part(expr.args[1])
    other, other_declared = compiler.part(expr.args[2])
    if declared is not other_declared:
        one, other, declared = materializer(one, declared), materializer(other, other_declared), None
    return (lambda frame: one(frame) if truth(test(frame)) else other(frame)), declared


def _not_strictly_false(compiler: Compiler, expr: Call) -> Typed:
    inner = compiler.value(expr.args[0])

    def run(frame: Frame) -> bool:
        frame[COST] += 1
        try:
            return inner(frame) is not False
        except EvaluationError:
            return True

    return run, None


def _equals(compiler: Compiler, expr: Call) -> Typed:
    one, declared = compiler.part(expr.args[0])
    other, other_declared = compiler.part(expr.args[1])
    # The left side decides how: a set on it ignores order, a plain list does not.
    same = equality(declared)
    if same is None:
        one, other, same = materializer(one, declared), materializer(other, other_declared), operators.equal
    test, wanted = same, expr.function == "_==_"

    def run(frame: Frame) -> bool:
        a, b = one(frame), other(frame)
        frame[COST] += math.ceil(min(functions.size_of(a), functions.size_of(b)) / 10)
        return test(a, b) is wanted

    return run, None


def _add(compiler: Compiler, expr: Call) -> Typed:
    one, declared = compiler.part(expr.args[0])
    other = compiler.value(expr.args[1])
    merge = adder(declared)
    if merge is None:
        one, declared, merge = materializer(one, declared), None, operators.add
    join = merge

    def run(frame: Frame) -> Any:
        a, b = one(frame), other(frame)
        kind = a.__class__
        frame[COST] += math.ceil((len(a) + functions.size_of(b)) / 10) if kind is str or kind is bytes else 1
        if frame[COST] > frame[LIMIT]:
            raise BudgetExceededError
        return join(a, b)

    return run, declared


def _in(compiler: Compiler, expr: Call) -> Typed:
    wanted = compiler.value(expr.args[0])
    container = compiler.value(expr.args[1])

    def run(frame: Frame) -> bool:
        item, items = wanted(frame), container(frame)
        kind = items.__class__
        if kind is dict:
            frame[COST] += 1
            return item in items
        if kind is not list:
            raise NoSuchOverloadError
        frame[COST] += len(items)
        return any(operators.equal(item, each) for each in items)

    return run, None


def _index(compiler: Compiler, expr: Call) -> Typed:
    container, declared = compiler.part(expr.args[0])
    key = compiler.value(expr.args[1])
    elem = None if declared is None else declared.elem

    def run(frame: Frame) -> Any:
        value, place = container(frame), key(frame)
        frame[COST] += 1
        if value.__class__ is Optional:
            return optional_entry(value, place)
        found = entry(value, place)
        if found is NONE:
            raise missing(value, place)
        return found

    return reader(run, elem), elem


def _optional_index(compiler: Compiler, expr: Call) -> Typed:
    container, declared = compiler.part(expr.args[0])
    key = compiler.value(expr.args[1])
    elem = None if declared is None else declared.elem
    return optionally(container, key, elem), elem


def _optional_select(compiler: Compiler, expr: Call) -> Typed:
    operand, declared = compiler.part(expr.args[0])
    field = expr.args[1]
    assert isinstance(field, Const)
    inner, key = field_of(declared, field.value)
    return optionally(operand, constant(key), inner, absent_null=is_object(declared)), inner


def _unwrap(compiler: Compiler, expr: Call) -> Typed:
    """``value()``: what an optional holds is still what the schema describes."""
    assert expr.target is not None
    optional, declared = compiler.part(expr.target)
    return apply(functions.dispatcher("value", 1), [optional], None), declared


def _otherwise(compiler: Compiler, expr: Call) -> Typed:
    """``or`` and ``orValue``: the right side runs only when the left is absent."""
    assert expr.target is not None
    one, declared = compiler.part(expr.target)
    other, other_declared = compiler.part(expr.args[0])
    if declared is not other_declared and not isinstance(expr.args[0], ListExpr | MapExpr | Const):
        other, declared = materializer(other, other_declared), None
    unwrap = expr.function == "orValue"

    def run(frame: Frame) -> Any:
        frame[COST] += 1
        value = one(frame)
        if value.__class__ is not Optional:
            raise NoSuchOverloadError
        if not value.present:
            return other(frame)
        return value.value if unwrap else value

    return run, declared


def _operator(compiler: Compiler, expr: Call) -> Typed:
    parts = [compiler.value(arg) for arg in expr.args]
    operate = _OPERATORS[expr.function]
    if len(parts) == 1:
        single = parts[0]

        def run_one(frame: Frame) -> Any:
            frame[COST] += 1
            return operate(single(frame))

        return run_one, None
    one, other = parts

    def run(frame: Frame) -> Any:
        frame[COST] += 1
        return operate(one(frame), other(frame))

    return run, None


def _comparison(test: Callable[[int], bool]) -> Callable[[Any, Any], bool]:
    return lambda one, other: test(operators.compare(one, other))


_OPERATORS: Final[dict[str, Callable[..., Any]]] = {
    "_<_": _comparison(lambda order: order < 0),
    "_<=_": _comparison(lambda order: order <= 0),
    "_>_": _comparison(lambda order: order > 0),
    "_>=_": _comparison(lambda order: order >= 0),
    "_-_": operators.subtract,
    "_*_": operators.multiply,
    "_/_": operators.divide,
    "_%_": operators.modulo,
    "-_": operators.negate,
}
SPECIAL: Final[dict[str, Special]] = {
    "_&&_": _and,
    "_||_": _or,
    "!_": _not,
    "_?_:_": _conditional,
    "@not_strictly_false": _not_strictly_false,
    "_==_": _equals,
    "_!=_": _equals,
    "_+_": _add,
    "@in": _in,
    "_[_]": _index,
    "_[?_]": _optional_index,
    "_?._": _optional_select,
    "value": _unwrap,
    "or": _otherwise,
    "orValue": _otherwise,
    **dict.fromkeys(_OPERATORS, _operator),
}
