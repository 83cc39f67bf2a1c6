"""Why a schema refuses a value: every finding, in kube-apiserver's order and words.

Runs only on values that the quick check of ``accept`` did not let through.
"""

from __future__ import annotations

import math
from typing import Any, Final

from rayward.kube.machinery import gotext
from rayward.kube.machinery.cel import formats
from rayward.kube.machinery.cel.regex import PatternError, compile_pattern
from rayward.kube.machinery.schema import findings
from rayward.kube.machinery.schema.correlation import Correlated, same
from rayward.kube.machinery.schema.findings import Finding, Findings, Kind
from rayward.kube.machinery.schema.node import Node

_INT64: Final = range(-(2**63), 2**63)
_INT32: Final = range(-(2**31), 2**31)
_MAX_SAFE: Final = float(2**53 - 1)
_MAX_FLOAT32: Final = 3.4028235677973366e38


def explain(node: Node, value: Any, path: str = "", pair: Correlated | None = None) -> Findings:
    """Everything the schema has against the value; nothing where ``pair`` says that it did not change."""
    result = _explain(node, value, path, pair)
    if result.found and pair is not None and pair.equal():
        return Findings(passed=result.passed)
    return result


def _explain(node: Node, value: Any, path: str, pair: Correlated | None) -> Findings:
    result = Findings()
    value = _as_go_decodes(value)
    if value is None or node.types or node.format:
        problem = _type_problem(node, value, path)
        if problem is not None:
            result.add(problem)
        else:
            result.passed += 1
        result.passed += value is not None
    if value is None:
        _check_enum(node, value, path, result)
        return result
    if node.has_junctors:
        _check_junctors(node, value, path, result)
    result.passed += 2
    items: Any = value
    if isinstance(value, str):
        result.passed += 1
        _check_string(node, value, path, result)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        result.passed += 2
        _check_number(node, value, path, result)
    elif value.__class__ is list:
        result.passed += 2
        _check_list(node, items, path, pair, result)
    _check_enum(node, value, path, result)
    result.passed += 1
    if value.__class__ is dict:
        result.passed += 1
        _check_object(node, items, path, pair, result)
    result.passed += 1
    return result


def _as_go_decodes(value: Any) -> Any:
    if value.__class__ is int and value not in _INT64:
        return float(value)
    return value


def kind_of(value: Any) -> tuple[str, str]:
    """The JSON type of a value and the format Go gives it."""
    if isinstance(value, str):
        return "string", ""
    if isinstance(value, bool):
        return "boolean", ""
    if isinstance(value, int):
        return "integer", "int64"
    if isinstance(value, float):
        return "number", "float64"
    return ("array", "") if value.__class__ is list else ("object", "")


def _type_problem(node: Node, value: Any, path: str) -> Finding | None:
    types, form = node.types, node.format
    if value is None:
        if types and not node.nullable:
            return findings.wrong_type(path, ",".join(types), "null")
        return None
    given, given_format = kind_of(value)
    number_as_integer = given == "number" and "integer" in types and _is_whole(value)
    integer_as_number = given == "integer" and "number" in types
    fits = given in types or number_as_integer or integer_as_number
    text_or_list = isinstance(value, str | list)
    if form and not text_or_list and not fits and given_format != form:
        return findings.wrong_type(path, form, given_format)
    if form and text_or_list and "number" not in types and "integer" not in types:
        return None
    return None if fits else findings.wrong_type(path, ",".join(types), given)


def _is_whole(value: float) -> bool:
    if math.isnan(value) or abs(value) > _MAX_SAFE:
        return False
    return value == round(value) or (
        abs(value) >= 1 and abs(value - int(value)) / (abs(value) + abs(int(value))) < 1e-9
    )


def _check_enum(node: Node, value: Any, path: str, result: Findings) -> None:
    allowed = node.raw.get("enum")
    if allowed and not any(_is_enum_value(value, each) for each in allowed):
        result.add(findings.not_in_enum(path, value, allowed))


