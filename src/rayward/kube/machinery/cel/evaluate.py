"""Checked expressions compiled to closures that count what they cost.

A closure takes a frame: a list whose first place counts cost, whose second is the limit, and whose others are
variables. Costs follow cel-go's, so that a budget means here what it means in kube-apiserver.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rayward.kube.machinery.cel import functions, operators
from rayward.kube.machinery.cel.ast import Ast, Call, Const, Expr, Fold, Ident, ListExpr, MapExpr, Select
from rayward.kube.machinery.cel.decltype import DeclType
from rayward.kube.machinery.cel.reading import adder, equality, materializer, reader, taker
from rayward.kube.machinery.cel.values import (
    NONE,
    BudgetExceeded,
    EvaluationError,
    NoSuchOverload,
    Optional,
    TypeValue,
)

Frame = list[Any]
Run = Callable[[Frame], Any]

PER_CALL_LIMIT: Final = 1_000_000
"""What one evaluation may cost."""

_COST: Final = 0
_LIMIT: Final = 1
_LIST_COST: Final = 10
_MAP_COST: Final = 30
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
            BudgetExceeded: It would cost more than the limit.
        """
        frame: Frame = [None] * self._size
        frame[_COST] = 0
        frame[_LIMIT] = limit
        for name, place in self._slots.items():
            frame[place] = variables[name]
        value = self._run(frame)
        if frame[_COST] > limit:
            raise BudgetExceeded
        return value, frame[_COST]


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
        run, declared = self._compile(self._tree.root)
        return Program(materializer(run, declared), dict(self._used), self._next)

    def _slot(self) -> int:
        self._next += 1
        return self._next - 1

    def _compile(self, expr: Expr) -> tuple[Run, DeclType | None]:
        match expr:
            case Const():
                return _constant(expr.value), None
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

    def _value(self, expr: Expr) -> Run:
        """An expression whose value is used as a whole: whatever it holds is read first."""
        run, declared = self._compile(expr)
        return materializer(run, declared)

    def _ident(self, name: str) -> tuple[Run, DeclType | None]:
        scope = self._scopes.get(name)
        if scope:
            local = scope[-1]
            return (_accumulator(local.place) if local.accumulator else _variable(local.place)), local.declared
        if name in self._variables:
            place = self._used.get(name)
            if place is None:
                place = self._used[name] = self._slot()
            return _variable(place), self._variables[name]
        return _constant(TypeValue(_TYPES.get(name, name))), None

    def _select(self, expr: Select) -> tuple[Run, DeclType | None]:
        operand, declared = self._compile(expr.operand)
        inner, key = _field_of(declared, expr.field)
        if expr.test_only:
            return _has(operand, key, declared), None
        return reader(_get(operand, key, expr.field, declared), inner), inner

    def _call(self, expr: Call) -> tuple[Run, DeclType | None]:
        special = _SPECIAL.get(expr.function)
        if special is not None:
            return special(self, expr)
        parts = expr.args if expr.target is None else (expr.target, *expr.args)
        run = functions.dispatcher(expr.function, len(parts))
        return _apply(run, [self._value(part) for part in parts], functions.cost_of(expr.function)), None

    def _list(self, expr: ListExpr) -> Run:
        elements = [self._value(element) for element in expr.elements]
        optional = expr.optional

        def run(frame: Frame) -> list[Any]:
            frame[_COST] += _LIST_COST
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
        entries = [(self._value(key), self._value(value), optional) for key, value, optional in expr.entries]

        def run(frame: Frame) -> dict[Any, Any]:
            frame[_COST] += _MAP_COST
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

    def _fold(self, expr: Fold) -> tuple[Run, DeclType | None]:
        if isinstance(expr.over, ListExpr) and not expr.over.elements:
            return self._bind(expr)
        over, declared = self._compile(expr.over)
        elem = None if declared is None else declared.elem
        initial = self._value(expr.initial)
        accumulator = self._push(expr.accumulator, None, accumulator=True)
        keyed = declared is not None and declared.kind == "map"
        if expr.second:
            first = self._push(expr.variable, None)
            second = self._push(expr.second, elem)
        else:
            first = self._push(expr.variable, None if keyed else elem)
            second = 0
        condition = self._value(expr.condition)
        step = self._growing_step(expr) or _storing(accumulator, self._value(expr.step))
        self._pop(expr.variable, *([expr.second] if expr.second else []))
        result = self._value(expr.result)
        self._pop(expr.accumulator)
        return _folding(over, elem, initial, (accumulator, first, second), condition, step, result), None

    def _bind(self, expr: Fold) -> tuple[Run, DeclType | None]:
        """A fold over nothing only names a value."""
        initial, declared = self._compile(expr.initial)
        place = self._push(expr.accumulator, declared)
        result, result_declared = self._compile(expr.result)
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
        holds = self._value(test)

        def run(frame: Frame) -> None:
            if _truth(holds(frame)):
                grow(frame)

        return run

    def _growth(self, accumulator: str, step: Call) -> Run | None:
        place = self._scopes[accumulator][-1].place
        if step.function == "_+_" and isinstance(step.args[1], ListExpr) and not step.args[1].optional:
            elements = [self._value(element) for element in step.args[1].elements]

            def append(frame: Frame) -> None:
                frame[_COST] += _LIST_COST + 2
                frame[place] += [element(frame) for element in elements]

            return append
        if step.function != "cel.@mapInsert":
            return None
        parts = [self._value(arg) for arg in step.args[1:]]

        def insert(frame: Frame) -> None:
            frame[_COST] += 1
            values = [part(frame) for part in parts]
            entries: dict[Any, Any] = values[0] if len(values) == 1 else {values[0]: values[1]}
            for name, value in entries.items():
                if name in frame[place]:
                    raise EvaluationError(f"insert failed: key {name} already exists")
                frame[place][name] = value

        return insert

    # Operators

    def _and(self, expr: Call) -> tuple[Run, DeclType | None]:
        one, other = self._value(expr.args[0]), self._value(expr.args[1])
        return _logical(one, other, decisive=False), None

    def _or(self, expr: Call) -> tuple[Run, DeclType | None]:
        one, other = self._value(expr.args[0]), self._value(expr.args[1])
        return _logical(one, other, decisive=True), None

    def _not(self, expr: Call) -> tuple[Run, DeclType | None]:
        inner = self._value(expr.args[0])

        def run(frame: Frame) -> bool:
            frame[_COST] += 1
            return not _truth(inner(frame))

        return run, None

    def _conditional(self, expr: Call) -> tuple[Run, DeclType | None]:
        test = self._value(expr.args[0])
        one, declared = self._compile(expr.args[1])
        other, other_declared = self._compile(expr.args[2])
        if declared is not other_declared:
            one, other, declared = materializer(one, declared), materializer(other, other_declared), None
        return (lambda frame: one(frame) if _truth(test(frame)) else other(frame)), declared

    def _not_strictly_false(self, expr: Call) -> tuple[Run, DeclType | None]:
        inner = self._value(expr.args[0])

        def run(frame: Frame) -> bool:
            frame[_COST] += 1
            try:
                return inner(frame) is not False
            except EvaluationError:
                return True

        return run, None

    def _equals(self, expr: Call) -> tuple[Run, DeclType | None]:
        one, declared = self._compile(expr.args[0])
        other, other_declared = self._compile(expr.args[1])
        same = equality(declared, other_declared)
        if same is None:
            one, other, same = materializer(one, declared), materializer(other, other_declared), operators.equal
        test, wanted = same, expr.function == "_==_"

        def run(frame: Frame) -> bool:
            a, b = one(frame), other(frame)
            frame[_COST] += math.ceil(min(functions.size_of(a), functions.size_of(b)) / 10)
            return test(a, b) is wanted

        return run, None

    def _add(self, expr: Call) -> tuple[Run, DeclType | None]:
        one, declared = self._compile(expr.args[0])
        other = self._value(expr.args[1])
        merge = adder(declared)
        if merge is None:
            one, declared, merge = materializer(one, declared), None, operators.add
        join = merge

        def run(frame: Frame) -> Any:
            a, b = one(frame), other(frame)
            kind = a.__class__
            frame[_COST] += math.ceil((len(a) + functions.size_of(b)) / 10) if kind is str or kind is bytes else 1
            if frame[_COST] > frame[_LIMIT]:
                raise BudgetExceeded
            return join(a, b)

        return run, declared

    def _in(self, expr: Call) -> tuple[Run, DeclType | None]:
        wanted = self._value(expr.args[0])
        container = self._value(expr.args[1])

        def run(frame: Frame) -> bool:
            item, items = wanted(frame), container(frame)
            kind = items.__class__
            if kind is dict:
                frame[_COST] += 1
                return item in items
            if kind is not list:
                raise NoSuchOverload
            frame[_COST] += len(items)
            return any(operators.equal(item, each) for each in items)

        return run, None

    def _index(self, expr: Call) -> tuple[Run, DeclType | None]:
        container, declared = self._compile(expr.args[0])
        key = self._value(expr.args[1])
        elem = None if declared is None else declared.elem

        def run(frame: Frame) -> Any:
            value, place = container(frame), key(frame)
            frame[_COST] += 1
            if value.__class__ is Optional:
                return _optional_entry(value, place)
            found = _entry(value, place)
            if found is NONE:
                raise _missing(value, place)
            return found

        return reader(run, elem), elem

    def _optional_index(self, expr: Call) -> tuple[Run, DeclType | None]:
        container, declared = self._compile(expr.args[0])
        key = self._value(expr.args[1])
        elem = None if declared is None else declared.elem
        return _optionally(container, key, elem), elem

    def _optional_select(self, expr: Call) -> tuple[Run, DeclType | None]:
        operand, declared = self._compile(expr.args[0])
        field = expr.args[1]
        assert isinstance(field, Const)
        inner, key = _field_of(declared, field.value)
        return _optionally(operand, _constant(key), inner, absent_null=_is_object(declared)), inner

    def _unwrap(self, expr: Call) -> tuple[Run, DeclType | None]:
        """``value()``: what an optional holds is still what the schema describes."""
        assert expr.target is not None
        optional, declared = self._compile(expr.target)
        return _apply(functions.dispatcher("value", 1), [optional], None), declared

    def _otherwise(self, expr: Call) -> tuple[Run, DeclType | None]:
        """``or`` and ``orValue``: the right side runs only when the left is absent."""
        assert expr.target is not None
        one, declared = self._compile(expr.target)
        other, other_declared = self._compile(expr.args[0])
        if declared is not other_declared and not isinstance(expr.args[0], ListExpr | MapExpr | Const):
            other, declared = materializer(other, other_declared), None
        unwrap = expr.function == "orValue"

        def run(frame: Frame) -> Any:
            frame[_COST] += 1
            value = one(frame)
            if value.__class__ is not Optional:
                raise NoSuchOverload
            if not value.present:
                return other(frame)
            return value.value if unwrap else value

        return run, declared

    def _operator(self, expr: Call) -> tuple[Run, DeclType | None]:
        parts = [self._value(arg) for arg in expr.args]
        operate = _OPERATORS[expr.function]
        if len(parts) == 1:
            single = parts[0]

            def run_one(frame: Frame) -> Any:
                frame[_COST] += 1
                return operate(single(frame))

            return run_one, None
        one, other = parts

        def run(frame: Frame) -> Any:
            frame[_COST] += 1
            return operate(one(frame), other(frame))

        return run, None


