"""Nobody gives what he does not have: writing roles and bindings."""

from __future__ import annotations

from typing import Any

from tests.contract.access import (
    RBAC,
    USER,
    as_user,
    binding,
    cluster_binding,
    cluster_role,
    may,
    once,
    role,
    rule,
    user,
)
from tests.contract.case import Step, apply, case, create, delete, get, merge, update

_ALL_ROLES = rule("*", "roles rolebindings", [RBAC])
_ALL_CLUSTER_ROLES = rule("*", "clusterroles clusterrolebindings", [RBAC])
_WRITE = rule("create update patch get delete", "roles rolebindings", [RBAC])
_WRITE_CLUSTER = rule("create update patch get delete", "clusterroles clusterrolebindings", [RBAC])
_PODS = rule("get list", "pods")


def _role(name: str, *rules: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "rules": list(rules)}


def _bind(name: str, kind: str, ref: str, *subjects: Any) -> dict[str, Any]:
    role_ref = {"apiGroup": RBAC, "kind": kind, "name": ref}
    return {"metadata": {"name": name}, "roleRef": role_ref, "subjects": list(subjects) or [user("friend")]}


def _as(*steps: Step) -> list[Step]:
    return [as_user(step) for step in steps]


CASES = [
    case(
        "a role with rights that its writer has",
        role(_WRITE, _PODS),
        binding(),
        once(may("create", "roles", group=RBAC)),
        _as(
            create("roles", _role("a", rule("get", "pods"))).only_of("rules"),
            create("roles", _role("b", _PODS)).only_of("rules"),
            create("roles", _role("c")).only_of("kind"),
            create("roles", _role("d", rule("get", "pods", names="x"))).only_of("rules"),
            merge("roles/a", {"rules": [_PODS]}).only_of("rules"),
            merge("roles/a", {"metadata": {"labels": {"a": "b"}}}).only_of("metadata.labels"),
            delete("roles/a").only_of("status"),
        ),
    ),
    case(
        "a role with rights that its writer lacks",
        role(_WRITE, _PODS),
        binding(),
        once(may("create", "roles", group=RBAC)),
        _as(
            create("roles", _role("a", rule("delete", "pods"))),
            create("roles", _role("a", rule("get list delete", "pods secrets"))),
            create("roles", _role("a", rule("*", "*", ["*"]))),
            create("roles", _role("a", rule("get", "pods", ["", "apps"]))),
            create("roles", _role("a", rule("get", "pods/log"))),
            create("roles", _role("a", rule("get", "*/log"))),
            create("roles", _role("a", rule("delete get", "pods secrets", names="x y"))),
            create("roles", _role("a", rule("watch", "pods"), rule("delete", "pods"), rule("get", "services"))),
            create("roles", _role("a", rule("get", "pods"), rule("escalate", "roles", [RBAC]))),
            apply("roles/a", {"apiVersion": f"{RBAC}/v1", "kind": "Role", **_role("a", rule("delete", "pods"))}),
            update("roles/a", _role("a", rule("delete", "pods"))),
            create("roles", _role("a", rule("delete", "pods")), dryRun="All"),
        ),
    ),
    case(
        "names cover only themselves",
        role(_WRITE, rule("get", "secrets", names="one two")),
        binding(),
        once(may("create", "roles", group=RBAC)),
        _as(
            create("roles", _role("a", rule("get", "secrets", names="one"))).only_of("rules"),
            create("roles", _role("b", rule("get", "secrets", names="one three"))),
            create("roles", _role("c", rule("get", "secrets"))),
        ),
    ),
    case(
        "a changed role",
        role(_WRITE, _PODS),
        binding(),
        create("roles", _role("a", rule("delete", "pods"))).only_of("rules"),
        once(may("create", "roles", group=RBAC)),
        _as(
            merge("roles/a", {"metadata": {"labels": {"a": "b"}}}),
            merge("roles/a", {"metadata": {"finalizers": ["example.com/f"]}}).only_of("metadata.finalizers"),
            merge("roles/a", {"metadata": {"finalizers": []}}).only_of("metadata.finalizers"),
            merge("roles/a", {"rules": [_PODS]}).only_of("rules"),
            merge("roles/a", {"rules": [rule("delete", "pods")]}),
            merge("roles/a", {"rules": []}).only_of("rules"),
            delete("roles/a").only_of("status"),
        ),
    ),
    case(
        "who may escalate",
        role(_WRITE, rule("escalate", "roles", [RBAC])),
        binding(),
        once(may("escalate", "roles", group=RBAC)),
        _as(
            create("roles", _role("a", rule("*", "*", ["*"]))).only_of("rules"),
            merge("roles/a", {"rules": [rule("delete", "nodes")]}).only_of("rules"),
            create("rolebindings", _bind("b2", "Role", "a")),
        ),
    ),
    case(
        "who may escalate one role",
        role(_WRITE, rule("escalate", "roles", [RBAC], names="a")),
        binding(),
        create("roles", _role("a")).only_of("kind"),
        create("roles", _role("b")).only_of("kind"),
        once(may("escalate", "roles", group=RBAC, name="a")),
        _as(
            merge("roles/a", {"rules": [rule("delete", "nodes")]}).only_of("rules"),
            merge("roles/b", {"rules": [rule("delete", "nodes")]}),
            create("roles", _role("c", rule("delete", "nodes"))),
        ),
    ),
    case(
        "a star covers everything, also escalation",
        role(_ALL_ROLES),
        binding(),
        once(may("escalate", "roles", group=RBAC)),
        _as(create("roles", _role("a", rule("delete", "nodes"))).only_of("rules")),
    ),
    case(
        "a binding to a role whose rights its writer has",
        role(_WRITE, _PODS),
        binding(),
        create("roles", _role("reader", _PODS)).only_of("kind"),
        once(may("create", "rolebindings", group=RBAC)),
        _as(
            create("rolebindings", _bind("a", "Role", "reader")).only_of("subjects"),
            merge("rolebindings/a", {"subjects": []}).only_of("kind"),
            delete("rolebindings/a").only_of("status"),
        ),
    ),
    case(
        "a binding to a role whose rights its writer lacks",
        role(_WRITE, _PODS),
        binding(),
        create("roles", _role("writer", rule("create delete", "pods"), rule("get", "pods"))).only_of("kind"),
        create("rolebindings", _bind("there", "Role", "writer")).only_of("kind"),
        once(may("create", "rolebindings", group=RBAC)),
        _as(
            create("rolebindings", _bind("a", "Role", "writer")),
            create("rolebindings", _bind("a", "ClusterRole", "cluster-admin")),
            create("rolebindings", _bind("a", "ClusterRole", "system:node-problem-detector")),
            create("rolebindings", _bind("a", "Role", "gone")),
            create("rolebindings", _bind("a", "ClusterRole", "gone")),
            merge("rolebindings/there", {"subjects": [user("me")]}),
            merge("rolebindings/there", {"metadata": {"labels": {"a": "b"}}}),
            delete("rolebindings/there").only_of("status"),
            update("rolebindings/a", _bind("a", "Role", "writer")),
        ),
    ),
    case(
        "who may bind a role",
        role(_WRITE, rule("bind", "roles", [RBAC], names="writer")),
        binding(),
        create("roles", _role("writer", rule("delete", "pods"))).only_of("kind"),
        create("roles", _role("other", rule("delete", "pods"))).only_of("kind"),
        once(may("bind", "roles", group=RBAC, name="writer")),
        _as(
            create("rolebindings", _bind("a", "Role", "writer")).only_of("roleRef"),
            create("rolebindings", _bind("c", "Role", "other")),
            create("rolebindings", _bind("d", "ClusterRole", "writer")),
        ),
    ),
    case(
        "who may bind a cluster role in a namespace",
        role(_WRITE, rule("bind", "clusterroles", [RBAC], names="cluster-admin")),
        binding(),
        once(may("bind", "clusterroles", group=RBAC, name="cluster-admin")),
        _as(
            create("rolebindings", _bind("a", "ClusterRole", "cluster-admin")).only_of("roleRef"),
            create("rolebindings", _bind("c", "ClusterRole", "system:node")),
            create("clusterrolebindings", _bind("d-{ns}", "ClusterRole", "cluster-admin")),
        ),
    ),
    case(
        "cluster roles",
        cluster_role(_WRITE_CLUSTER, _PODS, rule("get", urls="/metrics /logs/*")),
        cluster_binding(),
        once(may("create", "clusterroles", group=RBAC, namespace="")),
        _as(
            create("clusterroles", _role("a-{ns}", _PODS)).only_of("rules"),
            create("clusterroles", _role("c-{ns}", rule("get", urls="/metrics"))).only_of("rules"),
            create("clusterroles", _role("d-{ns}", rule("get", urls="/logs/x /logs/*"))).only_of("rules"),
            create("clusterroles", _role("e-{ns}", rule("get", urls="/logs"))),
            create("clusterroles", _role("e-{ns}", rule("get post", urls="/metrics /x"))),
            create("clusterroles", _role("e-{ns}", rule("delete", "pods"))),
            create("clusterroles", _role("e-{ns}", rule("*", "pods"))),
            create("clusterrolebindings", _bind("f-{ns}", "ClusterRole", "a-{ns}")).only_of("roleRef"),
            create("clusterrolebindings", _bind("g-{ns}", "ClusterRole", "cluster-admin")),
            create("clusterrolebindings", _bind("g-{ns}", "ClusterRole", "gone")),
        ),
    ),
    case(
        "rights in a namespace are none in the cluster",
        cluster_role(_WRITE_CLUSTER),
        cluster_binding(),
        role(_PODS, _WRITE),
        binding(),
        once(may("create", "clusterroles", group=RBAC, namespace="")),
        once(may("get", "pods")),
        _as(
            create("clusterroles", _role("a-{ns}", _PODS)),
            create("roles", _role("a", _PODS)).only_of("rules"),
            create("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", _role("a-{ns}", _PODS)),
        ),
    ),
    case(
        "aggregation is for those who may do everything",
        cluster_role(_WRITE_CLUSTER, _PODS),
        cluster_binding(),
        once(may("create", "clusterroles", group=RBAC, namespace="")),
        create(
            "clusterroles",
            {**_role("g-{ns}"), "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"x": "{ns}"}}]}},
        ).only_of("kind"),
        _as(
            create(
                "clusterroles",
                {**_role("a-{ns}", _PODS), "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}},
            ),
            merge("clusterroles/g-{ns}", {"metadata": {"labels": {"a": "b"}}}),
            merge("clusterroles/g-{ns}", {"aggregationRule": None}),
        ),
    ),
    case(
        "a master gives what he wants",
        create("roles", _role("a", rule("*", "*", ["*"]))).only_of("kind"),
        as_user(create("roles", _role("c", rule("*", "*", ["*"]))), USER, "system:masters").only_of("kind"),
        create("rolebindings", _bind("a", "Role", "gone")).only_of("kind"),
    ),
    case(
        "wrong and forbidden at once",
        role(_WRITE),
        binding(),
        once(may("create", "roles", group=RBAC)),
        _as(
            create("roles", _role("a", {"verbs": [], "apiGroups": [""], "resources": ["pods"]})),
            create("roles", _role("A B", rule("delete", "pods"))),
            create("roles", _role("a/b", rule("delete", "pods"))),
            get("roles/a"),
        ),
    ),
]
