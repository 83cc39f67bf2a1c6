"""Whether an object fits its type well enough to say who owns what in it, in Kubernetes' words if it does not."""

from __future__ import annotations

from typing import Any, Final

from rayward.kube.machinery import gotext
from rayward.kube.machinery.apply.element import text_of
from rayward.kube.machinery.apply.types import Either, ItemError, List, Map, Scalar, Type
from rayward.kube.machinery.apply.values import ARRAY, OBJECT

_Problems = list[tuple[str, str]]
_NONE: Final[_Problems] = []


class MisfitError(Exception):
    """An object that does not fit its type."""


def check(value: Any, of: Type, *, allow_duplicates: bool = False) -> None:
    """Nothing, if the object fits the type.

    Raises:
        MisfitError: it does not.
    """
    found = _check(value, of, allow_duplicates)
    if not found:
        return
    lines = [f"{path}: {message}" if path else message for path, message in found]
    raise MisfitError(lines[0] if len(lines) == 1 else "\n  ".join(["errors:", *lines]))


def _check(value: Any, of: Type, lax: bool) -> _Problems:
    if value is None:
        return _NONE
    if type(of) is Either:
        of = of.of(value)
    if type(of) is Map:
        return _check_fields(value, of, lax)
    if type(of) is List:
        return _check_items(value, of, lax)
    return _NONE if type(value) in _FITS[of.kind] else [("", _misfit(value, of.kind))]


def _check_fields(value: Any, of: Map, lax: bool) -> _Problems:
    if type(value) is not OBJECT:
        return [("", f"expected map, got &{{{gotext.plain(value)}}}")]
    found = _NONE
    fields, other = of.fields, of.element
    for name, inner in value.items():
        field = fields.get(name)
        if field is not None:
            declared = field[1]
        elif other is not None:
            declared = other
        else:
            return [*found, (f".{name}", "field not declared in schema")]
        if type(declared) is Scalar and type(inner) in _FITS[declared.kind]:
            continue
        problems = _check(inner, declared, lax)
        if problems:
            found = [*found, *((f".{name}{path}", message) for path, message in problems)]
    return found


def _check_items(value: Any, of: List, lax: bool) -> _Problems:
    if type(value) is not ARRAY:
        return [("", f"expected list, got &{{{gotext.plain(value)}}}")]
    found = _NONE
    inner = of.element
    seen: set[str] = set()
    for index, item in enumerate(value):
        if of.atomic:
            step = f"i:{index}"
        else:
            try:
                step = of.key(item)
            except ItemError as error:
                return [*found, ("", f"element {index}: {error}")]
            if step in seen and not lax:
                found = [*found, ("", f"duplicate entries for key {text_of(step)}")]
            seen.add(step)
        problems = _check(item, inner, lax)
        if problems:
            prefix = text_of(step)
            found = [*found, *((prefix + path, message) for path, message in problems)]
    return found


_FITS: Final[dict[str, frozenset[type[Any]]]] = {
    "string": frozenset({str, type(None)}),
    "numeric": frozenset({int, float, type(None)}),
    "boolean": frozenset({bool, type(None)}),
    "untyped": frozenset({str, int, float, bool, type(None)}),
}


def _misfit(value: Any, kind: str) -> str:
    if kind == "numeric":
        return f"expected numeric (int or float), got {gotext.type_name(value)}"
    if kind == "string":
        return f"expected string, got &value.valueUnstructured{{Value:{gotext.syntax(value)}}}"
    return f"expected {'any scalar' if kind == 'untyped' else 'boolean'}, got &{{{gotext.plain(value)}}}"