def _constant(value: Any) -> Run:
    return lambda frame: value


def _variable(place: int) -> Run:
    def run(frame: Frame) -> Any:
        frame[_COST] += 1
        return frame[place]

    return run


def _accumulator(place: int) -> Run:
    def run(frame: Frame) -> Any:
        frame[_COST] += 1
        value = frame[place]
        if isinstance(value, EvaluationError):
            raise value
        return value

    return run


def _is_object(declared: DeclType | None) -> bool:
    return declared is not None and declared.kind == "object"


def _field_of(declared: DeclType | None, field: str) -> tuple[DeclType | None, str]:
    """The type of a field and the key under which the value has it."""
    if declared is None:
        return None, field
    if declared.kind == "object":
        return declared.fields.get(field), declared.names.get(field, field)
    return declared.elem, field


def _get(operand: Run, key: str, shown: str, declared: DeclType | None) -> Run:
    null_is_absent = _is_object(declared)

    def run(frame: Frame) -> Any:
        value = operand(frame)
        frame[_COST] += 1
        if value.__class__ is dict:
            found = value.get(key, NONE)
            if found is NONE or (found is None and null_is_absent):
                raise EvaluationError(f"no such key: {shown}")
            return found
        if value.__class__ is Optional:
            return _optional_entry(value, key)
        raise NoSuchOverload

    return run


