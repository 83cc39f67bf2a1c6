"""CEL rules of a schema (``x-kubernetes-validations``) and how they run over an object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rayward.kube.machinery import cel, fielderror
from rayward.kube.machinery.cel.decltype import DeclType, declare
from rayward.kube.machinery.cel.evaluate import PER_CALL_LIMIT
from rayward.kube.machinery.cel.values import NONE, Optional
from rayward.kube.machinery.fielderror import OMIT, FieldError
from rayward.kube.machinery.schema import fieldpath
from rayward.kube.machinery.schema.correlation import Correlated, keyed_items, list_key
from rayward.kube.machinery.schema.findings import NO_FIELD, shown
from rayward.kube.machinery.schema.node import Node, Raw

BUDGET: Final = 10_000_000
"""What all rules together may cost for one object."""

_MAX_MESSAGE: Final = 5 * 1024
_OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; ``error`` says why it did not compile."""

    raw: Raw
    program: cel.Program | None = None
    error: str = ""
    message_program: cel.Program | None = None
    message_error: str = ""
    field_path: str = ""

    @property
    def uses_old(self) -> bool:
        """Whether it compares with the value before (a transition rule)."""
        return self.program is not None and "oldSelf" in self.program.variables

    @property
    def optional_old(self) -> bool:
        """Whether it also runs when there is no value before."""
        return self.raw.get("optionalOldSelf") is True

    @property
    def shown(self) -> str:
        """What stands for the rule in messages."""
        return (self.raw.get("message") or "").strip() or str(self.raw.get("rule") or "").strip()


def compile_rules(raw: Raw, declared: DeclType) -> list[Rule]:
    """The rules of one schema, whatever is wrong with each."""
    return [_compile(rule, raw, declared) for rule in raw.get("x-kubernetes-validations") or ()]


def _compile(rule: Raw, schema: Raw, declared: DeclType) -> Rule:
    text: str = rule.get("rule") or ""
    if not text.strip():
        return Rule(rule)
    optional = rule.get("optionalOldSelf") is True
    try:
        program = cel.compile_for_schema(text, declared, optional_old=optional)
    except cel.InstantiationError as error:
        return Rule(rule, error=f"program instantiation failed: {error}")
    except cel.CompileError as error:
        return Rule(rule, error=f"compilation failed: {error}")
    if program.result != "bool":
        return Rule(rule, error="cel expression must evaluate to a bool")
    message, problem = _compile_message(rule.get("messageExpression") or "", declared, optional)
    where = rule.get("fieldPath") or ""
    return Rule(
        rule,
        program,
        message_program=message,
        message_error=problem,
        field_path=(fieldpath.normalize(where, schema) or "") if where else "",
    )


def _compile_message(text: str, declared: DeclType, optional: bool) -> tuple[cel.Program | None, str]:
    if not text:
        return None, ""
    try:
        program = cel.compile_for_schema(text, declared, optional_old=optional)
    except cel.InstantiationError as error:
        return None, f"messageExpression instantiation failed: {error}"
    except cel.CompileError as error:
        return None, f"messageExpression compilation failed: {error}"
    if program.result != "string":
        return None, "messageExpression must evaluate to a string"
    return program, ""


@dataclass(slots=True)
class Plan:
    """Where below a schema there are rules."""

    node: Node
    resource_root: bool
    fields: Mapping[str, Plan]
    items: Plan | None
    additional: Plan | None
    _rules: list[Rule] | None = None

    @property
    def rules(self) -> list[Rule]:
        """The rules of this very schema, compiled when first needed."""
        if self._rules is None:
            declared = declare(self.node.raw, resource_root=self.resource_root) if self.node.rules else None
            self._rules = [] if declared is None else compile_rules(self.node.raw, declared)
        return self._rules


def plan(node: Node, *, resource_root: bool = False) -> Plan | None:
    """The way to every rule below a schema; None when there is none. References are not followed."""
    fields: dict[str, Plan] = {}
    for name, raw in node.properties.items():
        if _mentions_rules(raw):
            child = node.child(name)
            assert child is not None
            if (inner := plan(child, resource_root=child.embedded)) is not None:
                fields[name] = inner
    items = additional = None
    if node.items is not None and _mentions_rules(node.items.raw):
        items = plan(node.items, resource_root=node.items.embedded)
    if node.additional is not None and _mentions_rules(node.additional.raw):
        additional = plan(node.additional, resource_root=node.additional.embedded)
    if node.rules or fields or items or additional:
        return Plan(node, resource_root, fields, items, additional)
    return None


def _mentions_rules(raw: Raw) -> bool:
    if raw.get("x-kubernetes-validations"):
        return True
    properties: dict[str, Raw] = raw.get("properties") or {}
    if any(map(_mentions_rules, properties.values())):
        return True
    items: Any = raw.get("items")
    additional: Any = raw.get("additionalProperties")
    return (items.__class__ is dict and _mentions_rules(items)) or (
        additional.__class__ is dict and _mentions_rules(additional)
    )


class _Run:
    """One pass over an object: what was found, and how much of the budget is left."""

    __slots__ = ("budget", "errors")

    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self.budget = BUDGET


