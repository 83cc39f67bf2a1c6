"""Pods that Kueue's ``pod`` integration holds at birth, as those of the gate are let go."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.kinds import labels
from rayward.kinds.admission import Admission, Grant, GroupGrant, Queueing, written
from rayward.kinds.kueue import names
from rayward.kinds.raycluster import RayCluster
from rayward.kube.core.resource import PODS
from rayward.operator.cluster.gate import gate_of
from rayward.operator.cluster.pod import RayPod
from rayward.quota.gate.observe import GatePod
from rayward.quota.gate.podgates import gates_to_remove
from tests.kinds.clusters import manifest
from tests.quota.gate.stage import EMBEDDED, KUEUE, GateStage

_PARENT = {names.POD_SUSPENDING_PARENT: labels.QUOTA_GATE}
_GATES = ("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology")


def _pod(annotations: dict[str, str], *gates: str, **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "namespace": "team", "annotations": annotations, **metadata},
        "spec": {"schedulingGates": [{"name": gate} for gate in gates]},
    }


@pytest.mark.parametrize("kind", [RayPod, GatePod])
@pytest.mark.parametrize(
    ("pod", "removed"),
    [
        (_pod(_PARENT, *_GATES), [*_GATES]),
        (_pod(_PARENT, _GATES[0], "example.com/own"), [_GATES[0]]),
        (_pod(_PARENT), []),
        (_pod({}, *_GATES), []),
        (_pod({names.POD_SUSPENDING_PARENT: "deployment"}, *_GATES), []),
        (_pod(_PARENT, *_GATES, deletionTimestamp="2026-01-01T00:00:00Z"), []),
    ],
    ids=["held", "by-others-too", "free", "of-nobody", "of-a-deployment", "on-its-way-out"],
)
def test_only_gates_of_kueue_and_only_on_pods_that_name_this_gate_are_removed(
    pod: dict[str, Any], removed: list[str], kind: Any
) -> None:
    assert gates_to_remove(msgspec.convert(pod, kind)) == removed


def _gated(**tags: str) -> RayCluster:
    value = manifest("one")
    grant = Grant(uid="u", workload="w", groups={labels.HEAD_GROUP: GroupGrant(pods=1, shape="s")})
    value["metadata"] |= {"uid": "u", "labels": tags, "annotations": {labels.ADMITTED: written(grant)}}
    return msgspec.convert(value, RayCluster)


@pytest.mark.parametrize(
    ("queueing", "expected"),
    [
        (KUEUE, {labels.WORKLOAD: "w", **_PARENT}),
        (EMBEDDED, {labels.WORKLOAD: "w"}),
        (Queueing(), {labels.WORKLOAD: "w"}),
    ],
    ids=["kueue", "embedded", "none"],
)
def test_where_kueue_admits_a_pod_under_the_gate_names_it(queueing: Queueing, expected: dict[str, str]) -> None:
    gate = gate_of(_gated(**{labels.QUEUE_NAME: "q"}), queueing)
    made = gate.mark(labels.HEAD_GROUP, {"metadata": {"name": "p"}, "spec": {}})
    assert made["metadata"]["annotations"] == expected
    cleanup = gate.mark_job({"spec": {"template": {"metadata": {"annotations": {"a": "b"}}, "spec": {}}}})
    others = {key: value for key, value in expected.items() if key != labels.WORKLOAD}
    assert cleanup["spec"]["template"]["metadata"]["annotations"] == {"a": "b", **others}


@pytest.mark.parametrize("tags", [{}, {names.QUEUE_NAME: "q", labels.QUEUE_NAME: "q"}], ids=["ungated", "kueues"])
def test_a_pod_that_is_not_under_the_gate_is_made_as_kuberay_makes_it(tags: dict[str, str]) -> None:
    gate = gate_of(_gated(**tags), Queueing(Admission.KUEUE))
    pod: dict[str, Any] = {"metadata": {"name": "p"}, "spec": {}}
    assert gate.mark(labels.HEAD_GROUP, pod) == pod
    job = {"spec": {"template": {"metadata": {"annotations": {}}, "spec": {}}}}
    assert gate.mark_job(job) == job


@pytest.mark.anyio
@pytest.mark.parametrize("engine", ["embedded"], indirect=True)
async def test_a_pod_that_was_born_held_is_let_go_and_others_stay_held(ray: GateStage) -> None:
    """As Kueue's webhook leaves it; the submitter of a RayJob, whose pod Kubernetes makes, alike."""
    tags = {
        "worker": {labels.CLUSTER: "one", labels.NODE_TYPE: labels.WORKER},
        "submitter": {labels.ORIGIN_NAME: "train", labels.ORIGIN_KIND: "RayJob"},
        "other": {labels.CLUSTER: "one", labels.NODE_TYPE: labels.WORKER},
    }
    ray.kubelet.binds = lambda pod: False
    for name, its in tags.items():
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": ray.namespace,
                "labels": its,
                "annotations": {} if name == "other" else _PARENT,
            },
            "spec": {
                "containers": [{"name": "c", "image": "i"}],
                "schedulingGates": [{"name": _GATES[0]}, {"name": "example.com/own"}, {"name": _GATES[1]}],
            },
        }
        await ray.client.create(PODS, body, ray.namespace)

    async def gates(name: str) -> list[str]:
        found = await ray.client.get(PODS, name, ray.namespace)
        return [one["name"] for one in found["spec"].get("schedulingGates") or ()]

    async def let_go() -> bool:
        return [await gates(name) for name in ("worker", "submitter")] == [["example.com/own"]] * 2

    async with ray.operator():
        await ray.eventually(let_go)
        assert len(await gates("other")) == 3
