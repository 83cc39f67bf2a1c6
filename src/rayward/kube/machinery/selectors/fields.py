"""Field selectors such as ``metadata.name=a,status.phase!=Running``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from rayward.kube.machinery.selectors.error import SelectorError

_MAX_TEXT: Final = 64 * 1024

_split_terms: Final = re.compile(r"((?:[^\\,]|\\.|\\$)*)(?:,|$)", re.DOTALL).findall
_split_operator: Final = re.compile(r"(.*?)(!=|==?)(.*)", re.DOTALL).fullmatch
_special: Final = re.compile(r"\\(.?)|[,=]", re.DOTALL)
_escape: Final = re.compile(r"[\\,=]")


class FieldTerm(NamedTuple):
    """One condition: the field must, or must not, have the value."""

    field: str
    operator: Literal["=", "!="]
    value: str

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{_escape.sub(_escaped, self.value)}"


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """Conditions that must all hold; none of them means that everything matches."""

    terms: tuple[FieldTerm, ...] = ()

    def matches(self, get: Callable[[str], str]) -> bool:
        """Whether an object matches whose field ``x`` has the value ``get(x)``, empty when unset."""
        for field, operator, value in self.terms:  # noqa: SIM110 - a generator would cost more than the comparison
            if (get(field) == value) is not (operator == "="):
                return False
        return True

    def exact_value(self, field: str) -> str | None:
        """The one value that the field must have, if the selector asks for one."""
        return next((term.value for term in self.terms if term.field == field and term.operator == "="), None)

    def __str__(self) -> str:
        return ",".join(map(str, self.terms))


EVERYTHING: Final = FieldSelector()


def parse(text: str) -> FieldSelector:
    """Read a field selector; which fields exist is for the caller to say.

    Raises:
        SelectorError: The text is no field selector.
    """
    if not text:
        return EVERYTHING
    if len(text) > _MAX_TEXT:
        raise SelectorError(f"invalid selector: longer than {_MAX_TEXT} characters")
    return _parse(text)


@lru_cache(maxsize=256)
def _parse(text: str) -> FieldSelector:
    terms: list[FieldTerm] = []
    for part in sorted(_split_terms(text)):
        if not part:
            continue
        match = _split_operator(part)
        if match is None:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
        field, operator, value = match.groups()
        value = _special.sub(_unescaped, value)
        if field or value:
            terms.append(FieldTerm(field, "!=" if operator == "!=" else "=", value))
    return FieldSelector(tuple(terms))


def _unescaped(match: re.Match[str]) -> str:
    whole, escaped = match.group(), match.group(1)
    if escaped is None:
        raise SelectorError(f"invalid field selector: unescaped character in value: {ord(whole)}")
    if escaped not in ("\\", ",", "="):
        raise SelectorError(f"invalid field selector: invalid escape sequence: {whole}")
    return escaped


def _escaped(match: re.Match[str]) -> str:
    return f"\\{match.group()}"
