"""What the autoscaler may do."""

from __future__ import annotations

from rayward.kinds import shapes
from rayward.operator.cluster import children
from tests.kinds.shapes.sample import Object, cluster, template

_ON: Object = {"enableInTreeAutoscaling": True}


def test_nothing_without_an_autoscaler() -> None:
    made = cluster()

    assert children.service_account(made) is children.role(made) is children.role_binding(made) is None


def test_an_account_may_watch_pods_and_say_how_many_there_should_be() -> None:
    made = cluster(_ON)
    account, role, binding = children.service_account(made), children.role(made), children.role_binding(made)

    assert account is not None
    assert role is not None
    assert binding is not None
    assert account["metadata"]["name"] == role["metadata"]["name"] == binding["metadata"]["name"] == "demo"
    assert [(rule["resources"], rule["verbs"]) for rule in role["rules"]] == [
        (["pods"], ["get", "list", "watch", "patch"]),
        (["pods/resize"], ["patch"]),
        (["rayclusters"], ["get", "patch"]),
    ]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "demo", "namespace": "lab"}]
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "demo"}


def test_the_users_account_is_used_as_it_is_named() -> None:
    name = f"0-{'long' * 15}"
    made = cluster(_ON, head={"template": template(serviceAccountName=name)})
    binding = children.role_binding(made)

    assert children.service_account(made) is None
    assert shapes.head_pod(made, "h")["spec"]["serviceAccountName"] == name
    assert binding is not None
    assert binding["subjects"][0]["name"] == name


def test_long_names_are_cut() -> None:
    made = cluster(_ON, name=f"a0{'b' * 51}")
    account = children.service_account(made)

    assert account is not None
    assert account["metadata"]["name"] == shapes.head_pod(made, "h")["spec"]["serviceAccountName"] == "b" * 50
