"""Roles and their bindings: what one may hold. The room ``rbac`` enforces them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rayward.kube.machinery.fielderror import FieldError, invalid, not_supported, required
from rayward.kube.machinery.names import check_dns1123_subdomain, check_path_segment, path_segment_name
from rayward.local.apiserver.behaviour import Behaviour, Object
from rayward.local.apiserver.builtin.check import Errors, fits, label_selector
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.inner import shown
from rayward.local.apiserver.builtin.kind import age_of, behaviour, meta_of, name_of
from rayward.local.apiserver.builtin.matching import is_sound

Spec = Mapping[str, Any]

_GROUP = "rbac.authorization.k8s.io"


def role_behaviour(*, cluster: bool) -> Behaviour:
    """The rules of roles or cluster roles."""
    kind, plural = ("ClusterRole", "clusterroles") if cluster else ("Role", "roles")

    def validate(obj: Object) -> list[FieldError]:
        return _check_role(obj, namespaced=not cluster)

    return behaviour(
        f"io.k8s.api.rbac.v1.{kind}",
        f"{_GROUP}/v1/{plural}",
        role_cells,
        validate=validate,
        validate_update=lambda new, _old: validate(new),
        check_name=path_segment_name,
        kube_finalizers=True,
        create_on_update=True,
    )


def binding_behaviour(*, cluster: bool) -> Behaviour:
    """The rules of role bindings or cluster role bindings."""
    kind, plural = ("ClusterRoleBinding", "clusterrolebindings") if cluster else ("RoleBinding", "rolebindings")

    def validate(obj: Object) -> list[FieldError]:
        return _check_binding(obj, namespaced=not cluster)

    return behaviour(
        f"io.k8s.api.rbac.v1.{kind}",
        f"{_GROUP}/v1/{plural}",
        binding_cells,
        default=default_binding,
        validate=validate,
        validate_update=_update_of(validate),
        check_name=path_segment_name,
        kube_finalizers=True,
        create_on_update=True,
    )


def _update_of(validate: Callable[[Object], list[FieldError]]) -> Callable[[Object, Object], list[FieldError]]:
    def validate_update(new: Object, old: Object) -> list[FieldError]:
        out = validate(new)
        if new.get("roleRef") != old.get("roleRef"):
            out.append(shown("RoleRef", new.get("roleRef"), "roleRef", "cannot change roleRef"))
        return out

    return validate_update


def default_binding(obj: Object) -> None:
    """Fill in the groups of a binding."""
    role = obj.setdefault("roleRef", {})
    if not role.get("apiGroup"):
        role["apiGroup"] = _GROUP
    for subject in obj.get("subjects") or NO_ITEMS:
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = _GROUP


def _check_role(obj: Object, *, namespaced: bool) -> list[FieldError]:
    out: Errors = []
    for index, rule in enumerate(obj.get("rules") or NO_ITEMS):
        _check_rule(rule, f"rules[{index}]", out, namespaced=namespaced)
    aggregation = obj.get("aggregationRule")
    if not namespaced and aggregation is not None:
        at, selectors = "aggregationRule.clusterRoleSelectors", aggregation.get("clusterRoleSelectors") or NO_ITEMS
        if not selectors:
            out.append(required(at, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
        for index, selector in enumerate(selectors):
            label_selector(selector, f"{at}[{index}]", out)
            if not is_sound(selector):
                out.append(invalid(f"{at}[{index}]", None, "invalid label selector."))
    return out


def _check_rule(rule: Spec, at: str, out: Errors, *, namespaced: bool) -> None:
    if not rule.get("verbs"):
        out.append(required(f"{at}.verbs", "verbs must contain at least one value"))
    urls = rule.get("nonResourceURLs") or NO_ITEMS
    if urls:
        if namespaced:
            text = "namespaced rules cannot apply to non-resource URLs"
            out.append(invalid(f"{at}.nonResourceURLs", urls, text))
        if any(rule.get(field) for field in ("apiGroups", "resources", "resourceNames")):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            out.append(invalid(f"{at}.nonResourceURLs", urls, text))
        return
    if not rule.get("apiGroups"):
        out.append(required(f"{at}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        out.append(required(f"{at}.resources", "resource rules must supply at least one resource"))


def _check_binding(obj: Object, *, namespaced: bool) -> list[FieldError]:
    out: Errors = []
    role = obj.get("roleRef") or NOTHING
    kinds = ["Role", "ClusterRole"] if namespaced else ["ClusterRole"]
    if role.get("apiGroup") != _GROUP:
        out.append(not_supported("roleRef.apiGroup", role.get("apiGroup") or "", [_GROUP]))
    if role.get("kind") not in kinds:
        out.append(not_supported("roleRef.kind", role.get("kind") or "", kinds))
    if not role.get("name"):
        out.append(required("roleRef.name"))
    else:
        fits(check_path_segment, role["name"], "roleRef.name", out)
    for index, subject in enumerate(obj.get("subjects") or NO_ITEMS):
        _check_subject(subject, f"subjects[{index}]", out, namespaced=namespaced)
    return out


def _check_subject(subject: Spec, at: str, out: Errors, *, namespaced: bool) -> None:
    kind, name, group = (subject.get(field) or "" for field in ("kind", "name", "apiGroup"))
    if not name:
        out.append(required(f"{at}.name"))
    if kind == "ServiceAccount":
        if name:
            fits(check_dns1123_subdomain, name, f"{at}.name", out)
        if group:
            out.append(not_supported(f"{at}.apiGroup", group, [""]))
        if not namespaced and not subject.get("namespace"):
            out.append(required(f"{at}.namespace"))
    elif kind in ("User", "Group"):
        if group != _GROUP:
            out.append(not_supported(f"{at}.apiGroup", group, [_GROUP]))
    else:
        out.append(not_supported(f"{at}.kind", kind, ["ServiceAccount", "User", "Group"]))


def role_cells(obj: Object, _now: float) -> list[Any]:
    """Name, Created At."""
    return [name_of(obj), meta_of(obj).get("creationTimestamp")]


def binding_cells(obj: Object, now: float) -> list[Any]:
    """Name, Role, Age, Users, Groups, ServiceAccounts."""
    role, subjects = obj.get("roleRef") or NOTHING, obj.get("subjects") or NO_ITEMS
    accounts = [
        f"{s.get('namespace') or ''}/{s.get('name') or ''}" for s in subjects if s.get("kind") == "ServiceAccount"
    ]
    return [
        name_of(obj),
        f"{role.get('kind') or ''}/{role.get('name') or ''}",
        age_of(obj, now),
        ", ".join(s.get("name") or "" for s in subjects if s.get("kind") == "User"),
        ", ".join(s.get("name") or "" for s in subjects if s.get("kind") == "Group"),
        ", ".join(accounts),
    ]
