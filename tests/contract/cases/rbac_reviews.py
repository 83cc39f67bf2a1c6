"""Reviews: asking what one may do, and what others may."""

from __future__ import annotations

from typing import Any

from tests.contract.access import USER, as_user, binding, cluster_role, may, may_path, once, role, rule
from tests.contract.case import case, create

_LOCAL = "/apis/authorization.k8s.io/v1/namespaces/{ns}/localsubjectaccessreviews"
_GET = {"verb": "get", "resource": "pods", "namespace": "{ns}"}


def _review(plural: str, **spec: Any) -> Any:
    return create(plural, {"spec": spec})


def _mine(**spec: Any) -> Any:
    return as_user(_review("selfsubjectaccessreviews", **spec))


CASES = [
    case(
        "my access",
        role(rule("get", "pods"), rule("get", "pods/log", names="p")),
        binding(),
        once(may("get", "pods")),
        _mine(resourceAttributes=_GET),
        _mine(resourceAttributes={**_GET, "verb": "list"}),
        _mine(resourceAttributes={**_GET, "subresource": "log", "name": "p"}),
        _mine(resourceAttributes={**_GET, "version": "v9", "group": ""}),
        _mine(nonResourceAttributes={"path": "/version", "verb": "get"}).only_of("kind", "status.allowed"),
        _mine(nonResourceAttributes={"path": "/metrics", "verb": "get"}),
        _mine(resourceAttributes={}),
        _mine(nonResourceAttributes={}),
        _mine(),
        _mine(resourceAttributes=_GET, nonResourceAttributes={"path": "/x", "verb": "get"}),
    ),
    case(
        "my access with selectors",
        role(rule("list", "pods")),
        binding(),
        once(may("list", "pods")),
        _mine(resourceAttributes={**_GET, "verb": "list", "fieldSelector": {"rawSelector": "metadata.name=x"}}),
        _mine(resourceAttributes={**_GET, "verb": "list", "labelSelector": {"rawSelector": "a=b"}}),
    ),
    case(
        "somebody's access",
        _review("subjectaccessreviews", resourceAttributes=_GET, user="nobody"),
        _review("subjectaccessreviews", resourceAttributes=_GET, groups=["system:masters"]),
        _review("subjectaccessreviews", resourceAttributes=_GET, user="x", uid="1", extra={"a": ["b"]}),
        _review("subjectaccessreviews", resourceAttributes=_GET),
        _review("subjectaccessreviews"),
        _review("subjectaccessreviews", user="x"),
        _review("subjectaccessreviews", user="x", resourceAttributes=_GET, nonResourceAttributes={"path": "/x"}),
        create("subjectaccessreviews", {}),
    ),
    case(
        "access in a namespace",
        role(rule("get", "pods")),
        binding(),
        once(may("get", "pods")),
        _review(_LOCAL, resourceAttributes=_GET, user=USER),
        _review(_LOCAL, resourceAttributes={**_GET, "verb": "list"}, user=USER),
        _review(_LOCAL, resourceAttributes={**_GET, "namespace": "default"}, user=USER),
        _review(_LOCAL, resourceAttributes={"verb": "get", "resource": "pods"}, user=USER),
        _review(_LOCAL, nonResourceAttributes={"path": "/x", "verb": "get"}, user=USER),
        _review(_LOCAL, resourceAttributes=_GET),
        _review(_LOCAL, user=USER),
    ),
    case(
        "asking needs a right too",
        as_user(_review("subjectaccessreviews", resourceAttributes=_GET, user="x")),
        as_user(_review(_LOCAL, resourceAttributes=_GET, user="x")),
        as_user(create("tokenreviews", {"spec": {"token": "x"}})),
        as_user(_review("selfsubjectrulesreviews", namespace="{ns}")).only_of("kind"),
        as_user(create("selfsubjectreviews", {})).only_of("status"),
        as_user(_review("selfsubjectaccessreviews", resourceAttributes=_GET), "x", "system:unauthenticated"),
        as_user(create("selfsubjectreviews", {}), "x", "system:unauthenticated"),
    ),
    case(
        "my rules",
        cluster_role(rule("get", "nodes"), rule("get", urls="/x-{ns}")),
        role(rule("get list", "pods services", ["", "apps"]), rule("update", "pods/status", names="p")),
        binding(),
        once(may("get", "pods")),
        as_user(_review("selfsubjectrulesreviews", namespace="{ns}"), USER, "system:unauthenticated").only_of(
            "kind", "apiVersion", "metadata", "spec", "status.resourceRules", "status.incomplete"
        ),
        as_user(_review("selfsubjectrulesreviews", namespace="elsewhere"), USER, "system:unauthenticated"),
        as_user(_review("selfsubjectrulesreviews"), USER),
        as_user(_review("selfsubjectrulesreviews", namespace=""), USER),
    ),
    case(
        "rules of a master are what is bound to masters",
        create("selfsubjectrulesreviews", {"spec": {"namespace": "{ns}"}}).only_of("kind", "status.incomplete"),
    ),
    case(
        "rules with a role that is not there",
        role(rule("get", "pods")),
        binding(),
        binding(role="gone", name="c"),
        once(may("get", "pods")),
        may("list", "pods").polled(status__reason='RBAC: role.rbac.authorization.k8s.io "gone" not found'),
        as_user(_review("selfsubjectrulesreviews", namespace="{ns}"), USER, "system:unauthenticated"),
    ),
    case(
        "default users and groups",
        may("list", "pods", who="system:kube-scheduler", namespace=""),
        may("create", "pods", sub="binding", who="system:kube-scheduler"),
        may("delete", "nodes", who="system:kube-scheduler", namespace=""),
        may("list", "services", who="system:kube-proxy", namespace=""),
        may("get", "secrets", who="system:kube-proxy"),
        may("create", "endpoints", who="system:kube-controller-manager"),
        may("get", "secrets", who="system:kube-controller-manager"),
        may("delete", "pods", who="system:kube-controller-manager"),
        may("get", "pods", who="system:node:n", groups=["system:nodes"]),
        may("get", "pods", who="system:serviceaccount:kube-system:generic-garbage-collector"),
        may("create", "pods", who="system:serviceaccount:kube-system:job-controller"),
        may("create", "pods", who="system:serviceaccount:default:job-controller"),
        may("create", "pods", who="system:serviceaccount:kube-system:replicaset-controller"),
        may("create", "nodes", who="system:serviceaccount:kube-system:replicaset-controller", namespace=""),
        may("escalate", "clusterroles", group="rbac.authorization.k8s.io", namespace="",
            who="system:serviceaccount:kube-system:clusterrole-aggregation-controller"),
        may("get", "configmaps", name="cluster-info", namespace="kube-public", who="x", groups=["system:anonymous"]),
        may("get", "configmaps", name="extension-apiserver-authentication", namespace="kube-system",
            who="system:kube-scheduler"),
        may("get", "configmaps", name="other", namespace="kube-system", who="system:kube-scheduler"),
        may("get", "secrets", namespace="kube-system", who="system:serviceaccount:kube-system:token-cleaner"),
        may("get", "secrets", namespace="default", who="system:serviceaccount:kube-system:token-cleaner"),
    ),
    case(
        "default rights of everybody",
        may("create", "selfsubjectaccessreviews", group="authorization.k8s.io", namespace="", who="x",
            groups=["system:authenticated"]),
        may("create", "selfsubjectreviews", group="authentication.k8s.io", namespace="", who="x",
            groups=["system:authenticated"]),
        may("create", "selfsubjectrulesreviews", group="authorization.k8s.io", namespace="", who="x",
            groups=["system:unauthenticated"]),
        may("create", "subjectaccessreviews", group="authorization.k8s.io", namespace="", who="x",
            groups=["system:authenticated"]),
        may_path("get", "/healthz", who="x", groups=["system:unauthenticated"]),
        may_path("get", "/apis", who="x", groups=["system:authenticated"]),
        may_path("get", "/apis", who="x", groups=["system:unauthenticated"]),
        may_path("get", "/openapi/v3", who="x", groups=["system:authenticated"]),
        may_path("get", "/metrics", who="x", groups=["system:authenticated"]),
        may_path("get", "/metrics", who="x", groups=["system:monitoring"]),
        may_path("get", "/.well-known/openid-configuration", who="x", groups=["system:serviceaccounts"]),
        may_path("get", "/.well-known/openid-configuration", who="x", groups=["system:authenticated"]),
    ),
]  # fmt: skip
