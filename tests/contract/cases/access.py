"""Service accounts, tokens, roles and reviews: who may do what."""

from __future__ import annotations

from tests.contract.case import case, create, get, merge
from tests.contract.objects import pod

_RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}

CASES = [
    case(
        "serviceaccount",
        create(
            "serviceaccounts",
            {"metadata": {"name": "sa"}, "secrets": [{"name": "s"}], "imagePullSecrets": [{"name": "p"}]},
        ),
        merge("serviceaccounts/sa", {"automountServiceAccountToken": False}),
    ),
    case(
        "serviceaccount: a token",
        create("serviceaccounts", {"metadata": {"name": "sa"}}),
        create(
            "serviceaccounts/sa/token",
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {"expirationSeconds": 3600, "audiences": ["me"]},
            },
        ),
        create("serviceaccounts/sa/token", {"spec": {"expirationSeconds": 10}}),
        create("serviceaccounts/nobody/token", {"spec": {}}),
    ),
    case(
        "serviceaccount: a token with defaults",
        create("serviceaccounts", {"metadata": {"name": "sa"}}),
        create("serviceaccounts/sa/token", {}).only_of(
            "kind",
            "apiVersion",
            "metadata.name",
            "metadata.namespace",
            "spec.expirationSeconds",
            "spec.boundObjectRef",
            "status",
        ),
    ),
    case(
        "serviceaccount: a token works and says who it is",
        create("serviceaccounts", {"metadata": {"name": "sa"}}),
        create("serviceaccounts/sa/token", {"spec": {}}).keeping(token="status.token").only_of("kind"),
        create(
            "tokenreviews",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "{token}"}},
        ).only_of("status.authenticated", "status.user.username", "status.user.groups"),
        create("selfsubjectreviews", {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
        .with_headers(Authorization="Bearer {token}")
        .only_of("kind", "status.userInfo.username", "status.userInfo.groups", "status.userInfo.uid"),
    ),
    case(
        "serviceaccount: a token for a Pod that does not exist",
        create("serviceaccounts", {"metadata": {"name": "sa"}}),
        create(
            "serviceaccounts/sa/token", {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}}}
        ),
        create(
            "serviceaccounts/sa/token", {"spec": {"boundObjectRef": {"kind": "Node", "apiVersion": "v9", "name": "p"}}}
        ),
    ),
    case(
        "serviceaccount: a token for a Pod of another account",
        create("serviceaccounts", {"metadata": {"name": "sa"}}),
        create("serviceaccounts", {"metadata": {"name": "other"}}).only_of("kind"),
        create("pods", pod("p", serviceAccountName="other")).only_of("kind"),
        create(
            "serviceaccounts/sa/token", {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}}}
        ),
    ),
    case(
        "tokenreview: of nonsense",
        create(
            "tokenreviews",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "nonsense"}},
        ),
        create("tokenreviews", {"spec": {}}),
        get("tokenreviews"),
    ),
    case(
        "selfsubjectaccessreview",
        create(
            "selfsubjectaccessreviews",
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": {"verb": "create", "resource": "pods", "namespace": "{ns}"}},
            },
        ).only_of("kind", "metadata", "spec", "status.allowed"),
        create("selfsubjectaccessreviews", {"spec": {}}),
        create(
            "selfsubjectaccessreviews",
            {"spec": {"nonResourceAttributes": {"path": "/x", "verb": "get"}, "resourceAttributes": {"verb": "get"}}},
        ),
        create("selfsubjectaccessreviews", {"spec": {"nonResourceAttributes": {"path": "/x", "verb": "get"}}}).only_of(
            "status.allowed"
        ),
    ),
    case(
        "selfsubjectreview",
        create("selfsubjectreviews", {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).only_of(
            "kind", "apiVersion", "metadata", "status.userInfo.groups"
        ),
    ),
    case(
        "role and binding",
        create("roles", {"metadata": {"name": "r"}, "rules": [_RULE]}),
        create(
            "rolebindings",
            {
                "metadata": {"name": "b"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
                "subjects": [{"kind": "ServiceAccount", "name": "default"}, {"kind": "User", "name": "u"}],
            },
        ),
        merge("rolebindings/b", {"roleRef": {"name": "other"}}),
        merge("roles/r", {"rules": []}),
    ),
    case(
        "role and binding: what is not allowed",
        create("roles", {"metadata": {"name": "r"}, "rules": [{"verbs": []}]}),
        create("roles", {"metadata": {"name": "r"}, "rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}),
        create("rolebindings", {"metadata": {"name": "b"}}),
        create(
            "rolebindings",
            {
                "metadata": {"name": "b"},
                "roleRef": {"apiGroup": "x", "kind": "Odd", "name": ""},
                "subjects": [{"kind": "Odd", "name": ""}],
            },
        ),
    ),
    case(
        "clusterrole and binding",
        create(
            "clusterroles",
            {"metadata": {"name": "r-{ns}"}, "rules": [_RULE, {"nonResourceURLs": ["/x"], "verbs": ["get"]}]},
        ),
        create(
            "clusterrolebindings",
            {
                "metadata": {"name": "b-{ns}"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r-{ns}"},
                "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "{ns}"}],
            },
        ),
        create(
            "clusterrolebindings",
            {
                "metadata": {"name": "c-{ns}"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r-{ns}"},
                "subjects": [{"kind": "ServiceAccount", "name": "default"}],
            },
        ),
        create(
            "clusterroles",
            {
                "metadata": {"name": "a-{ns}"},
                "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
            },
        ),
    ),
]
