"""Roles, bindings and questions about them, as the cases of roles put them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.contract.case import Step, create

USER = "u-{ns}"
RBAC = "rbac.authorization.k8s.io"


def rule(
    verbs: str, resources: str = "", groups: Sequence[str] = ("",), names: str = "", urls: str = ""
) -> dict[str, Any]:
    """A policy rule; words of a text are its items."""
    if urls:
        return {"verbs": verbs.split(), "nonResourceURLs": urls.split()}
    of_resource: dict[str, Any] = {"verbs": verbs.split(), "apiGroups": list(groups), "resources": resources.split()}
    return {**of_resource, **({"resourceNames": names.split()} if names else {})}


def cluster_role(*rules: Any, name: str = "r-{ns}", **more: Any) -> Step:
    """A cluster role is made."""
    return create("clusterroles", {"metadata": {"name": name}, "rules": list(rules), **more}).only_of("code")


def role(*rules: Any, name: str = "r") -> Step:
    """A role is made."""
    return create("roles", {"metadata": {"name": name}, "rules": list(rules)}).only_of("code")


def subject(kind: str, name: str, namespace: str = "") -> dict[str, str]:
    """Somebody to whom a binding gives a role."""
    return {"kind": kind, "name": name, **({"namespace": namespace} if namespace else {})}


def user(name: str = USER) -> dict[str, str]:
    """A user to whom a binding gives a role."""
    return subject("User", name)


def cluster_binding(*subjects: Any, role: str = "r-{ns}", name: str = "b-{ns}") -> Step:
    """A cluster role binding is made, for the user if nobody is named."""
    return create("clusterrolebindings", _binding(name, "ClusterRole", role, subjects)).only_of("code")


def binding(*subjects: Any, kind: str = "Role", role: str = "r", name: str = "b") -> Step:
    """A role binding is made in the namespace, for the user if nobody is named."""
    return create("rolebindings", _binding(name, kind, role, subjects)).only_of("code")


def _binding(name: str, kind: str, role: str, subjects: Sequence[Any]) -> dict[str, Any]:
    ref = {"apiGroup": RBAC, "kind": kind, "name": role}
    return {"metadata": {"name": name}, "roleRef": ref, "subjects": list(subjects) or [user()]}


def may(
    verb: str,
    resource: str,
    *,
    group: str = "",
    sub: str = "",
    name: str = "",
    namespace: str = "{ns}",
    who: str = USER,
    groups: Sequence[str] = (),
) -> Step:
    """Whether somebody may do something with a resource."""
    attributes = {"verb": verb, "resource": resource, "group": group, "subresource": sub, "name": name}
    attributes["namespace"] = namespace
    asked = {field: value for field, value in attributes.items() if value}
    return _review({"resourceAttributes": asked}, who, groups)


def may_path(verb: str, path: str, *, who: str = USER, groups: Sequence[str] = ()) -> Step:
    """Whether somebody may do something with a path."""
    return _review({"nonResourceAttributes": {"verb": verb, "path": path}}, who, groups)


def _review(spec: dict[str, Any], who: str, groups: Sequence[str]) -> Step:
    subject = {**({"user": who} if who else {}), **({"groups": list(groups)} if groups else {})}
    return create("subjectaccessreviews", {"spec": {**spec, **subject}}).only_of("status.allowed", "status.reason")


def once(step: Step) -> Step:
    """A review, repeated until it says yes: kube-apiserver sees roles and bindings a moment after their writer."""
    return step.polled(status__allowed=True)


def as_user(step: Step, name: str = USER, *groups: str) -> Step:
    """A step in a user's name."""
    headers = {**step.headers, "Impersonate-User": name}
    if groups:
        headers["Impersonate-Group"] = groups[0]
    return replace(step, headers=headers)
