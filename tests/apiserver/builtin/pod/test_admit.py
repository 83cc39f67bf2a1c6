"""What admission adds to pods: accounts, priorities, tolerations; and how they come to nodes."""

from __future__ import annotations

from typing import Any

import pytest

from rayward.local.apiserver.builtin.pod import admit as podadmit
from tests.apiserver.builtin.judge import causes

Object = dict[str, Any]

_HIGH = {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"}
_USUAL = {
    "metadata": {"name": "usual"},
    "value": 10,
    "globalDefault": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def _pod(**spec: Any) -> Object:
    return {
        "metadata": {"name": "p", "namespace": "n"},
        "spec": {"containers": [{"name": "a", "image": "x"}], **spec},
    }


def test_a_pod_gets_the_default_account_and_its_token() -> None:
    pod = _pod(initContainers=[{"name": "i"}])
    assert podadmit.account_of(pod) == "default"
    podadmit.admit_account(pod, {}, "abcde")
    spec = pod["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    mounts = [{"name": "kube-api-access-abcde", "readOnly": True, "mountPath": _MOUNT}]
    assert [c["volumeMounts"] for c in (*spec["containers"], *spec["initContainers"])] == [mounts, mounts]
    (volume,) = spec["volumes"]
    assert volume["name"] == "kube-api-access-abcde"
    assert [next(iter(source)) for source in volume["projected"]["sources"]] == [
        "serviceAccountToken",
        "configMap",
        "downwardAPI",
    ]


@pytest.mark.parametrize(
    ("spec", "account", "mounted"),
    [
        pytest.param({}, {"automountServiceAccountToken": False}, False, id="the account wants none"),
        pytest.param({"automountServiceAccountToken": False}, {}, False, id="the pod wants none"),
        pytest.param(
            {"automountServiceAccountToken": True},
            {"automountServiceAccountToken": False},
            True,
            id="the pod has the last word",
        ),
    ],
)
def test_a_token_is_mounted_where_it_is_wanted(spec: Object, account: Object, mounted: bool) -> None:
    pod = _pod(**spec)
    podadmit.admit_account(pod, account, "x")
    assert ("volumes" in pod["spec"]) is mounted


def test_a_container_that_mounts_something_there_keeps_it() -> None:
    own = [{"name": "mine", "mountPath": _MOUNT}]
    pod = _pod(containers=[{"name": "a", "volumeMounts": own}])
    podadmit.admit_account(pod, {}, "x")
    assert pod["spec"]["containers"][0]["volumeMounts"] == own
    assert "volumes" not in pod["spec"]


def test_pull_secrets_come_from_the_account_unless_the_pod_has_some() -> None:
    account = {"imagePullSecrets": [{"name": "s"}]}
    pod, other = _pod(), _pod(imagePullSecrets=[{"name": "mine"}])
    podadmit.admit_account(pod, account, "x")
    podadmit.admit_account(other, account, "x")
    assert pod["spec"]["imagePullSecrets"] == [{"name": "s"}]
    assert other["spec"]["imagePullSecrets"] == [{"name": "mine"}]


def test_a_missing_account_is_refused() -> None:
    with pytest.raises(podadmit.Refused) as refused:
        podadmit.admit_account(_pod(serviceAccountName="who"), None, "x")
    assert str(refused.value) == 'error looking up service account n/who: serviceaccount "who" not found'


def test_a_mirror_pod_has_no_account() -> None:
    pod = _pod()
    pod["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    podadmit.admit_account(pod, None, "x")
    assert "serviceAccountName" not in pod["spec"]
    pod["spec"]["serviceAccountName"] = "a"
    with pytest.raises(podadmit.Refused, match=r"^a mirror pod may not reference service accounts$"):
        podadmit.admit_account(pod, None, "x")


@pytest.mark.parametrize(
    ("spec", "classes", "given"),
    [
        pytest.param({}, [], (None, 0, "PreemptLowerPriority"), id="no class"),
        pytest.param({}, [_HIGH, _USUAL], ("usual", 10, "PreemptLowerPriority"), id="the default class"),
        pytest.param({"priorityClassName": "high"}, [_HIGH, _USUAL], ("high", 1000, "Never"), id="a class"),
        pytest.param({"priorityClassName": "high", "priority": 1000}, [_HIGH], ("high", 1000, "Never"), id="as it is"),
    ],
)
def test_priority_follows_from_the_class(spec: Object, classes: list[Object], given: tuple[Any, ...]) -> None:
    pod = _pod(**spec)
    podadmit.admit_scheduling(pod, classes)
    found = pod["spec"]
    assert (found.get("priorityClassName"), found["priority"], found["preemptionPolicy"]) == given


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"priorityClassName": "no"}, "no PriorityClass with name no was found"),
        (
            {"priority": 5},
            (
                "the integer value of priority (5) must not be provided in pod spec; priority admission controller "
                "computed 0 from the given PriorityClass name"
            ),
        ),
        (
            {"preemptionPolicy": "Never"},
            (
                "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission "
                "controller computed PreemptLowerPriority from the given PriorityClass name"
            ),
        ),
        ({"runtimeClassName": "r"}, 'pod rejected: RuntimeClass "r" not found'),
        (
            {"overhead": {"cpu": "1"}},
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
    ],
)
def test_what_a_pod_may_not_claim(spec: Object, text: str) -> None:
    with pytest.raises(podadmit.Refused) as refused:
        podadmit.admit_scheduling(_pod(**spec), [])
    assert str(refused.value) == text


def _added(key: str) -> Object:
    return {
        "key": f"node.kubernetes.io/{key}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }


@pytest.mark.parametrize(
    ("given", "added"),
    [
        pytest.param([], ["not-ready", "unreachable"], id="none"),
        pytest.param([{"key": "a", "operator": "Exists"}], ["not-ready", "unreachable"], id="others"),
        pytest.param([{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}], ["unreachable"], id="one"),
        pytest.param(
            [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}],
            ["not-ready", "unreachable"],
            id="one for another effect",
        ),
        pytest.param([{"operator": "Exists"}], [], id="everything"),
    ],
)
def test_lost_nodes_are_tolerated_for_five_minutes(given: list[Object], added: list[str]) -> None:
    spec: Object = {"tolerations": given}
    podadmit.add_tolerations(spec)
    assert spec["tolerations"] == [*given, *map(_added, added)]


def test_a_change_that_leaves_the_priority_out_keeps_it() -> None:
    old = _pod(priority=7, preemptionPolicy="Never")
    new = _pod()
    podadmit.admit_change(new, old)
    assert (new["spec"]["priority"], new["spec"]["preemptionPolicy"]) == (7, "Never")


@pytest.mark.parametrize(
    ("target", "errors"),
    [
        ({"name": "n"}, []),
        ({"kind": "Node", "name": "n"}, []),
        (
            {"kind": "Pod"},
            [
                [
                    "target.kind",
                    'Unsupported value: "Pod": supported values: "Node", "<empty>"',
                    "FieldValueNotSupported",
                ],
                ["target.name", "Required value", "FieldValueRequired"],
            ],
        ),
    ],
)
def test_a_binding_names_a_node(target: Object, errors: list[list[str]]) -> None:
    assert causes(podadmit.check_binding({"target": target})) == errors


def test_a_bound_pod_is_scheduled() -> None:
    pod = _pod()
    pod["status"] = {"nominatedNodeName": "m", "conditions": [{"type": "PodScheduled", "status": "False"}]}
    binding = {"metadata": {"annotations": {"a": "b"}, "labels": {"c": "d"}}, "target": {"name": "n"}}
    assert podadmit.bind(pod, binding, "2020-01-01T00:00:00Z") == ""
    assert pod["spec"]["nodeName"] == "n"
    assert (pod["metadata"]["annotations"], pod["metadata"]["labels"]) == ({"a": "b"}, {"c": "d"})
    assert pod["status"] == {
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "True",
                "lastProbeTime": None,
                "lastTransitionTime": "2020-01-01T00:00:00Z",
            }
        ]
    }


@pytest.mark.parametrize(
    ("pod", "text"),
    [
        (_pod(nodeName="m"), 'pod p is already assigned to node "m"'),
        (_pod(schedulingGates=[{"name": "g"}]), "pod p has non-empty .spec.schedulingGates"),
        (
            {**_pod(), "metadata": {"name": "p", "deletionTimestamp": "2020-01-01T00:00:00Z"}},
            "pod p is being deleted, cannot be assigned to a host",
        ),
    ],
)
def test_what_cannot_be_bound(pod: Object, text: str) -> None:
    assert podadmit.bind(pod, {"target": {"name": "n"}}, "") == text
