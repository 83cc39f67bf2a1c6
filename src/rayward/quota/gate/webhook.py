"""The rules of the admission policy as a webhook, for API servers without policies. Pure.

The API server asks only about edits that break a rule: its match conditions are the rules themselves, negated. So the
webhook fails closed, and while nobody answers nothing is refused that would not be refused anyway.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Sequence
from typing import Any, Final

from rayward.kube.core.resource import VALIDATING_WEBHOOK_CONFIGURATIONS, Resource
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.quota.gate.guards import GUARDS, Guard, broken
from rayward.quota.gate.policy import NAME, WHEN, is_gate, rule_of, value_of

PATH: Final = "/gate"
_SECONDS: Final = 5


def configuration(accounts: Sequence[str], client: Object, authority: bytes, *, conditional: bool = True) -> Object:
    """What the API server is told.

    Args:
        accounts: The users that gate and operator act as; they are never asked about.
        client: Where the webhook is: ``{"url": ...}``, or ``{"service": ...}``.
        authority: PEM of who signed its certificate.
        conditional: Whether the API server knows match conditions (Kubernetes 1.28). One that does not asks about
            every edit of a Ray object: it then lets edits pass while nobody answers, and the gate takes back what was
            forged.
    """
    reached = {**client, "caBundle": base64.b64encode(authority).decode()}
    return {
        "apiVersion": VALIDATING_WEBHOOK_CONFIGURATIONS.api_version,
        "kind": VALIDATING_WEBHOOK_CONFIGURATIONS.kind,
        "metadata": {"name": NAME},
        "webhooks": [_webhook(resource, accounts, reached, conditional) for resource in GUARDS],
    }


def keeps_conditions(configured: Object) -> bool:
    """Whether the API server kept the match conditions of a configuration that it was sent."""
    return all(entries(webhook, "matchConditions") for webhook in entries(configured, "webhooks"))


def answer(review: Object, accounts: Collection[str]) -> Object:
    """The AdmissionReview that answers another."""
    request: dict[str, Any] = section(review, "request")
    message = _refusal(request, accounts)
    response: Object = {"uid": request.get("uid", ""), "allowed": not message}
    if message:
        response["status"] = {"code": 403, "reason": "Forbidden", "message": message}
    return {"apiVersion": review.get("apiVersion", ""), "kind": review.get("kind", ""), "response": response}


def _refusal(request: dict[str, Any], accounts: Collection[str]) -> str:
    if section(request, "userInfo").get("username") in accounts or request.get("operation") != "UPDATE":
        return ""
    asked = section(request, "resource")
    named = (asked.get("group"), asked.get("resource"))
    guards = next((found for resource, found in GUARDS.items() if (resource.group, resource.plural) == named), ())
    return broken(guards, section(request, "oldObject"), section(request, "object"))


def _webhook(resource: Resource, accounts: Sequence[str], client: Object, conditional: bool) -> Object:
    webhook: Object = {
        "name": f"{resource.plural}.gate.rayward.dev",
        "clientConfig": client,
        "rules": [rule_of(resource)],
        "failurePolicy": "Fail" if conditional else "Ignore",
        "sideEffects": "None",
        "timeoutSeconds": _SECONDS,
        "admissionReviewVersions": ["v1"],
    }
    if conditional:
        webhook["matchConditions"] = [
            {"name": "is-not-the-gate", "expression": f"!({is_gate(accounts)})"},
            {"name": "breaks-a-rule", "expression": _breaks_one(GUARDS[resource])},
        ]
    return webhook


def _breaks_one(guards: Sequence[Guard]) -> str:
    """In CEL; match conditions have no variables, so each value is written out."""
    read = dict.fromkeys(one for guard in guards for one in guard.reads)
    values = {f"{one}{when}": f"({value_of(one, whose)})" for one in read for when, whose in WHEN}
    return " || ".join(f"!({guard.expression.format_map(values)})" for guard in guards)
