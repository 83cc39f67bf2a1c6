"""The rights that are printed."""

from __future__ import annotations

from typing import Final

from rayward.operator.ray.reach import NoReach
from rayward.operator.rbac import manifests, rules
from rayward.operator.registry import registrations

_ALL: Final = registrations(NoReach())


def _kinds(*namespaces: str) -> list[tuple[str, str | None]]:
    return [
        (found["kind"], found["metadata"].get("namespace"))
        for found in manifests(_ALL, namespaces, "system", "operator")
    ]


def test_everywhere_takes_a_cluster_role() -> None:
    assert _kinds() == [
        ("Namespace", None),
        ("ServiceAccount", "system"),
        ("ClusterRole", None),
        ("ClusterRoleBinding", None),
    ]


def test_one_namespace_takes_a_role_there_and_one_for_the_lease() -> None:
    assert _kinds("team") == [
        ("Namespace", None),
        ("ServiceAccount", "system"),
        ("Role", "team"),
        ("RoleBinding", "team"),
        ("Role", "system"),
        ("RoleBinding", "system"),
    ]


def test_nothing_is_asked_for_with_a_star() -> None:
    assert not any("*" in word for rule in rules(_ALL) for words in rule.values() for word in words)


def test_who_watches_everything_may_look_for_kuberay_everywhere() -> None:
    (role,) = [found for found in manifests(_ALL, (), "system") if found["kind"] == "ClusterRole"]
    listed = {name for rule in role["rules"] if "list" in rule["verbs"] for name in rule["resources"]}
    assert {"deployments", "leases"} <= listed
