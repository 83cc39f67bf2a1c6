"""What becomes of default roles and bindings at a server's start."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from rayward.local.apiserver import recorded
from rayward.local.apiserver.rbac import parts
from rayward.local.apiserver.rbac.reconcile import AUTOUPDATE, reconciled

_RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
_OTHER = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}


def _role(*rules: Any, annotations: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "r", "uid": "1"}
    return {
        "metadata": {**metadata, **({"annotations": annotations} if annotations else {})},
        "rules": list(rules),
        **more,
    }


def test_a_role_that_holds_all_is_left_as_it_is() -> None:
    existing = _role(_RULE, _OTHER)
    assert reconciled(existing, _role(_OTHER)) is existing


def test_missing_rules_are_added_and_others_stay() -> None:
    assert reconciled(_role(_RULE), _role(_OTHER))["rules"] == [_RULE, {**_OTHER}]


def test_a_protected_role_is_left_alone() -> None:
    existing = _role(annotations={AUTOUPDATE: "false"})
    assert reconciled(existing, _role(_RULE, annotations={AUTOUPDATE: "true"})) is existing


def test_labels_and_annotations_are_merged_and_the_stored_ones_win() -> None:
    changed = reconciled(_role(annotations={"a": "mine"}), _role(annotations={"a": "theirs", "b": "new"}))
    assert changed["metadata"]["annotations"] == {"a": "mine", "b": "new"}


def test_selectors_of_aggregation_are_added_or_taken_away() -> None:
    wanted = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    assert reconciled(_role(), _role(aggregationRule=wanted))["aggregationRule"] == wanted
    assert "aggregationRule" not in reconciled(_role(aggregationRule=wanted), _role())


def _binding(role: str, *names: str) -> dict[str, Any]:
    subjects = [{"kind": "User", "name": name} for name in names]
    return {"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": role}, "subjects": subjects}


def test_missing_subjects_are_added() -> None:
    assert reconciled(_binding("r", "x"), _binding("r", "y"))["subjects"] == _binding("r", "x", "y")["subjects"]


def test_a_binding_of_another_role_is_made_anew() -> None:
    existing, expected = _binding("mine", "x"), _binding("r", "y")
    existing["metadata"]["uid"] = "1"
    assert reconciled(existing, expected) is expected


# A role of Kubernetes' controllers, and the module of ours that does that work.
_WORK = {
    "clusterrole-aggregation-controller": "aggregation",
    "deployment-controller": "workloads.deployments",
    "endpoint-controller": "endpoints.legacy",
    "endpointslice-controller": "endpoints.slices",
    "generic-garbage-collector": "garbage.collector",
    "job-controller": "jobs.controller",
    "namespace-controller": "namespaces",
    "persistent-volume-binder": "claims.controller",
    "pv-protection-controller": "claims.volumes",
    "pvc-protection-controller": "protection",
    "replicaset-controller": "workloads.replicasets",
    "root-ca-cert-publisher": "standard",
    "service-account-controller": "standard",
    "statefulset-controller": "workloads.statefulsets",
    "ttl-after-finished-controller": "jobs.removal",
}


def test_the_controllers_have_the_roles_of_those_whose_work_they_do_and_no_others() -> None:
    controllers = next(part for part in parts.PARTS if part.name == "controllers")
    assert {role.removeprefix("system:controller:") for role in controllers.roles} == set(_WORK)
    for module in _WORK.values():
        assert find_spec(f"rayward.local.controllers.{module}") is not None, module


def test_each_part_has_roles_that_exist() -> None:
    known = {role["metadata"]["name"] for role in [*recorded.policy()["clusterroles"], *parts.policy()["clusterroles"]]}
    bound = {binding["roleRef"]["name"] for binding in parts.policy()["clusterrolebindings"]}
    assert bound <= known
