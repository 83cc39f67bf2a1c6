"""An admission policy that lets nobody but the gate open the gate.

Nothing depends on it: a grant that somebody forged is found and taken back. With the policy it is never stored. Where
the API server has no policies, ``webhook`` has the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rayward.kube.core.resource import Resource
from rayward.kube.machinery.jsonvalue import Object
from rayward.quota.gate.guards import GUARDS, READ, Guard

NAME: Final = "rayward-gate"
_API: Final = "admissionregistration.k8s.io/v1"
WHEN: Final = (("Before", "oldObject"), ("After", "object"))


def manifests(accounts: Sequence[str]) -> list[Object]:
    """The policies and their bindings; ``accounts`` are the users that gate and operator act as."""
    return [made for resource, guards in GUARDS.items() for made in _policy(resource, guards, accounts)]


def rule_of(resource: Resource) -> Object:
    """The requests that the rules for a kind are about."""
    return {
        "apiGroups": [resource.group],
        "apiVersions": [resource.version],
        # A copy on another object grants nothing, so that creating one need not be refused.
        "operations": ["UPDATE"],
        "resources": [resource.plural],
    }


def is_gate(accounts: Sequence[str]) -> str:
    """Whether a request is the gate's own, in CEL."""
    listed = ", ".join(_literal(account) for account in accounts)
    return f"request.userInfo.username in [{listed}]"


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def value_of(name: str, whose: str) -> str:
    """One of ``READ`` of the object or of the one before, in CEL; empty where it is not there."""
    part, key = READ[name]
    value = f"{whose}.metadata.{part}"
    return f"has({value}) && '{key}' in {value} ? {value}['{key}'] : ''"


def _policy(resource: Resource, guards: Sequence[Guard], accounts: Sequence[str]) -> list[Object]:
    name = f"{NAME}-{resource.plural}"
    read = dict.fromkeys(one for guard in guards for one in guard.reads)
    variables = {f"{one}{when}": value_of(one, whose) for one in read for when, whose in WHEN}
    known = {each: f"variables.{each}" for each in variables}
    validations: list[dict[str, Any]] = [
        {
            "expression": f"variables.gate || {guard.expression.format_map(known)}",
            "message": guard.message,
            "reason": "Forbidden",
        }
        for guard in guards
    ]
    spec: Object = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule_of(resource)]},
        "variables": [
            {"name": "gate", "expression": is_gate(accounts)},
            *({"name": each, "expression": expression} for each, expression in variables.items()),
        ],
        "validations": validations,
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    return [
        {"apiVersion": _API, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec},
        {"apiVersion": _API, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": binding},
    ]
