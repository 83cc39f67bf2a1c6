"""One condition on one label: its checks, its text and how it is matched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from rayward.kube.machinery import fielderror, names
from rayward.kube.machinery.fielderror import FieldError
from rayward.kube.machinery.selectors.error import SelectorError

Matcher = Callable[[Mapping[str, str]], bool]


class Operator(StrEnum):
    """How a requirement relates a label to its values."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER_THAN = "gt"
    LESS_THAN = "lt"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"


BINARY_OPERATORS: Final = tuple(Operator)[:7]
_EXACT: Final = frozenset({Operator.IN, Operator.EQUALS, Operator.DOUBLE_EQUALS})


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    @property
    def exact_value(self) -> str | None:
        """The one value the label must have, if there is only one."""
        return self.values[0] if self.operator in _EXACT and len(self.values) == 1 else None

    def __str__(self) -> str:
        values = ",".join(sorted(self.values))
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator} ({values})"
            case Operator.GREATER_THAN:
                return f"{self.key}>{values}"
            case Operator.LESS_THAN:
                return f"{self.key}<{values}"
            case Operator.EQUALS | Operator.DOUBLE_EQUALS | Operator.NOT_EQUALS:
                return f"{self.key}{self.operator}{values}"


def checked(key: str, operator: Operator, values: Sequence[str] = ()) -> Requirement:
    """A requirement whose key and values are allowed.

    Raises:
        SelectorError: They are not.
    """
    errors = _errors(key, operator, values)
    if errors:
        texts = list(dict.fromkeys(map(str, errors)))
        raise SelectorError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    return Requirement(key, operator, tuple(values))


def _errors(key: str, operator: Operator, values: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if problems := names.check_qualified_name(key):
        errors.append(fielderror.invalid("key", key, "; ".join(problems)))
    if operator in (Operator.IN, Operator.NOT_IN) and not values:
        text = "for 'in', 'notin' operators, values set can't be empty"
        errors.append(fielderror.invalid("values", None, text))
    elif operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST) and values:
        text = "values set must be empty for exists and does not exist"
        errors.append(fielderror.invalid("values", list(values), text))
    elif operator in (Operator.GREATER_THAN, Operator.LESS_THAN):
        text = "for 'Gt', 'Lt' operators, the value must be an integer"
        bad = [(index, value) for index, value in enumerate(values) if _int64(value) is None]
        errors += [fielderror.invalid(f"values[{index}]", value, text) for index, value in bad]
    for index, value in enumerate(values):
        if problems := names.check_label_value(value):
            errors.append(fielderror.invalid(f"values[{index}][{key}]", value, "; ".join(problems)))
    return errors


def _int64(text: str) -> int | None:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if len(text) > 64 or not (digits.isascii() and digits.isdigit()):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def matcher(requirements: Sequence[Requirement]) -> Matcher:
    """One function that says whether labels meet all the requirements."""
    exact = {each.key: each.exact_value for each in requirements}
    if len(exact) == len(requirements) and None not in exact.values():
        wanted = exact.items()
        # Nearly every selector is a few equalities: one comparison of dict views, no loop in Python.
        return lambda labels: wanted <= labels.items()
    tests = tuple(map(_test, requirements))
    return tests[0] if len(tests) == 1 else _all(tests)


def _all(tests: Sequence[Matcher]) -> Matcher:
    def matches(labels: Mapping[str, str]) -> bool:
        for test in tests:  # noqa: SIM110 - a generator would cost more than most tests
            if not test(labels):
                return False
        return True

    return matches


def _test(requirement: Requirement) -> Matcher:
    key, values = requirement.key, frozenset(requirement.values)
    match requirement.operator:
        case Operator.EXISTS:
            return lambda labels: key in labels
        case Operator.DOES_NOT_EXIST:
            return lambda labels: key not in labels
        case Operator.NOT_IN | Operator.NOT_EQUALS:
            return lambda labels: labels.get(key) not in values
        case Operator.IN | Operator.EQUALS | Operator.DOUBLE_EQUALS:
            return lambda labels: labels.get(key) in values
        case Operator.GREATER_THAN | Operator.LESS_THAN:
            return _bound(key, int(requirement.values[0]), requirement.operator is Operator.GREATER_THAN)


def _bound(key: str, bound: int, above: bool) -> Matcher:
    def within(labels: Mapping[str, str]) -> bool:
        number = _int64(labels.get(key, ""))
        return number is not None and (number > bound if above else number < bound)

    return within
