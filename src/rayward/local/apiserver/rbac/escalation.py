"""Nobody gives a right that he does not have: checked when roles and bindings are written.

The verbs ``escalate`` on a role and ``bind`` on the role that a binding names are the way around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rayward.kube.machinery.gotext import quoted
from rayward.kube.machinery.jsonvalue import Object, entries, section
from rayward.local.apiserver import status
from rayward.local.apiserver.attributes import Attributes
from rayward.local.apiserver.identity import User
from rayward.local.apiserver.rbac.access import Access
from rayward.local.apiserver.rbac.authorizer import MASTERS, Authorizer
from rayward.local.apiserver.rbac.policy import role_ref
from rayward.local.apiserver.rbac.rule import Rule, compact, go_list, missing

if TYPE_CHECKING:
    from rayward.local.apiserver.core import Core

GROUP: Final = "rbac.authorization.k8s.io"
_EVERYTHING: Final = (Rule(("*",), ("*",), ("*",)), Rule(("*",), urls=("*",)))
_COLLECTED: Final = frozenset({"ownerReferences", "finalizers", "managedFields", "resourceVersion"})


class EscalationCheck:
    """Guards writes of roles and bindings."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def check_role(self, _core: Core, attributes: Attributes) -> None:
        """A role holds no rule that its writer lacks. Raises ApiError."""
        user, obj, resource = attributes.user, attributes.obj, attributes.resource
        if obj is None or MASTERS in user.groups or _only_collected(obj, attributes.old):
            return
        name = "" if attributes.operation == "CREATE" else attributes.name
        escalate = Access("escalate", GROUP, resource.plural, "", attributes.namespace, name)
        if self._authorizer.authorize(user, escalate).allowed:
            return
        rules = [Rule.from_object(rule) for rule in entries(obj, "rules")]
        why = self._lacking(user, attributes.namespace, rules)
        if why:
            raise status.forbidden(resource, attributes.name, why)
        aggregates = _aggregates(obj) or _aggregates(attributes.old or {})
        if aggregates and self._lacking(user, attributes.namespace, _EVERYTHING):
            text = "must have cluster-admin privileges to use the aggregationRule"
            raise status.forbidden(resource, attributes.name, text)

    def check_binding(self, _core: Core, attributes: Attributes) -> None:
        """A binding gives no rule that its writer lacks. Raises ApiError."""
        user, obj, resource = attributes.user, attributes.obj, attributes.resource
        if obj is None or MASTERS in user.groups or _only_collected(obj, attributes.old):
            return
        role, namespace = role_ref(obj), attributes.namespace
        plural = {"ClusterRole": "clusterroles", "Role": "roles"}.get(role.kind)
        if plural is None:
            return
        bind = Access("bind", section(obj, "roleRef").get("apiGroup") or "", plural, "", namespace, role.name)
        if self._authorizer.authorize(user, bind).allowed:
            return
        rules = self._authorizer.index.rules_of(role, namespace)
        if rules is None:
            raise status.not_found(resource, role.name)
        why = self._lacking(user, namespace, rules)
        if why:
            raise status.forbidden(resource, attributes.name, why)

    def _lacking(self, user: User, namespace: str, wanted: Sequence[Rule]) -> str:
        """What the user would give without having it; empty for nothing."""
        grants = self._authorizer.index.grants(user, namespace)
        lacking = missing(grants.rules, wanted)
        if not lacking:
            return ""
        shown = "\n".join(sorted({str(rule) for rule in compact(lacking)}))
        who = f"user {quoted(user.name)} (groups={go_list(user.groups)})"
        text = f"{who} is attempting to grant RBAC permissions not currently held:\n{shown}"
        return f"{text}; resolution errors: [{grants.error}]" if grants.errors else text


def _aggregates(role: Object) -> bool:
    return bool(entries(section(role, "aggregationRule"), "clusterRoleSelectors"))


def _only_collected(obj: Object, old: Object | None) -> bool:
    """Whether nothing changes but what the garbage collector writes."""
    if old is None:
        return False
    return _without_collected(obj) == _without_collected(old)


def _without_collected(obj: Object) -> Object:
    metadata = {field: value for field, value in obj["metadata"].items() if field not in _COLLECTED}
    return {**obj, "metadata": metadata}