@dataclass(frozen=True, slots=True)
class _Ratchet:
    """The pair of new and old value here, or the nearest one above that has an old value."""

    pair: Correlated | None = None
    above: Correlated | None = None

    def tolerates(self) -> bool:
        """Whether nothing changed here, so that a complaint comes too late."""
        pair = self.pair or self.above
        return pair is not None and pair.equal()

    def key(self, name: str) -> _Ratchet:
        if self.pair is None:
            return self
        if self.above is None and name in ("apiVersion", "kind"):
            return _Ratchet()
        return _Ratchet(self.pair.key(name), self.pair)

    def index(self, place: int) -> _Ratchet:
        if self.pair is None:
            return self
        return _Ratchet(self.pair.index(place), self.pair)


def check(root: Plan, obj: Any, old: Any, pair: Correlated | None, path: str = "") -> list[FieldError]:
    """Every rule at ``path`` and below that a value breaks."""
    run = _Run()
    _check(root, obj, old, path, _Ratchet(pair), run)
    return run.errors


def _check(at: Plan, value: Any, old: Any, path: str, ratchet: _Ratchet, run: _Run) -> None:
    if value is None:
        return
    if at.node.rules:
        _check_rules(at, value, old, path, ratchet, run)
    if run.budget < 0:
        return
    if value.__class__ is list:
        if at.items is None:
            return
        keyed = at.node.list_type == "map" and old.__class__ is list
        before: Mapping[Any, Any] = keyed_items(at.node, old) if keyed else {}
        for place, item in enumerate(value):
            old_item = before.get(list_key(at.node, item)) if keyed else None
            _check(at.items, item, old_item, f"{path}[{place}]", ratchet.index(place), run)
    elif value.__class__ is dict:
        before = old if old.__class__ is dict else {}
        if at.additional is not None:
            for name, item in value.items():
                _check(at.additional, item, before.get(name), f"{path}[{name}]", ratchet.key(name), run)
        for name, inner in at.fields.items():
            if name in value:
                where = f"{path}.{name}" if path else name
                _check(inner, value[name], before.get(name), where, ratchet.key(name), run)


def _check_rules(at: Plan, value: Any, old: Any, path: str, ratchet: _Ratchet, run: _Run) -> None:
    kind: str = at.node.raw.get("type") or ""
    where = path or NO_FIELD
    if run.budget <= 0:
        run.errors.append(fielderror.invalid(where, kind, _OUT_OF_BUDGET))
        run.budget = -1
        return
    for rule in at.rules:
        if rule.error:
            run.errors.append(fielderror.invalid(where, kind, f"rule compile error: {rule.error}"))
            continue
        if rule.program is None or (rule.uses_old and old is None and not rule.optional_old):
            continue
        variables = {"self": value, "oldSelf": old}
        if rule.optional_old:
            variables["oldSelf"] = NONE if old is None else Optional(old)
        try:
            holds, cost = rule.program.evaluate(variables, min(PER_CALL_LIMIT, run.budget))
        except cel.BudgetExceededError as error:
            _refuse_cost(rule, kind, where, run, error)
            return
        except cel.NoSuchOverloadError as error:
            text = "call arguments did not match a supported operator, function or macro signature for rule"
            run.errors.append(fielderror.invalid(where, kind, f"'{error}': {text}: {rule.shown}"))
            continue
        except cel.EvaluationError as error:
            run.errors.append(fielderror.invalid(where, kind, f"{error} evaluating rule: {rule.shown}"))
            continue
        run.budget -= cost
        if holds is True or (not rule.uses_old and ratchet.tolerates()):
            continue
        run.errors.append(_broken(rule, value, kind, _join(path, rule.field_path), variables, run))


def _refuse_cost(rule: Rule, kind: str, where: str, run: _Run, error: Exception) -> None:
    text = _OUT_OF_BUDGET
    if run.budget >= PER_CALL_LIMIT:
        text = (
            f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {rule.shown}"
        )
    run.errors.append(fielderror.invalid(where, kind, text))
    run.budget = -1


def _join(path: str, more: str) -> str:
    return ".".join(part for part in (path, more) if part) or NO_FIELD


def _broken(rule: Rule, value: Any, kind: str, where: str, variables: Mapping[str, Any], run: _Run) -> FieldError:
    detail = _message(rule, variables, run)
    bad = OMIT if kind in ("object", "array") else shown(value)
    match rule.raw.get("reason"):
        case "FieldValueForbidden":
            return fielderror.forbidden(where, detail)
        case "FieldValueRequired":
            return fielderror.required(where, detail)
        case "FieldValueDuplicate":
            return fielderror.duplicate(where, bad)
        case _:
            return fielderror.invalid(where, bad, detail)


def _message(rule: Rule, variables: Mapping[str, Any], run: _Run) -> str:
    if rule.message_program is not None:
        try:
            text, cost = rule.message_program.evaluate(variables, max(min(PER_CALL_LIMIT, run.budget), 0))
        except (cel.EvaluationError, cel.BudgetExceededError):
            text, cost = "", 0
        run.budget -= cost
        text = str(text).strip()
        if text and "\n" not in text and len(text.encode()) <= _MAX_MESSAGE:
            return text
    return rule.shown if rule.raw.get("message") else f"failed rule: {rule.shown}"