def _is_enum_value(value: Any, allowed: Any) -> bool:
    if value is None or allowed is None:
        return False
    if isinstance(value, float) and allowed.__class__ is int:
        return abs(value) < 2**63 and int(value) == allowed
    if value.__class__ is int and isinstance(allowed, float):
        return value == allowed
    return same(value, allowed)


def _check_string(node: Node, value: str, path: str, result: Findings) -> None:
    raw = node.raw
    longest, shortest, pattern = raw.get("maxLength"), raw.get("minLength"), raw.get("pattern")
    if longest is not None and len(value) > longest:
        text = f"{path} in body should be at most {longest} chars long"
        result.add(Finding(Kind.TOO_LONG, path, text, value, longest))
    elif shortest is not None and len(value) < shortest:
        result.add(findings.invalid(path, value, f"should be at least {shortest} chars long"))
    elif pattern:
        try:
            matches = compile_pattern(pattern).search(value)
        except PatternError as error:
            matches, pattern = False, f"{pattern}, but pattern is invalid: {error}"
        if not matches:
            result.add(findings.invalid(path, value, f"should match '{pattern}'"))
    if node.format and formats.supported(node.format):
        result.passed += 1
        if not formats.check(node.format)(value):
            result.add(findings.wrong_type(path, node.format, value))


def _check_number(node: Node, value: float, path: str, result: Findings) -> None:
    raw, types = node.raw, node.types
    type_name = types[0] if len(types) == 1 and types[0] in ("integer", "number") else ""
    form = node.format if type_name else ""

    def out_of_range(number: float, what: str) -> bool:
        if _in_range(number, type_name, form):
            return False
        described = f"with format {form}" if form else "(default format)"
        result.add(findings.nowhere(f"{what} value must be of type {type_name} {described} in {path}"))
        return True

    out_of_range(value, "Checked")
    multiple = raw.get("multipleOf")
    if multiple is not None:
        general = out_of_range(multiple, "MultipleOf")
        _check_multiple(value, multiple, general, path, result)
    for keyword, what in (("minimum", "Minimum boundary"), ("maximum", "Maximum boundary")):
        bound = raw.get(keyword)
        if bound is None:
            continue
        general = out_of_range(bound, what)
        exclusive = raw.get("exclusive" + keyword.title()) is True
        native = isinstance(value, int) and not general
        shown = int(bound) if native else float(bound)
        given = value if native else float(value)
        over = given > shown if keyword == "maximum" else given < shown
        if over or (exclusive and given == shown):
            relation = ("less" if keyword == "maximum" else "greater") + " than" + ("" if exclusive else " or equal to")
            result.add(findings.invalid(path, given, f"should be {relation} {gotext.plain(shown)}"))


def _in_range(number: float, type_name: str, form: str) -> bool:
    if type_name == "integer":
        if isinstance(number, float) and not (math.isfinite(number) and number.is_integer()):
            return False
        return int(number) in (_INT32 if form == "int32" else _INT64)
    return form != "float" or abs(number) < _MAX_FLOAT32


def _check_multiple(value: float, multiple: float, general: bool, path: str, result: Findings) -> None:
    factor: float = int(multiple) if isinstance(value, int) and not general else float(multiple)
    if factor <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {gotext.plain(factor)}"
        result.add(Finding(Kind.INVALID, path, text, factor))
        return
    if isinstance(factor, int):
        fits = value % factor == 0
    else:
        fits = _is_whole(1 / factor * value if factor < 1 else value / factor)
    if not fits:
        given = value if isinstance(factor, int) else float(value)
        result.add(findings.invalid(path, given, f"should be a multiple of {gotext.plain(factor)}"))