def _has(operand: Run, key: str, declared: DeclType | None) -> Run:
    null_is_absent = _is_object(declared)

    def run(frame: Frame) -> bool:
        value = operand(frame)
        if value.__class__ is Optional:
            value = value.value if value.present else {}
        if value.__class__ is not dict:
            raise NoSuchOverload
        found = value.get(key, NONE)
        return found is not NONE and not (found is None and null_is_absent)

    return run


def _entry(container: Any, key: Any) -> Any:
    """What a list or map holds at a key; NONE where nothing is."""
    kind = container.__class__
    if kind is dict:
        try:
            return container.get(key, NONE)
        except TypeError:
            raise NoSuchOverload from None
    if kind is not list:
        raise NoSuchOverload
    if key.__class__ is float and key.is_integer():
        key = int(key)
    if not isinstance(key, int) or key.__class__ is bool:
        raise EvaluationError(f"unsupported index type '{operators.type_of(key).name}' in list")
    return container[key] if 0 <= key < len(container) else NONE


def _missing(container: Any, key: Any) -> EvaluationError:
    if container.__class__ is list:
        return EvaluationError(f"index out of bounds: {key}")
    return EvaluationError(f"no such key: {key}")


def _optional_entry(value: Optional, key: Any) -> Optional:
    if not value.present:
        return NONE
    found = _entry(value.value, key)
    return NONE if found is NONE else Optional(found)


