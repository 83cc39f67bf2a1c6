"""What Kubernetes refuses in an expression although its types are right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from rayward.kube.machinery.cel import operators
from rayward.kube.machinery.cel.ast import Ast, Call, Const, Expr, ListExpr, MapExpr, children
from rayward.kube.machinery.cel.regex import PatternError, compile_pattern
from rayward.kube.machinery.cel.values import EvaluationError

_LITERAL_ARGUMENTS: Final[dict[str, Callable[[str], object]]] = {
    "duration": operators.to_duration,
    "timestamp": operators.to_timestamp,
    "matches": compile_pattern,
}


def problems(tree: Ast, source: str) -> str:
    """The complaints about literals, in the checker's layout; nothing when there are none."""
    return "\n".join(_located(source, tree.positions.get(place, 0), text) for place, text in _find(tree))


def _find(tree: Ast) -> Iterator[tuple[int, str]]:
    for function, parse in _LITERAL_ARGUMENTS.items():
        for expr in _walk(tree.root):
            if isinstance(expr, Call) and expr.function == function and expr.args:
                arg = expr.args[0]
                if isinstance(arg, Const) and isinstance(arg.value, str) and not _parses(parse, arg.value):
                    yield arg.id, f"invalid {function} argument"
    for expr in _walk(tree.root, inside_format=False):
        if isinstance(expr, ListExpr):
            yield from _mixed(tree, [(part, place in expr.optional) for place, part in enumerate(expr.elements)], True)
        elif isinstance(expr, MapExpr):
            yield from _mixed(tree, [(key, False) for key, _, _ in expr.entries], False)
            yield from _mixed(tree, [(value, optional) for _, value, optional in expr.entries], False)


def _walk(expr: Expr, *, inside_format: bool = True) -> Iterator[Expr]:
    yield expr
    if not inside_format and isinstance(expr, Call) and expr.function == "format":
        # Its list holds whatever the template asks for.
        if expr.target is not None:
            yield from _walk(expr.target, inside_format=False)
        return
    for child in children(expr):
        yield from _walk(child, inside_format=inside_format)


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except (EvaluationError, PatternError):
        return False
    return True


def _mixed(tree: Ast, parts: list[tuple[Expr, bool]], first_only: bool) -> Iterator[tuple[int, str]]:
    expected = None
    for part, optional in parts:
        found = tree.type_of(part)
        if optional:
            found = found.removeprefix("optional_type(").removesuffix(")")
        if expected is None:
            expected = found
        elif found != expected:
            yield part.id, f"expected type '{expected}' but found '{found}'"
            if first_only:
                return


def _located(source: str, offset: int, text: str) -> str:
    before = source[:offset]
    line = before.count("\n") + 1
    column = offset - (before.rfind("\n") + 1)
    shown = source.split("\n")[line - 1].replace("\t", " ")
    return f"ERROR: <input>:{line}:{column + 1}: {text}\n | {shown}\n | {'.' * column}^"
