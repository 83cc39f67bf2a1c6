"""Whose operator acts, from what there is to see."""

from __future__ import annotations

import pytest

from rayward.changes.operators import Operator, find_operator
from rayward.changes.refs import Ref
from rayward.changes.steps import Send
from rayward.kinds import labels
from rayward.kinds.effects import Rules
from rayward.kube.client.errors import Forbidden
from tests.kinds.clusters import Object, manifest

_REF = Ref("RayCluster", "c", "default")


def _marked(version: str) -> Object:
    return {"metadata": {"annotations": {labels.OPERATOR_VERSION: version}}}


def _with(*conditions: str) -> Object:
    return {**manifest(), "status": {"conditions": [{"type": kind, "status": "True"} for kind in conditions]}}


def _found(live: Object | None, children: list[Object], answers: dict[str, list[Object]], ref: Ref = _REF) -> Operator:
    """What is found where a list of each kind is answered so; what is not given may not be read."""
    operation = find_operator(ref, live, children)
    try:
        step = next(operation)
        while True:
            assert isinstance(step, Send)
            kind = step.request.target.partition("?")[0].rpartition("/")[2]
            if kind in answers:
                listed = answers[kind]
                if kind == "leases":
                    listed = [one for one in listed if one["metadata"]["name"] in step.request.target]
                step = operation.send({"items": listed})
            else:
                step = operation.throw(Forbidden(403, "Forbidden", kind, {}, None))
    except StopIteration as done:
        return done.value


def _lease(name: str, holder: str = "a") -> Object:
    return {"metadata": {"name": name}, "spec": {"holderIdentity": holder}}


@pytest.mark.parametrize(
    ("live", "children", "answers", "rules"),
    [
        (manifest(), [_marked("v1.6.2")], {}, Rules.KUBERAY_1_6),
        (manifest(), [_marked("rayward")], {}, Rules.RAYWARD),
        (_with("Accepted", "Ready"), [], {}, Rules.RAYWARD),
        (_with("RayClusterSuspended"), [], {}, Rules.KUBERAY_1_7),
        (_with("RayClusterSuspended"), [], {"pods": [_marked("v1.6.2")]}, Rules.KUBERAY_1_6),
        (None, [], {"pods": [_marked("v1.6.2")]}, Rules.KUBERAY_1_6),
        (None, [], {"pods": [], "rayclusters": [_with("RayClusterSuspended")]}, Rules.KUBERAY_1_7),
        (None, [], {"rayclusters": [_with("RayClusterSuspended"), _with("Accepted")]}, Rules.RAYWARD),
        (None, [], {"rayclusters": [manifest()], "leases": [_lease("ray-operator-leader")]}, Rules.KUBERAY_1_7),
        (None, [], {"leases": [_lease("ray-operator-leader", ""), _lease("rayward-operator")]}, Rules.RAYWARD),
    ],
)
def test_whose_operator_it_is(
    live: Object | None, children: list[Object], answers: dict[str, list[Object]], rules: Rules
) -> None:
    assert _found(live, children, answers) == Operator(rules)


def test_a_job_without_conditions_is_nobodys() -> None:
    job: Object = {"kind": "RayJob", "status": {"jobDeploymentStatus": "Suspended"}}
    assert not _found(job, [], {}, Ref("RayJob", "j", "default")).known


def test_without_a_sign_it_is_not_known() -> None:
    assert _found(None, [], {}) == Operator(Rules.RAYWARD, known=False)
    assert not _found(manifest(), [], {"pods": [], "rayclusters": [], "leases": []}).known