def _optionally(container: Run, key: Run, elem: DeclType | None, *, absent_null: bool = False) -> Run:
    def found(frame: Frame) -> Any:
        value = container(frame)
        frame[_COST] += 1
        if value.__class__ is Optional:
            if not value.present:
                return NONE
            value = value.value
        entry = _entry(value, key(frame))
        return NONE if entry is None and absent_null else entry

    take = taker(elem)

    def run(frame: Frame) -> Optional:
        entry = found(frame)
        if entry is NONE:
            return NONE
        return Optional(entry if take is None else take(entry))

    return run


def _truth(value: Any) -> bool:
    if value.__class__ is not bool:
        raise NoSuchOverload
    return value


def _logical(one: Run, other: Run, *, decisive: bool) -> Run:
    """``&&`` and ``||``: an error on one side does not matter when the other side decides."""

    def run(frame: Frame) -> bool:
        try:
            value = one(frame)
            if value is decisive:
                return decisive
            if value.__class__ is not bool:
                raise NoSuchOverload
        except EvaluationError as error:
            if other(frame) is decisive:
                return decisive
            raise error from None
        return _truth(other(frame))

    return run


def _apply(run: Callable[..., Any], parts: list[Run], cost: functions.Cost | None) -> Run:
    if cost is None:

        def call(frame: Frame) -> Any:
            frame[_COST] += 1
            return run(*[part(frame) for part in parts])

        return call
    price = cost

    def priced(frame: Frame) -> Any:
        args = tuple([part(frame) for part in parts])
        frame[_COST] += price(args)
        if frame[_COST] > frame[_LIMIT]:
            raise BudgetExceeded
        return run(*args)

    return priced


def _storing(place: int, step: Run) -> Run:
    def run(frame: Frame) -> None:
        frame[place] = step(frame)

    return run


def _folding(
    over: Run,
    elem: DeclType | None,
    initial: Run,
    places: tuple[int, int, int],
    condition: Run,
    step: Run,
    result: Run,
) -> Run:
    accumulator, first, second = places
    take = taker(elem)

    def run(frame: Frame) -> Any:
        items = over(frame)
        kind = items.__class__
        if kind is not list and kind is not dict:
            raise NoSuchOverload
        frame[accumulator] = initial(frame)
        pairs: Any = enumerate(items) if kind is list else items.items()
        limit = frame[_LIMIT]
        for key, item in pairs:
            if kind is list or second:
                value = item if take is None else take(item)
            else:
                value = key
            if second:
                frame[first], frame[second] = key, value
            else:
                frame[first] = value
            if condition(frame) is not True:
                break
            try:
                step(frame)
            except EvaluationError as error:
                frame[accumulator] = error
            if frame[_COST] > limit:
                raise BudgetExceeded
        return result(frame)

    return run


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
_SPECIAL: Final[dict[str, Callable[[Compiler, Call], tuple[Run, DeclType | None]]]] = {
    "_&&_": Compiler._and,
    "_||_": Compiler._or,
    "!_": Compiler._not,
    "_?_:_": Compiler._conditional,
    "@not_strictly_false": Compiler._not_strictly_false,
    "_==_": Compiler._equals,
    "_!=_": Compiler._equals,
    "_+_": Compiler._add,
    "@in": Compiler._in,
    "_[_]": Compiler._index,
    "_[?_]": Compiler._optional_index,
    "_?._": Compiler._optional_select,
    "value": Compiler._unwrap,
    "or": Compiler._otherwise,
    "orValue": Compiler._otherwise,
    **dict.fromkeys(_OPERATORS, Compiler._operator),
}