def _check_list(node: Node, value: list[Any], path: str, pair: Correlated | None, result: Findings) -> None:
    items = node.items
    if items is not None:
        for place, item in enumerate(value):
            inner = pair.index(place) if pair is not None else None
            result.merge(explain(items, item, f"{path}[{place}]", inner))
    fewest, most = node.raw.get("minItems"), node.raw.get("maxItems")
    if fewest is not None and len(value) < fewest:
        result.add(findings.invalid(path, len(value), f"should have at least {fewest} items"))
    if most is not None and len(value) > most:
        text = f"{path} in body should have at most {most} items"
        result.add(Finding(Kind.TOO_MANY, path, text, len(value), most))
    if node.raw.get("uniqueItems") is True and any(
        same(item, earlier) for place, item in enumerate(value) for earlier in value[:place]
    ):
        result.add(findings.invalid(path, "", "shouldn't contain duplicates"))


def _check_object(node: Node, value: dict[str, Any], path: str, pair: Correlated | None, result: Findings) -> None:
    fewest, most = node.raw.get("minProperties"), node.raw.get("maxProperties")
    if fewest is not None and len(value) < fewest:
        result.add(findings.invalid(path, len(value), f"should have at least {fewest} properties"))
    if most is not None and len(value) > most:
        text = f"{path} in body should have at most {most} properties"
        result.add(Finding(Kind.TOO_MANY, path, text, len(value), most))
    if node.allows_additional is False:
        for name in value:
            if name not in node.properties:
                text = f"{path}.{name} in body is a forbidden property"
                result.add(Finding(Kind.INVALID, path, text, name))
    elif node.additional is not None:
        for name, item in value.items():
            if name not in node.properties:
                result.merge(explain(node.additional, item, f"{path}.{name}", _field_pair(pair, path, name)))
    for name in node.properties:
        if name in value:
            child = node.child(name)
            assert child is not None
            where = f"{path}.{name}" if path else name
            result.merge(explain(child, value[name], where, _field_pair(pair, path, name)))
    for name in node.required:
        if name not in value:
            result.add(findings.missing(f"{path}.{name}"))


def _field_pair(pair: Correlated | None, path: str, name: str) -> Correlated | None:
    # Both versions of an object were converted to one apiVersion and kind: their old values are not to be seen.
    if pair is None or (not path and name in ("kind", "apiVersion")):
        return None
    return pair.key(name)


def _check_junctors(node: Node, value: Any, path: str, result: Findings) -> None:
    where = gotext.quoted(path)
    if node.any_of:
        best: Findings | None = None
        for alternative in node.any_of:
            outcome = explain(alternative, value, path)
            if not outcome.found:
                best = outcome
                break
            if best is None or outcome.passed > best.passed:
                best = outcome
        assert best is not None
        if best.found:
            result.add(findings.nowhere(f"{where} must validate at least one schema (anyOf)"))
        result.merge(best)
    if node.one_of:
        _check_one_of(node.one_of, value, path, result)
    if node.all_of:
        valid = 0
        for part in node.all_of:
            outcome = explain(part, value, path)
            valid += not outcome.found
            result.merge(outcome)
        if valid != len(node.all_of):
            none = "" if valid else ". None validated"
            result.add(findings.nowhere(f"{where} must validate all the schemas (allOf){none}"))
    if node.negated is not None and not explain(node.negated, value, path).found:
        result.add(findings.nowhere(f"{where} must not validate the schema (not)"))


def _check_one_of(alternatives: list[Node], value: Any, path: str, result: Findings) -> None:
    best: Findings | None = None
    first: Findings | None = None
    valid = 0
    for alternative in alternatives:
        outcome = explain(alternative, value, path)
        if not outcome.found:
            valid += 1
            best = None
            first = first or outcome
        elif not valid and (best is None or outcome.passed > best.passed):
            best = outcome
    if valid == 1:
        assert first is not None
        result.merge(first)
        return
    found = f"Found {valid} valid alternatives" if valid else "Found none valid"
    where = gotext.quoted(path)
    result.add(findings.nowhere(f"{where} must validate one and only one schema (oneOf). {found}"))
    if best is not None:
        result.merge(best)
