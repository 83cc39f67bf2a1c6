"""The pieces that compiled expressions are made of: closures over a frame.

A frame is a list whose first place counts cost, whose second is the limit, and whose others are variables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rayward.kube.machinery.cel import functions, operators
from rayward.kube.machinery.cel.decltype import DeclType
from rayward.kube.machinery.cel.reading import taker
from rayward.kube.machinery.cel.values import NONE, BudgetExceededError, EvaluationError, NoSuchOverloadError, Optional

Frame = list[Any]
Run = Callable[[Frame], Any]
Typed = tuple[Run, DeclType | None]
"""A closure and the type that a schema gives its value, if one does."""

COST: Final = 0
LIMIT: Final = 1


def constant(value: Any) -> Run:
    return lambda frame: value


def variable(place: int) -> Run:
    """What a variable holds."""

    def run(frame: Frame) -> Any:
        frame[COST] += 1
        return frame[place]

    return run


def accumulator(place: int) -> Run:
    """What a fold has gathered so far; an error in it is raised where it is read."""

    def run(frame: Frame) -> Any:
        frame[COST] += 1
        value = frame[place]
        if isinstance(value, EvaluationError):
            raise value
        return value

    return run


def is_object(declared: DeclType | None) -> bool:
    """Whether a schema declares fields here."""
    return declared is not None and declared.kind == "object"


def field_of(declared: DeclType | None, field: str) -> tuple[DeclType | None, str]:
    """The type of a field and the key under which the value has it."""
    if declared is None:
        return None, field
    if declared.kind == "object":
        return declared.fields.get(field), declared.names.get(field, field)
    return declared.elem, field


def get(operand: Run, key: str, shown: str, declared: DeclType | None) -> Run:
    """``operand.field``."""
    null_is_absent = is_object(declared)

    def run(frame: Frame) -> Any:
        value = operand(frame)
        frame[COST] += 1
        if value.__class__ is dict:
            found = value.get(key, NONE)
            if found is NONE or (found is None and null_is_absent):
                raise EvaluationError(f"no such key: {shown}")
            return found
        if value.__class__ is Optional:
            return optional_entry(value, key)
        raise NoSuchOverloadError

    return run


def has(operand: Run, key: str, declared: DeclType | None) -> Run:
    """``has(operand.field)``."""
    null_is_absent = is_object(declared)

    def run(frame: Frame) -> bool:
        value: Any = operand(frame)
        if value.__class__ is Optional:
            absent: dict[str, Any] = {}
            value = value.value if value.present else absent
        if value.__class__ is not dict:
            raise NoSuchOverloadError
        found = value.get(key, NONE)
        return found is not NONE and not (found is None and null_is_absent)

    return run


def entry(container: Any, key: Any) -> Any:
    """What a list or map holds at a key; NONE where nothing is."""
    kind = container.__class__
    if kind is dict:
        try:
            return container.get(key, NONE)
        except TypeError:
            raise NoSuchOverloadError from None
    if kind is not list:
        raise NoSuchOverloadError
    if key.__class__ is float and key.is_integer():
        key = int(key)
    if not isinstance(key, int) or key.__class__ is bool:
        raise EvaluationError(f"unsupported index type '{operators.type_of(key).name}' in list")
    return container[key] if 0 <= key < len(container) else NONE


def missing(container: Any, key: Any) -> EvaluationError:
    """The error for a key or index that is not there."""
    if container.__class__ is list:
        return EvaluationError(f"index out of bounds: {key}")
    return EvaluationError(f"no such key: {key}")


def optional_entry(value: Optional, key: Any) -> Optional:
    """The entry of a value that may itself be absent."""
    if not value.present:
        return NONE
    found = entry(value.value, key)
    return NONE if found is NONE else Optional(found)


def optionally(container: Run, key: Run, elem: DeclType | None, *, absent_null: bool = False) -> Run:
    """``operand.?field`` and ``operand[?key]``."""

    def found(frame: Frame) -> Any:
        value = container(frame)
        frame[COST] += 1
        if value.__class__ is Optional:
            if not value.present:
                return NONE
            value = value.value
        item = entry(value, key(frame))
        return NONE if item is None and absent_null else item

    take = taker(elem)

    def run(frame: Frame) -> Optional:
        item = found(frame)
        if item is NONE:
            return NONE
        return Optional(item if take is None else take(item))

    return run


def truth(value: Any) -> bool:
    """A condition must be true or false."""
    if value.__class__ is not bool:
        raise NoSuchOverloadError
    return value


def logical(one: Run, other: Run, *, decisive: bool) -> Run:
    """``&&`` and ``||``: an error on one side does not matter when the other side decides."""

    def run(frame: Frame) -> bool:
        try:
            value = one(frame)
            if value is decisive:
                return decisive
            if value.__class__ is not bool:
                raise NoSuchOverloadError
        except EvaluationError as error:
            if other(frame) is decisive:
                return decisive
            raise error from None
        return truth(other(frame))

    return run


def apply(run: Callable[..., Any], parts: list[Run], cost: functions.Cost | None) -> Run:
    """A function called with its arguments, paid for before it runs."""
    if cost is None:

        def call(frame: Frame) -> Any:
            frame[COST] += 1
            return run(*[part(frame) for part in parts])

        return call
    price = cost

    def priced(frame: Frame) -> Any:
        args = tuple([part(frame) for part in parts])
        frame[COST] += price(args)
        if frame[COST] > frame[LIMIT]:
            raise BudgetExceededError
        return run(*args)

    return priced


def storing(place: int, step: Run) -> Run:
    """A step that replaces what a fold has gathered."""

    def run(frame: Frame) -> None:
        frame[place] = step(frame)

    return run


def folding(
    over: Run,
    elem: DeclType | None,
    initial: Run,
    places: tuple[int, int, int],
    condition: Run,
    step: Run,
    result: Run,
) -> Run:
    """The loop behind every macro over a list or map."""
    accumulated, first, second = places
    take = taker(elem)

    def run(frame: Frame) -> Any:
        items = over(frame)
        kind = items.__class__
        if kind is not list and kind is not dict:
            raise NoSuchOverloadError
        frame[accumulated] = initial(frame)
        pairs: Any = enumerate(items) if kind is list else items.items()
        limit = frame[LIMIT]
        for key, item in pairs:
            value = (item if take is None else take(item)) if kind is list or second else key
            if second:
                frame[first], frame[second] = key, value
            else:
                frame[first] = value
            if condition(frame) is not True:
                break
            try:
                step(frame)
            except EvaluationError as error:
                frame[accumulated] = error
            if frame[COST] > limit:
                raise BudgetExceededError
        return result(frame)

    return run
