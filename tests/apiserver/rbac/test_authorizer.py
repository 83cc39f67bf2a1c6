"""Decisions from roles and bindings, and that they follow their changes."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.local.apiserver.identity import User
from rayward.local.apiserver.rbac.access import Access, asked, forbidden
from rayward.local.apiserver.rbac.authorizer import Authorizer, Decision
from rayward.local.apiserver.rbac.policy import BINDINGS, CLUSTER_BINDINGS, CLUSTER_ROLES, ROLES, RoleIndex
from rayward.local.apiserver.requestinfo import parse

_READ = {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": ["p"]}]}
_ALICE, _GET = User("alice", groups=("g",)), Access("get", resource="pods", namespace="n", name="p")


def _binding(name: str, role: tuple[str, str], *subjects: dict[str, str], namespace: str = "") -> dict[str, Any]:
    return {
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "roleRef": {"kind": role[0], "name": role[1]},
        "subjects": list(subjects),
    }


def _index(*bindings: dict[str, Any]) -> RoleIndex:
    index = RoleIndex()
    index.put(f"{CLUSTER_ROLES}reader", _READ)
    index.put(f"{ROLES}n/reader", _READ)
    for binding in bindings:
        namespace = binding["metadata"].get("namespace")
        index.put((f"{BINDINGS}{namespace}/" if namespace else CLUSTER_BINDINGS) + binding["metadata"]["name"], binding)
    return index


_USER = {"kind": "User", "name": "alice"}


@pytest.mark.parametrize(
    ("binding", "reason"),
    [
        (
            _binding("b", ("ClusterRole", "reader"), _USER),
            'ClusterRoleBinding "b" of ClusterRole "reader" to User "alice"',
        ),
        (
            _binding("b", ("ClusterRole", "reader"), {"kind": "Group", "name": "g"}, _USER),
            'ClusterRoleBinding "b" of ClusterRole "reader" to Group "g"',
        ),
        (
            _binding("b", ("Role", "reader"), _USER, namespace="n"),
            'RoleBinding "b/n" of Role "reader" to User "alice"',
        ),
        (
            _binding("b", ("ClusterRole", "reader"), _USER, namespace="n"),
            'RoleBinding "b/n" of ClusterRole "reader" to User "alice"',
        ),
    ],
)
def test_the_reason_names_the_binding(binding: dict[str, Any], reason: str) -> None:
    assert Authorizer(_index(binding)).authorize(_ALICE, _GET) == Decision(True, f"RBAC: allowed by {reason}")


def test_a_service_account_is_a_subject() -> None:
    binding = _binding("b", ("Role", "reader"), {"kind": "ServiceAccount", "name": "sa"}, namespace="n")
    authorizer = Authorizer(_index(binding))
    assert authorizer.authorize(User("system:serviceaccount:n:sa"), _GET).allowed
    assert not authorizer.authorize(User("system:serviceaccount:m:sa"), _GET).allowed
    assert not authorizer.authorize(User("sa"), _GET).allowed


def test_nothing_is_allowed_without_a_binding_but_to_masters() -> None:
    authorizer = Authorizer(_index())
    assert authorizer.authorize(_ALICE, _GET) == Decision(allowed=False)
    assert authorizer.authorize(User("root", groups=("system:masters",)), _GET) == Decision(allowed=True)


def test_a_missing_role_is_the_reason_of_a_refusal() -> None:
    gone = _binding("b", ("ClusterRole", "gone"), _USER)
    other = _binding("c", ("Role", "away"), _USER, namespace="n")
    reason = (
        'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, '
        'role.rbac.authorization.k8s.io "away" not found]'
    )
    assert Authorizer(_index(gone, other)).authorize(_ALICE, _GET) == Decision(False, reason)


def test_decisions_follow_every_change() -> None:
    index = _index()
    authorizer = Authorizer(index)
    key, binding = f"{CLUSTER_BINDINGS}b", _binding("b", ("ClusterRole", "reader"), _USER)
    assert not authorizer.authorize(_ALICE, _GET).allowed
    index.put(key, binding)
    assert authorizer.authorize(_ALICE, _GET).allowed
    assert not authorizer.authorize(_ALICE, Access("get", resource="pods", namespace="n", name="q")).allowed
    index.put(f"{CLUSTER_ROLES}reader", {"rules": []})
    assert not authorizer.authorize(_ALICE, _GET).allowed
    index.put(f"{CLUSTER_ROLES}reader", _READ)
    assert authorizer.authorize(_ALICE, _GET).allowed
    index.put(key, {**binding, "subjects": []})
    assert not authorizer.authorize(_ALICE, _GET).allowed
    index.put(key, None)
    assert index.grants(_ALICE, "n").found == ()


@pytest.mark.parametrize(
    ("method", "path", "query", "access"),
    [
        ("GET", "/api/v1/namespaces/n/pods/p", b"", Access("get", resource="pods", namespace="n", name="p")),
        ("GET", "/api/v1/pods", b"", Access("list", resource="pods")),
        ("GET", "/api/v1/pods", b"watch=1", Access("watch", resource="pods")),
        ("GET", "/api/v1/pods", b"watch=false", Access("list", resource="pods")),
        ("GET", "/api/v1/pods", b"fieldSelector=metadata.name%3Dp", Access("list", resource="pods", name="p")),
        ("GET", "/api/v1/pods", b"fieldSelector=,,=&watch", Access("watch", resource="pods")),
        ("GET", "/api/v1/watch/pods", b"", Access("watch", resource="pods")),
        ("DELETE", "/api/v1/namespaces/n/pods", b"", Access("deletecollection", resource="pods", namespace="n")),
        ("GET", "/api/v1/namespaces/n", b"", Access("get", resource="namespaces", namespace="n", name="n")),
        ("POST", "/api/v1/namespaces", b"", Access("create", resource="namespaces")),
        ("GET", "/version/", b"", Access("get", path="/version/", of_resource=False)),
        ("HEAD", "/x", b"", Access("head", path="/x", of_resource=False)),
    ],
)
def test_what_a_request_asks_for(method: str, path: str, query: bytes, access: Access) -> None:
    assert asked(parse(method, path), method, path, query) == access


def test_a_refusal_cannot_be_taken_for_a_page() -> None:
    error = forbidden(User("<b>&"), Access("get", path="/<x>", of_resource=False), "")
    assert error.message == 'forbidden: User "&lt;b&gt;&amp;" cannot get path "/&lt;x&gt;"'
    assert error.details == {}
