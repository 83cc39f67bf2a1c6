"""When the pods of a job count as failed or as enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery.fielderror import OMIT, duplicate, invalid, not_supported, required, too_long, too_many
from rayward.local.apiserver.builtin.check import Errors, not_negative, qualified_name
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.job.indexes import IndexesError, count_indexes

Spec = Mapping[str, Any]

_ACTIONS = ["Count", "FailIndex", "FailJob", "Ignore"]
_OPERATORS = ["In", "NotIn"]
_STATUSES = ["False", "True", "Unknown"]


def _valid_values(values: Sequence[str]) -> str:
    return "valid values: [" + " ".join(f'"{value}"' for value in values) + "]"


def check_failure_policy(spec: Spec, at: str, out: Errors) -> None:
    """Rules that look at exit codes and conditions of a failed pod."""
    rules = spec["podFailurePolicy"].get("rules") or NO_ITEMS
    if len(rules) > 20:
        out.append(too_many(f"{at}.rules", len(rules), 20))
    pod = spec["template"].get("spec") or NOTHING
    names = {c.get("name") for field in ("containers", "initContainers") for c in pod.get(field) or NO_ITEMS}
    for index, rule in enumerate(rules):
        here, action = f"{at}.rules[{index}]", rule.get("action") or ""
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or NO_ITEMS
        if not action:
            out.append(required(f"{here}.action", _valid_values(_ACTIONS)))
        elif action == "FailIndex":
            if spec.get("backoffLimitPerIndex") is None:
                out.append(invalid(f"{here}.action", action, "requires the backoffLimitPerIndex to be set"))
        elif action not in _ACTIONS:
            out.append(not_supported(f"{here}.action", action, _ACTIONS))
        if codes is not None:
            _check_exit_codes(codes, names, f"{here}.onExitCodes", out)
        _check_conditions(conditions, f"{here}.onPodConditions", out)
        if codes is not None and conditions:
            out.append(invalid(here, OMIT, "specifying both OnExitCodes and OnPodConditions is not supported"))
        if codes is None and not conditions:
            out.append(invalid(here, OMIT, "specifying one of OnExitCodes and OnPodConditions is required"))


def _check_conditions(patterns: Sequence[Spec], at: str, out: Errors) -> None:
    if len(patterns) > 20:
        out.append(too_many(at, len(patterns), 20))
    for index, pattern in enumerate(patterns):
        here, status = f"{at}[{index}]", pattern.get("status") or ""
        qualified_name(pattern.get("type") or "", f"{here}.type", out)
        if not status:
            out.append(required(f"{here}.status", _valid_values(_STATUSES)))
        elif status not in _STATUSES:
            out.append(not_supported(f"{here}.status", status, _STATUSES))


def _check_exit_codes(codes: Spec, names: set[Any], at: str, out: Errors) -> None:
    operator, values = codes.get("operator") or "", codes.get("values") or NO_ITEMS
    if not operator:
        out.append(required(f"{at}.operator", _valid_values(_OPERATORS)))
    elif operator not in _OPERATORS:
        out.append(not_supported(f"{at}.operator", operator, _OPERATORS))
    name = codes.get("containerName")
    if name is not None and name not in names:
        text = "must be one of the container or initContainer names in the pod template"
        out.append(invalid(f"{at}.containerName", name, text))
    if not values:
        out.append(invalid(f"{at}.values", codes.get("values"), "at least one value is required"))
    elif len(values) > 255:
        out.append(too_many(f"{at}.values", len(values), 255))
    seen: set[int] = set()
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            out.append(invalid(f"{at}.values[{index}]", value, "must not be 0 for the In operator"))
        if value in seen:
            out.append(duplicate(f"{at}.values[{index}]", value))
        seen.add(value)
    if list(values) != sorted(values):
        out.append(invalid(f"{at}.values", values, "must be ordered"))


def check_success_policy(spec: Spec, at: str, out: Errors) -> None:
    """Rules that end an indexed job early."""
    rules = spec["successPolicy"].get("rules") or NO_ITEMS
    if not rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        out.append(required(f"{at}.rules", text))
    if len(rules) > 20:
        out.append(too_many(f"{at}.rules", len(rules), 20))
    for index, rule in enumerate(rules):
        _check_success_rule(rule, spec.get("completions") or 0, f"{at}.rules[{index}]", out)


def _check_success_rule(rule: Spec, completions: int, at: str, out: Errors) -> None:
    count, indexes, total = rule.get("succeededCount"), rule.get("succeededIndexes"), 0
    if count is None and indexes is None:
        out.append(required(at, "at least one of succeededCount or succeededIndexes must be specified"))
    if indexes is not None:
        here = f"{at}.succeededIndexes"
        if len(indexes.encode()) > 64 * 1024:
            out.append(too_long(here, 64 * 1024))
        try:
            total = count_indexes(indexes, completions)
        except IndexesError as error:
            out.append(invalid(here, indexes, f"error parsing succeededIndexes: {error}"))
    if count is None:
        return
    here = f"{at}.succeededCount"
    not_negative(count, here, out)
    if count > completions:
        text = f"must be less than or equal to {completions} (the number of specified completions)"
        out.append(invalid(here, count, text))
    if indexes is not None and count > total:
        text = f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        out.append(invalid(here, count, text))
