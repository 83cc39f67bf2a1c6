"""An admission policy that lets nobody but the gate open the gate.

Nothing depends on it: a grant that somebody forged is found and taken back. With the policy it is never stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rayward.kinds import labels
from rayward.kinds.kueue import names
from rayward.kinds.resources import RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES
from rayward.kube.core.resource import Resource
from rayward.kube.machinery.jsonvalue import Object

NAME: Final = "rayward-gate"
_API: Final = "admissionregistration.k8s.io/v1"


def manifests(accounts: Sequence[str]) -> list[Object]:
    """The policies and their bindings; ``accounts`` are the users that gate and operator act as."""
    return [
        *_policy(
            f"{NAME}-rayclusters",
            RAY_CLUSTERS,
            accounts,
            [*_values("grant", "annotations", labels.ADMITTED), *_QUEUES],
            [
                _written_by_gate("grant", labels.ADMITTED, "; leave it out of what you apply"),
                (
                    "variables.gate || variables.queueBefore == '' || variables.queueBefore == variables.queueAfter",
                    f"label {labels.QUEUE_NAME} of a RayCluster cannot be changed: create another RayCluster",
                ),
                _stays_in_a_queue(RAY_CLUSTERS),
            ],
        ),
        *_policy(
            f"{NAME}-rayjobs",
            RAY_JOBS,
            accounts,
            [*_values("mark", "annotations", labels.SUSPENDED_BY), *_QUEUES],
            [_written_by_gate("mark", labels.SUSPENDED_BY), _stays_in_a_queue(RAY_JOBS)],
        ),
        *_policy(f"{NAME}-rayservices", RAY_SERVICES, accounts, _QUEUES, [_stays_in_a_queue(RAY_SERVICES)]),
    ]


def _written_by_gate(name: str, annotation: str, advice: str = "") -> tuple[str, str]:
    """An annotation that others may remove, and not write."""
    return (
        f"variables.gate || variables.{name}After == '' || variables.{name}Before == variables.{name}After",
        f"annotation {annotation} is written by the quota gate only{advice}",
    )


def _stays_in_a_queue(resource: Resource) -> tuple[str, str]:
    """Whoever took the label away would have the next release, or the next attempt, run without quota."""
    was_in_none = "variables.queueBefore == '' && variables.kueuesBefore == ''"
    is_in_one = "variables.queueAfter != '' || variables.kueuesAfter != ''"
    kind = resource.kind
    return (
        f"variables.gate || ({was_in_none}) || {is_in_one}",
        f"the label that names the queue of a {kind} cannot be removed: name another queue, or create the {kind} anew",
    )


def _policy(
    name: str,
    resource: Resource,
    accounts: Sequence[str],
    variables: Sequence[Object],
    validations: Sequence[tuple[str, str]],
) -> list[Object]:
    listed = ", ".join(f"'{account}'" for account in accounts)
    rule = {
        "apiGroups": [resource.group],
        "apiVersions": [resource.version],
        # A copy on another object grants nothing, so that creating one need not be refused.
        "operations": ["UPDATE"],
        "resources": [resource.plural],
    }
    spec: Object = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "variables": [{"name": "gate", "expression": f"request.userInfo.username in [{listed}]"}, *variables],
        "validations": [
            {"expression": expression, "message": message, "reason": "Forbidden"} for expression, message in validations
        ],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    return [
        {"apiVersion": _API, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec},
        {"apiVersion": _API, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": binding},
    ]


def _values(name: str, part: str, key: str) -> list[Object]:
    """Variables with what was there before and what is there after; empty where nothing is."""
    found: list[Object] = []
    for when, whose in (("Before", "oldObject"), ("After", "object")):
        value = f"{whose}.metadata.{part}"
        expression = f"has({value}) && '{key}' in {value} ? {value}['{key}'] : ''"
        found.append({"name": f"{name}{when}", "expression": expression})
    return found


_QUEUES: Final = (*_values("queue", "labels", labels.QUEUE_NAME), *_values("kueues", "labels", names.QUEUE_NAME))
