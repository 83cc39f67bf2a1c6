"""What Kubernetes refuses in an expression although its types are right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from rayward.kube.machinery.cel import formatting, operators
from rayward.kube.machinery.cel.ast import Ast, Call, Const, Expr, ListExpr, MapExpr, children
from rayward.kube.machinery.cel.regex import PatternError, compile_pattern
from rayward.kube.machinery.cel.values import EvaluationError, NoSuchOverloadError

_CONVERSIONS: Final[dict[str, Callable[[object], object]]] = {
    "int": operators.to_int,
    "uint": operators.to_uint,
    "double": operators.to_double,
    "bool": operators.to_bool,
    "string": operators.to_string,
    "bytes": operators.to_bytes,
}
_LITERAL_ARGUMENTS: Final[dict[str, Callable[[str], object]]] = {
    "duration": operators.to_duration,
    "timestamp": operators.to_timestamp,
    "matches": compile_pattern,
}


def problems(tree: Ast, source: str) -> str:
    """The complaints about literals, in the checker's layout; nothing when there are none."""
    return "\n".join(_located(source, tree.positions.get(place, 0), text) for place, text in _find(tree))


def instantiation_problem(tree: Ast) -> str:
    """What goes wrong when constant parts are worked out ahead of time; nothing when nothing does."""
    for expr in _walk(tree.root):
        if not isinstance(expr, Call):
            continue
        try:
            if expr.function in _CONVERSIONS and isinstance(expr.args[0], Const):
                _CONVERSIONS[expr.function](expr.args[0].value)
            elif expr.function in ("find", "findAll") and isinstance(expr.args[0], Const):
                compile_pattern(expr.args[0].value)
        except NoSuchOverloadError:
            continue
        except (EvaluationError, PatternError) as error:
            return str(error)
    return ""


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

    for expr in _walk(tree.root):
        if isinstance(expr, Call) and expr.function == "format":
            yield from _check_format(tree, expr)


def _check_format(tree: Ast, call: Call) -> Iterator[tuple[int, str]]:
    template, args = call.target, call.args[0]
    if not (isinstance(template, Const) and isinstance(args, ListExpr)):
        return
    used = 0
    try:
        for place, clause in enumerate(formatting.clauses(template.value, len(args.elements))):
            if clause.letter:
                used += 1
                given = tree.type_of(args.elements[place]).partition("(")[0]
                if given != "dyn" and given not in formatting.ACCEPTED[clause.letter]:
                    raise formatting.refusal(clause.letter, given, place)
    except formatting.FormatError as error:
        yield (call.id if error.argument is None else args.elements[error.argument].id), str(error)
        return
    if len(args.elements) > used:
        text = f"too many arguments supplied to string.format (expected {used}, got {len(args.elements)})"
        yield call.id, text


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
