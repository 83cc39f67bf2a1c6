"""Where a pod may run: affinity, tolerations, spreading, gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery.fielderror import duplicate, forbidden, invalid, not_supported, required
from rayward.kube.machinery.names import check_dns1123_label, check_dns1123_subdomain, check_label_value
from rayward.local.apiserver.builtin.check import Errors, fits, label_selector, one_of, positive, qualified_name
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING

Spec = Mapping[str, Any]

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_BAD_OPERATOR = "not a valid selector operator"
_BOTH = "exists in both matchLabelKeys and "


def check_affinity(affinity: Spec | None, at: str, out: Errors) -> None:
    """Affinity to nodes and to other pods."""
    if not affinity:
        return
    nodes = affinity.get("nodeAffinity")
    if nodes is not None:
        _check_node_affinity(nodes, f"{at}.nodeAffinity", out)
    for field in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(field)
        if pods is None:
            continue
        for index, term in enumerate(pods.get(_REQUIRED) or NO_ITEMS):
            _check_pod_term(term, f"{at}.{field}.{_REQUIRED}[{index}]", out)
        for index, weighted in enumerate(pods.get(_PREFERRED) or NO_ITEMS):
            here = f"{at}.{field}.{_PREFERRED}[{index}]"
            _check_weight(weighted, here, out)
            _check_pod_term(weighted.get("podAffinityTerm") or NOTHING, f"{here}.podAffinityTerm", out)


def _check_weight(term: Spec, at: str, out: Errors) -> None:
    weight = term.get("weight") or 0
    if not 1 <= weight <= 100:
        out.append(invalid(f"{at}.weight", weight, "must be in the range 1-100"))


def _check_node_affinity(nodes: Spec, at: str, out: Errors) -> None:
    if nodes.get(_REQUIRED) is not None:
        here = f"{at}.{_REQUIRED}.nodeSelectorTerms"
        terms = nodes[_REQUIRED].get("nodeSelectorTerms") or NO_ITEMS
        if not terms:
            out.append(required(here, "must have at least one node selector term"))
        for index, term in enumerate(terms):
            _check_node_term(term, f"{here}[{index}]", out, any_value=False)
    for index, preferred in enumerate(nodes.get(_PREFERRED) or NO_ITEMS):
        here = f"{at}.{_PREFERRED}[{index}]"
        _check_weight(preferred, here, out)
        _check_node_term(preferred.get("preference") or NOTHING, f"{here}.preference", out, any_value=True)


def _check_node_term(term: Spec, at: str, out: Errors, *, any_value: bool) -> None:
    for index, expression in enumerate(term.get("matchExpressions") or NO_ITEMS):
        _check_node_expression(expression, f"{at}.matchExpressions[{index}]", out, any_value=any_value)
    for index, expression in enumerate(term.get("matchFields") or NO_ITEMS):
        _check_node_field(expression, f"{at}.matchFields[{index}]", out)


def _check_node_expression(expression: Spec, at: str, out: Errors, *, any_value: bool) -> None:
    operator, values = expression.get("operator") or "", expression.get("values") or NO_ITEMS
    if operator in ("In", "NotIn"):
        if not values:
            out.append(required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            out.append(forbidden(f"{at}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            out.append(required(f"{at}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'"))
    else:
        out.append(invalid(f"{at}.operator", operator, _BAD_OPERATOR))
    qualified_name(expression.get("key") or "", f"{at}.key", out)
    if not any_value:
        for index, value in enumerate(values):
            fits(check_label_value, value, f"{at}.values[{index}]", out)


def _check_node_field(expression: Spec, at: str, out: Errors) -> None:
    operator, values, key = (
        expression.get("operator") or "",
        expression.get("values") or NO_ITEMS,
        expression.get("key"),
    )
    if operator in ("In", "NotIn"):
        if len(values) != 1:
            text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            out.append(required(f"{at}.values", text))
    else:
        out.append(invalid(f"{at}.operator", operator, _BAD_OPERATOR))
    if key != "metadata.name":
        out.append(invalid(f"{at}.key", key or "", "not a valid field selector key"))
        return
    for index, value in enumerate(values):
        fits(check_dns1123_subdomain, value, f"{at}.values[{index}]", out)


def _check_pod_term(term: Spec, at: str, out: Errors) -> None:
    label_selector(term.get("labelSelector"), f"{at}.labelSelector", out)
    label_selector(term.get("namespaceSelector"), f"{at}.namespaceSelector", out)
    for name in term.get("namespaces") or NO_ITEMS:
        fits(check_dns1123_label, name, f"{at}.namespace", out)
    check_label_keys(term, at, out)
    key = term.get("topologyKey") or ""
    if not key:
        out.append(required(f"{at}.topologyKey", "can not be empty"))
    qualified_name(key, f"{at}.topologyKey", out)


def check_label_keys(term: Spec, at: str, out: Errors) -> None:
    """Keys whose values in the pod's own labels narrow a selector."""
    match: Sequence[str] = term.get("matchLabelKeys") or NO_ITEMS
    mismatch: Sequence[str] = term.get("mismatchLabelKeys") or NO_ITEMS
    places = {key: index for index, key in reversed(list(enumerate(match)))}
    if not match and not mismatch:
        return
    selector = term.get("labelSelector")
    for field, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        if keys and selector is None:
            out.append(forbidden(f"{at}.{field}", "must not be specified when labelSelector is not set"))
        elif keys:
            for index, key in enumerate(keys):
                qualified_name(key, f"{at}.{field}[{index}]", out)
    if selector is not None:
        seen = set[str](selector.get("matchLabels") or NO_ITEMS)
        for expression in selector.get("matchExpressions") or NO_ITEMS:
            key = expression.get("key") or ""
            if key in places and key in seen:
                out.append(invalid(f"{at}[{places[key]}]", key, f"{_BOTH}labelSelector"))
            seen.add(key)
    mismatched = frozenset(mismatch)
    for index, key in enumerate(match):
        if key in mismatched:
            out.append(invalid(f"{at}.matchLabelKeys[{index}]", key, f"{_BOTH}mismatchLabelKeys"))


