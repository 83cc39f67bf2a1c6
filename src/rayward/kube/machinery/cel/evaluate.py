"""Checked expressions compiled to closures that count what they cost.

A closure takes a frame: a list whose first place counts cost, whose second is the limit, and whose others are
variables. Costs follow cel-go's, so that a budget means here what it means in kube-apiserver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rayward.kube.machinery.cel import functions
from rayward.kube.machinery.cel.ast import Ast, Call, Const, Expr, Fold, Ident, ListExpr, MapExpr, Select
from rayward.kube.machinery.cel.calls import SPECIAL
from rayward.kube.machinery.cel.decltype import DeclType
from rayward.kube.machinery.cel.frame import (
    COST,
    LIMIT,
    Frame,
    Run,
    Typed,
    accumulator,
    apply,
    constant,
    field_of,
    folding,
    get,
    has,
    storing,
    truth,
    variable,
)
from rayward.kube.machinery.cel.reading import materializer, reader
from rayward.kube.machinery.cel.values import BudgetExceededError, EvaluationError, TypeValue

PER_CALL_LIMIT: Final = 1_000_000
"""What one evaluation may cost."""

_LISTCOST: Final = 10
_MAPCOST: Final = 30
_TYPES: Final = {
    **{name: name for name in ("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type")},
    "google.protobuf.Timestamp": "google.protobuf.Timestamp",
    "google.protobuf.Duration": "google.protobuf.Duration",
    "net.IP": "net.IP",
    "net.CIDR": "net.CIDR",
    "optional_type": "optional_type",
}


@dataclass(frozen=True, slots=True)
class Program:
    """An expression that is ready to run."""

    _run: Run
    _slots: Mapping[str, int]
    _size: int

    def evaluate(self, variables: Mapping[str, Any], limit: int = PER_CALL_LIMIT) -> tuple[Any, int]:
        """The value for these variables, and what it cost.

        Raises:
            EvaluationError: The expression fails on them.
            BudgetExceededError: It would cost more than the limit.
        """
        frame: Frame = [None] * self._size
        frame[COST] = 0
        frame[LIMIT] = limit
        for name, place in self._slots.items():
            frame[place] = variables[name]
        value = self._run(frame)
        if frame[COST] > limit:
            raise BudgetExceededError
        return value, frame[COST]


@dataclass(slots=True)
class _Local:
    place: int
    declared: DeclType | None
    # An accumulator may hold an error until a later step makes it irrelevant.
    accumulator: bool = False


class Compiler:
    """Turns one checked expression into a program."""

    def __init__(self, tree: Ast, variables: Mapping[str, DeclType | None]) -> None:
        self._tree = tree
        self._next = 2
        self._scopes: dict[str, list[_Local]] = {}
        self._used: dict[str, int] = {}
        self._variables = variables

    def compile(self) -> Program:
        """The program; runs need a value for each variable that the expression uses."""
        run, declared = self.part(self._tree.root)
        return Program(materializer(run, declared), dict(self._used), self._next)

    def _slot(self) -> int:
        self._next += 1
        return self._next - 1

    def part(self, expr: Expr) -> Typed:
        """A part of the expression with the type that a schema gives it."""
        match expr:
            case Const():
                return constant(expr.value), None
            case Ident():
                return self._ident(expr.name)
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case ListExpr():
                return self._list(expr), None
            case MapExpr():
                return self._map(expr), None
            case Fold():
                return self._fold(expr)
            case _:
                raise AssertionError(expr)

    def value(self, expr: Expr) -> Run:
        """An expression whose value is used as a whole: whatever it holds is read first."""
        run, declared = self.part(expr)
        return materializer(run, declared)

    def _ident(self, name: str) -> Typed:
        scope = self._scopes.get(name)
        if scope:
            local = scope[-1]
            return (accumulator(local.place) if local.accumulator else variable(local.place)), local.declared
        if name in self._variables:
            place = self._used.get(name)
            if place is None:
                place = self._used[name] = self._slot()
            return variable(place), self._variables[name]
        return constant(TypeValue(_TYPES.get(name, name))), None

    def _select(self, expr: Select) -> Typed:
        operand, declared = self.part(expr.operand)
        inner, key = field_of(declared, expr.field)
        if expr.test_only:
            return has(operand, key, declared), None
        return reader(get(operand, key, expr.field, declared), inner), inner

    def _call(self, expr: Call) -> Typed:
        special = SPECIAL.get(expr.function)
        if special is not None:
            return special(self, expr)
        parts = expr.args if expr.target is None else (expr.target, *expr.args)
        run = functions.dispatcher(expr.function, len(parts))
        return apply(run, [self.value(part) for part in parts], functions.cost_of(expr.function)), None

    def _list(self, expr: ListExpr) -> Run:
        elements = [self.value(element) for element in expr.elements]
        optional = expr.optional

        def run(frame: Frame) -> list[Any]:
            frame[COST] += _LISTCOST
            if not optional:
                return [element(frame) for element in elements]
            values: list[Any] = []
            for place, element in enumerate(elements):
                value = element(frame)
                if place not in optional:
                    values.append(value)
                elif value.present:
                    values.append(value.value)
            return values

        return run

    def _map(self, expr: MapExpr) -> Run:
        entries = [(self.value(key), self.value(value), optional) for key, value, optional in expr.entries]

        def run(frame: Frame) -> dict[Any, Any]:
            frame[COST] += _MAPCOST
            made: dict[Any, Any] = {}
            for key, value, optional in entries:
                name, item = key(frame), value(frame)
                if name in made:
                    raise EvaluationError(f"Failed with repeated key: {name}")
                if not optional:
                    made[name] = item
                elif item.present:
                    made[name] = item.value
            return made

        return run

    # Folds

    def _push(self, name: str, declared: DeclType | None, *, accumulator: bool = False) -> int:
        place = self._slot()
        self._scopes.setdefault(name, []).append(_Local(place, declared, accumulator))
        return place

    def _pop(self, *names: str) -> None:
        for name in names:
            self._scopes[name].pop()

    def _fold(self, expr: Fold) -> Typed:
        if isinstance(expr.over, ListExpr) and not expr.over.elements:
            return self._bind(expr)
        over, declared = self.part(expr.over)
        elem = None if declared is None else declared.elem
        initial = self.value(expr.initial)
        accumulator = self._push(expr.accumulator, None, accumulator=True)
        keyed = declared is not None and declared.kind == "map"
        if expr.second:
            first = self._push(expr.variable, None)
            second = self._push(expr.second, elem)
        else:
            first = self._push(expr.variable, None if keyed else elem)
            second = 0
        condition = self.value(expr.condition)
        step = self._growing_step(expr) or storing(accumulator, self.value(expr.step))
        self._pop(expr.variable, *([expr.second] if expr.second else []))
        result = self.value(expr.result)
        self._pop(expr.accumulator)
        return folding(over, elem, initial, (accumulator, first, second), condition, step, result), None

    def _bind(self, expr: Fold) -> Typed:
        """A fold over nothing only names a value."""
        initial, declared = self.part(expr.initial)
        place = self._push(expr.accumulator, declared)
        result, result_declared = self.part(expr.result)
        self._pop(expr.accumulator)

        def run(frame: Frame) -> Any:
            frame[place] = initial(frame)
            return result(frame)

        return run, result_declared

    def _growing_step(self, expr: Fold) -> Run | None:
        """``map`` and ``filter`` append to their result; as an addition that would copy it every time."""
        if not (isinstance(expr.initial, ListExpr | MapExpr) and isinstance(expr.step, Call)):
            return None
        step, test = expr.step, None
        if step.function == "_?_:_" and step.args[2] == Ident(step.args[2].id, expr.accumulator):
            test, inner = step.args[0], step.args[1]
            if not isinstance(inner, Call):
                return None
            step = inner
        if not step.args or step.args[0] != Ident(step.args[0].id, expr.accumulator):
            return None
        grow = self._growth(expr.accumulator, step)
        if grow is None:
            return None
        if test is None:
            return grow
        holds = self.value(test)

        def run(frame: Frame) -> None:
            if truth(holds(frame)):
                grow(frame)

        return run

    def _growth(self, accumulator: str, step: Call) -> Run | None:
        place = self._scopes[accumulator][-1].place
        if step.function == "_+_" and isinstance(step.args[1], ListExpr) and not step.args[1].optional:
            elements = [self.value(element) for element in step.args[1].elements]

            def append(frame: Frame) -> None:
                frame[COST] += _LISTCOST + 2
                frame[place] += [element(frame) for element in elements]

            return append
        if step.function != "cel.@mapInsert":
            return None
        parts = [self.value(arg) for arg in step.args[1:]]

        def insert(frame: Frame) -> None:
            frame[COST] += 1
            values = [part(frame) for part in parts]
            entries: dict[Any, Any] = values[0] if len(values) == 1 else {values[0]: values[1]}
            for name, value in entries.items():
                if name in frame[place]:
                    raise EvaluationError(f"insert failed: key {name} already exists")
                frame[place][name] = value

        return insert
