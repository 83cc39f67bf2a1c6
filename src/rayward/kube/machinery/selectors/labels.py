"""Label selectors: ``app=web,tier in (a,b),!old`` and ``LabelSelector`` objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from rayward.kube.machinery.selectors import grammar
from rayward.kube.machinery.selectors.error import SelectorError
from rayward.kube.machinery.selectors.requirement import Matcher, Operator, Requirement, checked, matcher

_MAX_TEXT: Final = 64 * 1024
_NO_LABELS: Final[Mapping[str, str]] = {}
_OBJECT_OPERATORS: Final = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


def _always(_labels: Mapping[str, str]) -> bool:
    return True


def _never(_labels: Mapping[str, str]) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Requirements that must all hold; none of them means that everything matches."""

    requirements: tuple[Requirement, ...] = ()
    _match: Matcher = field(default=_always, repr=False)

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Whether an object with these labels is selected."""
        return self._match(labels or _NO_LABELS)

    def exact_value(self, key: str) -> str | None:
        """The one value that the label must have, if the selector asks for one."""
        return next((each.exact_value for each in self.requirements if each.key == key), None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelSelector):
            return NotImplemented
        return self.requirements == other.requirements and (self._match is _never) == (other._match is _never)

    def __hash__(self) -> int:
        return hash(self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING: Final = LabelSelector()
NOTHING: Final = LabelSelector(_match=_never)


def parse(text: str) -> LabelSelector:
    """Read the text of a selector, as it stands in a query.

    Raises:
        SelectorError: The text is no selector.
    """
    if len(text) > _MAX_TEXT:
        raise SelectorError(f"unable to parse requirement: longer than {_MAX_TEXT} characters")
    return _parse(text)


@lru_cache(maxsize=256)
def _parse(text: str) -> LabelSelector:
    return from_requirements(grammar.read(text))


def from_requirements(requirements: Iterable[Requirement]) -> LabelSelector:
    """A selector of the given requirements, in the order of their keys."""
    ordered = tuple(sorted(requirements, key=lambda each: each.key))
    return LabelSelector(ordered, matcher(ordered)) if ordered else EVERYTHING


def from_object(selector: Mapping[str, Any] | None) -> LabelSelector:
    """The meaning of a ``LabelSelector`` object; None selects nothing, an empty one everything.

    Raises:
        SelectorError: A key, an operator or a value is not allowed.
    """
    if selector is None:
        return NOTHING
    match_labels: Mapping[str, str] = selector.get("matchLabels") or {}
    requirements = [checked(key, Operator.EQUALS, (value,)) for key, value in match_labels.items()]
    for expression in selector.get("matchExpressions") or ():
        name = expression.get("operator") or ""
        operator = _OBJECT_OPERATORS.get(name)
        if operator is None:
            raise SelectorError(f'"{name}" is not a valid label selector operator')
        requirements.append(checked(expression.get("key") or "", operator, expression.get("values") or ()))
    return from_requirements(requirements)