def check_tolerations(tolerations: Sequence[Spec], at: str, out: Errors) -> None:
    """Taints that the pod tolerates."""
    for index, toleration in enumerate(tolerations):
        here = f"{at}[{index}]"
        key, operator = toleration.get("key") or "", toleration.get("operator") or ""
        value, effect = toleration.get("value") or "", toleration.get("effect") or ""
        if key:
            qualified_name(key, f"{here}.key", out)
        elif operator != "Exists":
            text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            out.append(invalid(f"{here}.operator", operator, text))
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            out.append(invalid(f"{here}.effect", effect, text))
        if operator in ("Equal", ""):
            messages = check_label_value(value)
            if messages:
                out.append(invalid(f"{here}.operator", value, ";".join(messages)))
        elif operator == "Exists":
            if value:
                out.append(invalid(f"{here}.operator", value, "value must be empty when `operator` is 'Exists'"))
        elif operator in ("Lt", "Gt"):
            out.append(not_supported(f"{here}.operator", operator, ["Equal", "Exists", "Lt", "Gt"]))
        else:
            out.append(not_supported(f"{here}.operator", operator, ["Equal", "Exists"]))
        if effect:
            one_of(effect, EFFECTS, f"{here}.effect", out)


def check_spread(constraints: Sequence[Spec], at: str, out: Errors) -> None:
    """How evenly pods spread over zones or nodes."""
    last = {_spread_key(constraint): index for index, constraint in enumerate(constraints)}
    for index, constraint in enumerate(constraints):
        here = f"{at}[{index}]"
        key, action = _spread_key(constraint)
        positive(constraint.get("maxSkew") or 0, f"{here}.maxSkew", out)
        if not key:
            out.append(required(f"{here}.topologyKey", "can not be empty"))
        one_of(action, ("DoNotSchedule", "ScheduleAnyway"), f"{here}.whenUnsatisfiable", out)
        if last[key, action] > index:
            out.append(duplicate(f"{here}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
        domains = constraint.get("minDomains")
        if domains is not None:
            positive(domains, f"{here}.minDomains", out)
            if action != "DoNotSchedule":
                text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                out.append(invalid(f"{here}.minDomains", domains, text))
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if constraint.get(field) is not None:
                one_of(constraint[field], ("Honor", "Ignore"), f"{here}.{field}", out)
        check_label_keys(constraint, here, out)
        label_selector(constraint.get("labelSelector"), f"{here}.labelSelector", out)


def _spread_key(constraint: Spec) -> tuple[str, str]:
    return constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or ""


def check_gates(spec: Spec, at: str, out: Errors) -> None:
    """Conditions that a ready pod needs, and gates before it is scheduled."""
    for index, gate in enumerate(spec.get("readinessGates") or NO_ITEMS):
        qualified_name(gate.get("conditionType") or "", f"{at}.readinessGates[{index}].conditionType", out)
    seen: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or NO_ITEMS):
        name, here = gate.get("name") or "", f"{at}.schedulingGates[{index}]"
        qualified_name(name, here, out)
        if name in seen:
            out.append(duplicate(here, name))
        seen.add(name)
