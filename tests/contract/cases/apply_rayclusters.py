"""Server-side apply to a custom kind: KubeRay's RayCluster."""

from __future__ import annotations

from typing import Any

from tests.contract.case import (
    NEVER_A_SERVER_ERROR,
    apply,
    bad_request_in,
    case,
    create,
    get,
    json_patch,
    merge,
    update,
)
from tests.contract.objects import raycluster, worker_group

_START = apply("rayclusters/r", raycluster("r", workerGroupSpecs=[worker_group("a")]))


def _only(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "r"}, "spec": spec}


def _status(**status: Any) -> dict[str, Any]:
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "r"}, "status": status}


CASES = [
    case("a RayCluster is created", _START, get("rayclusters/r")),
    case("apply again changes nothing", _START, _START),
    case(
        "another manager suspends it",
        _START,
        apply("rayclusters/r", _only(suspend=True), "bob"),
        _START,
        apply("rayclusters/r", _only(suspend=False), "carol"),
    ),
    case(
        "worker groups are atomic",
        _START,
        apply("rayclusters/r", _only(workerGroupSpecs=[worker_group("b")]), "bob"),
        apply("rayclusters/r", _only(workerGroupSpecs=[worker_group("b")]), "bob", force=True),
    ),
    case(
        "a scaler that patches replicas takes the list",
        _START,
        json_patch(
            "rayclusters/r",
            {"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 3},
            fieldManager="scaler",
        ),
        _START,
        apply("rayclusters/r", raycluster("r")),
    ),
    case(
        "the start parameters are granular",
        _START,
        apply("rayclusters/r", _only(headGroupSpec={"rayStartParams": {"num-cpus": "2"}}), "bob"),
        apply("rayclusters/r", _only(headGroupSpec={"rayStartParams": {"dashboard-host": "x"}}), "bob"),
    ),
    case(
        "containers are merged by name",
        _START,
        apply(
            "rayclusters/r",
            _only(
                headGroupSpec={
                    "template": {"spec": {"containers": [{"name": "ray-head", "env": [{"name": "A", "value": "1"}]}]}}
                }
            ),
            "bob",
        ),
        apply(
            "rayclusters/r",
            _only(headGroupSpec={"template": {"spec": {"containers": [{"name": "sidecar", "image": "x"}]}}}),
            "carol",
        ),
    ),
    case(
        "ports of containers have a default key",
        apply(
            "rayclusters/r",
            _only(
                headGroupSpec={
                    "rayStartParams": {},
                    "template": {
                        "spec": {
                            "containers": [
                                {
                                    "name": "ray-head",
                                    "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}],
                                }
                            ]
                        }
                    },
                }
            ),
        ),
    ),
    case(
        "two containers of one name are refused",
        apply(
            "rayclusters/r",
            _only(
                headGroupSpec={
                    "rayStartParams": {},
                    "template": {"spec": {"containers": [{"name": "a"}, {"name": "a"}]}},
                }
            ),
        ),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(0),
    ),
    case(
        "an unknown field is refused",
        apply("rayclusters/r", raycluster("r", colour="red")),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(0),
    ),
    case(
        "an unknown field only warns when asked so",
        apply("rayclusters/r", raycluster("r", colour="red"), fieldValidation="Warn"),
        apply("rayclusters/r", raycluster("r", colour="red"), fieldValidation="Ignore"),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(0, 1),
    ),
    case(
        "a value of a wrong type is refused",
        apply("rayclusters/r", raycluster("r", suspend="yes")),
        apply("rayclusters/r", raycluster("r", workerGroupSpecs={"a": 1})),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(0, 1),
    ),
    case("an invalid object is refused", apply("rayclusters/r", raycluster("r", workerGroupSpecs=[{"replicas": -1}]))),
    case(
        "status is applied through its subresource",
        _START,
        apply("rayclusters/r/status", _status(state="ready", observedGeneration=1), "operator"),
        apply("rayclusters/r/status", _status(state="ready"), "operator"),
        apply("rayclusters/r", _only(), "operator"),
    ),
    case(
        "conditions of a custom status",
        _START,
        apply(
            "rayclusters/r/status",
            _status(
                conditions=[
                    {
                        "type": "HeadPodReady",
                        "status": "True",
                        "reason": "Ok",
                        "message": "",
                        "lastTransitionTime": "2020-01-01T00:00:00Z",
                    }
                ]
            ),
            "operator",
        ),
        apply(
            "rayclusters/r/status",
            _status(
                conditions=[
                    {
                        "type": "Other",
                        "status": "True",
                        "reason": "Ok",
                        "message": "",
                        "lastTransitionTime": "2020-01-01T00:00:00Z",
                    }
                ]
            ),
            "other",
        ),
    ),
    case(
        "status applied to the main resource is not owned",
        apply("rayclusters/r", {**raycluster("r"), "status": {"state": "ready"}}),
    ),
    case(
        "spec applied to the status is not owned",
        _START,
        apply("rayclusters/r/status", {**raycluster("r", suspend=True), "status": {"state": "ready"}}, "operator"),
    ),
    case(
        "labels and finalizers",
        _START,
        apply(
            "rayclusters/r",
            {
                "apiVersion": "ray.io/v1",
                "kind": "RayCluster",
                "metadata": {"name": "r", "labels": {"a": "1"}, "finalizers": ["example.com/a"]},
            },
            "bob",
        ),
        apply(
            "rayclusters/r",
            {
                "apiVersion": "ray.io/v1",
                "kind": "RayCluster",
                "metadata": {"name": "r", "labels": {"a": "2"}, "finalizers": ["example.com/b"]},
            },
            "carol",
        ),
        apply("rayclusters/r", {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "r"}}, "bob"),
        merge("rayclusters/r", {"metadata": {"finalizers": None}}),
    ),
    case(
        "generation follows applies that change the spec",
        _START,
        apply("rayclusters/r", raycluster("r", metadata={"labels": {"a": "1"}}, workerGroupSpecs=[worker_group("a")])),
        apply("rayclusters/r", raycluster("r", workerGroupSpecs=[worker_group("a", 2)])),
    ),
    case(
        "a replaced object",
        _START,
        update("rayclusters/r", raycluster("r", metadata={"resourceVersion": "1"})),
        merge("rayclusters/r", {"metadata": {"labels": {"x": "y"}}}).keeping(rv="metadata.resourceVersion"),
        update("rayclusters/r", raycluster("r", metadata={"resourceVersion": "{rv}"})).as_("editor"),
        _START,
    ),
    case(
        "quantities may be numbers or strings",
        apply(
            "rayclusters/r",
            _only(
                headGroupSpec={
                    "rayStartParams": {},
                    "template": {
                        "spec": {"containers": [{"name": "h", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}]}
                    },
                }
            ),
        ),
        apply(
            "rayclusters/r",
            _only(
                headGroupSpec={
                    "template": {"spec": {"containers": [{"name": "h", "resources": {"limits": {"cpu": "1"}}}]}}
                }
            ),
            "bob",
        ),
    ),
    case(
        "empty maps and lists are owned",
        apply("rayclusters/r", raycluster("r", workerGroupSpecs=[], autoscalerOptions={})),
        apply("rayclusters/r", raycluster("r")),
    ),
    case(
        "autoscaler options of two managers",
        apply(
            "rayclusters/r", raycluster("r", enableInTreeAutoscaling=True, autoscalerOptions={"idleTimeoutSeconds": 60})
        ),
        apply("rayclusters/r", _only(autoscalerOptions={"upscalingMode": "Default", "idleTimeoutSeconds": 60}), "bob"),
        apply("rayclusters/r", raycluster("r")),
    ),
    case("dry run", apply("rayclusters/r", raycluster("r"), dryRun="All"), get("rayclusters/r")),
    case(
        "created by a client and then applied",
        create("rayclusters", raycluster("r", workerGroupSpecs=[worker_group("a")]), fieldManager="creator"),
        apply("rayclusters/r", raycluster("r", workerGroupSpecs=[worker_group("b")])),
        apply("rayclusters/r", raycluster("r", workerGroupSpecs=[worker_group("b")]), force=True),
    ),
    case(
        "another version of the kind",
        apply(
            "/apis/ray.io/v1alpha1/namespaces/{ns}/rayclusters/r", {**raycluster("r"), "apiVersion": "ray.io/v1alpha1"}
        ),
        apply("rayclusters/r", _only(suspend=True), "bob"),
        get("/apis/ray.io/v1alpha1/namespaces/{ns}/rayclusters/r"),
    ),
    case(
        "a version that does not match the path is refused",
        apply("/apis/ray.io/v1alpha1/namespaces/{ns}/rayclusters/r", raycluster("r")),
    ),
]
