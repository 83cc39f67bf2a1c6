"""Server-side apply to Pods."""

from __future__ import annotations

from typing import Any

from tests.contract.case import (
    NEVER_A_SERVER_ERROR,
    Case,
    apply,
    bad_request_in,
    case,
    create,
    delete,
    get,
    json_patch,
    merge,
    strategic,
)
from tests.contract.objects import container, pod


def _spec(*containers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": list(containers), **more},
    }


def _labels(**labels: str | None) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": labels}}


_POD = pod("p", container())
_START = apply("pods/p", _POD)

CASES: list[Case] = [
    case("apply creates what does not exist", _START, get("pods/p")),
    case("apply again changes nothing", _START, _START),
    case("apply by another manager adds its own fields", _START, apply("pods/p", _labels(a="1"), "bob"), get("pods/p")),
    case(
        "both may own the same value",
        apply("pods/p", {**_POD, "metadata": {"name": "p", "labels": {"a": "1"}}}),
        apply("pods/p", _labels(a="1"), "bob"),
    ),
    case(
        "another value is a conflict",
        apply("pods/p", {**_POD, "metadata": {"name": "p", "labels": {"a": "1"}}}),
        apply("pods/p", _labels(a="2"), "bob"),
    ),
    case(
        "a conflict is forced",
        apply("pods/p", {**_POD, "metadata": {"name": "p", "labels": {"a": "1"}}}),
        apply("pods/p", _labels(a="2"), "bob", force=True),
    ),
    case(
        "two conflicts are both named",
        apply("pods/p", {**_POD, "metadata": {"name": "p", "labels": {"a": "1", "b": "1"}}}),
        apply("pods/p", _labels(a="2", b="2"), "bob"),
    ),
    case(
        "conflicts with two managers are both named",
        apply("pods/p", {**_POD, "metadata": {"name": "p", "labels": {"a": "1"}}}),
        apply("pods/p", _labels(b="1"), "bob"),
        apply("pods/p", _labels(a="2", b="2"), "carol").only_of("code", "reason", "message"),
    ),
    case(
        "what is no longer applied is removed",
        apply("pods/p", {**_POD, "metadata": {"name": "p", "labels": {"a": "1", "b": "2"}}}),
        apply("pods/p", {**_POD, "metadata": {"name": "p", "labels": {"a": "1"}}}),
    ),
    case(
        "what another manager owns too stays",
        apply("pods/p", {**_POD, "metadata": {"name": "p", "labels": {"a": "1"}}}),
        apply("pods/p", _labels(a="1"), "bob"),
        _START,
        apply("pods/p", _labels(), "bob"),
    ),
    case(
        "an applied field taken over by update is a conflict",
        apply("pods/p", {**_POD, "metadata": {"name": "p", "labels": {"a": "1"}}}),
        merge("pods/p", {"metadata": {"labels": {"a": "2"}}}).as_("editor"),
        apply("pods/p", {**_POD, "metadata": {"name": "p", "labels": {"a": "1"}}}),
        apply("pods/p", {**_POD, "metadata": {"name": "p", "labels": {"a": "1"}}}, force=True),
    ),
    case(
        "an update by the applier is another owner",
        _START,
        merge("pods/p", {"metadata": {"labels": {"a": "1"}}}, fieldManager="alice"),
        apply("pods/p", _labels(a="2"), "bob"),
    ),
    case(
        "null in an applied configuration",
        apply("pods/p", {**_POD, "metadata": {"name": "p", "labels": {"a": None}}}),
        apply("pods/p", {**_POD, "spec": {**_POD["spec"], "activeDeadlineSeconds": None}}),
    ),
    case(
        "containers are merged by name",
        _START,
        apply("pods/p", _spec({"name": "main", "env": []}), "bob"),
        apply("pods/p", _spec({"name": "main", "image": "alpine"}), "bob"),
        apply("pods/p", _spec({"name": "main", "image": "alpine"}), "bob", force=True),
    ),
    case("a container cannot be added to a Pod", _START, apply("pods/p", _spec(container("other")), "bob")),
    case(
        "environment takes the order of the applier",
        apply("pods/p", pod("p", container(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]))),
        apply("pods/p", pod("p", container(env=[{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]))),
    ),
    case(
        "ports are merged by port and protocol",
        apply("pods/p", pod("p", container(ports=[{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]))),
        get("pods/p"),
    ),
    case(
        "ports without a protocol own the default",
        apply("pods/p", pod("p", container(ports=[{"containerPort": 80, "name": "a"}]))),
        apply("pods/p", pod("p", container(ports=[{"containerPort": 80, "protocol": "TCP", "name": "a"}])), "bob"),
    ),
    case(
        "tolerations are atomic",
        apply("pods/p", pod("p", tolerations=[{"key": "a", "operator": "Exists"}])),
        apply("pods/p", _spec(container(), tolerations=[{"key": "b", "operator": "Exists"}]), "bob"),
    ),
    case(
        "a node selector is atomic",
        apply("pods/p", pod("p", nodeSelector={"a": "1"}, schedulingGates=[{"name": "example.com/g"}])),
        apply("pods/p", _spec(container(), nodeSelector={"b": "1"}), "bob"),
    ),
    case(
        "volumes are merged by name", apply("pods/p", pod("p", volumes=[{"name": "v", "emptyDir": {}}])), get("pods/p")
    ),
    case(
        "resources are granular",
        apply("pods/p", pod("p", container(resources={"limits": {"cpu": "1", "memory": "1Gi"}}))),
        get("pods/p"),
    ),
    case(
        "quantities are the same in any spelling",
        apply("pods/p", pod("p", container(resources={"requests": {"cpu": "1000m"}}))),
        apply("pods/p", pod("p", container(resources={"requests": {"cpu": "1"}}))),
        apply("pods/p", _spec({"name": "main", "resources": {"requests": {"cpu": "1"}}}), "bob"),
    ),
    case(
        "two items of one key are refused",
        apply("pods/p", pod("p", container(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]))),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(0),
    ),
    case(
        "two containers of one name are refused",
        apply("pods/p", pod("p", container(), container())),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(0),
    ),
    case("an item without its key is refused", apply("pods/p", pod("p", {"image": "x"}))),
    case("status applied to the main resource is ignored", apply("pods/p", {**_POD, "status": {"phase": "Running"}})),
    case(
        "status is applied through its subresource",
        _START,
        apply(
            "pods/p/status",
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p"},
                "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
            },
            "kubelet",
        ),
        apply(
            "pods/p/status",
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p"},
                "status": {"phase": "Running", "conditions": []},
            },
            "kubelet",
        ),
    ),
    case(
        "apply to the status of what does not exist",
        apply(
            "pods/p/status",
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": {"phase": "Running"}},
        ),
    ),
    case(
        "a created object has its creator as an owner",
        create("pods", _POD, fieldManager="creator"),
        apply("pods/p", _labels(a="1")),
        apply("pods/p", {**_POD, "spec": {"containers": [{"name": "main", "image": "other"}]}}),
    ),
    case(
        "an object made before its first apply keeps its owner",
        create("pods", {**_POD, "metadata": {"name": "p", "labels": {"a": "1"}}}, fieldManager="before-first-apply"),
        apply("pods/p", _labels(a="1")),
        apply("pods/p", _labels()),
    ),
    case(
        "patches of other types by one manager share an entry",
        _START,
        merge("pods/p", {"metadata": {"labels": {"a": "1"}}}, fieldManager="bob"),
        strategic("pods/p", {"metadata": {"labels": {"b": "1"}}}, fieldManager="bob"),
        json_patch("pods/p", {"op": "remove", "path": "/metadata/labels/a"}, fieldManager="bob"),
    ),
    case(
        "an update that removes a field takes it from its owners",
        apply("pods/p", {**_POD, "metadata": {"name": "p", "labels": {"a": "1", "b": "1"}}}),
        json_patch("pods/p", {"op": "remove", "path": "/metadata/labels/a"}),
    ),
    case(
        "annotations and finalizers",
        apply(
            "pods/p",
            {**_POD, "metadata": {"name": "p", "annotations": {"example.com/a": "1"}, "finalizers": ["example.com/a"]}},
        ),
        apply("pods/p", {**_labels(), "metadata": {"name": "p", "finalizers": ["example.com/b"]}}, "bob"),
        _START,
        apply("pods/p", _labels(), "bob"),
    ),
    case(
        "owner references are merged by uid",
        apply(
            "pods/p",
            {
                **_POD,
                "metadata": {
                    "name": "p",
                    "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u1"}],
                },
            },
        ),
        apply(
            "pods/p",
            {
                **_labels(),
                "metadata": {
                    "name": "p",
                    "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "m", "uid": "u2"}],
                },
            },
            "bob",
        ),
    ),
    case(
        "managed fields can be cleared with an empty entry",
        _START,
        merge("pods/p", {"metadata": {"managedFields": [{}]}}),
        apply("pods/p", _labels(a="1"), "bob"),
    ),
    case(
        "forged managed fields",
        _START,
        merge(
            "pods/p",
            {
                "metadata": {
                    "managedFields": [
                        {
                            "manager": "x",
                            "operation": "Sing",
                            "apiVersion": "v1",
                            "fieldsType": "FieldsV1",
                            "fieldsV1": {},
                        }
                    ]
                }
            },
        ),
        merge(
            "pods/p",
            {
                "metadata": {
                    "managedFields": [
                        {
                            "manager": "x",
                            "operation": "Update",
                            "apiVersion": "v1",
                            "fieldsType": "Other",
                            "fieldsV1": {},
                        }
                    ]
                }
            },
        ),
        merge(
            "pods/p",
            {
                "metadata": {
                    "managedFields": [
                        {
                            "manager": "x",
                            "operation": "Update",
                            "apiVersion": "v1",
                            "fieldsType": "FieldsV1",
                            "fieldsV1": {"nonsense": 1},
                        }
                    ]
                }
            },
        ),
    ),
    case(
        "a create cannot set managed fields",
        create(
            "pods",
            {
                **_POD,
                "metadata": {
                    "name": "p",
                    "managedFields": [
                        {
                            "manager": "x",
                            "operation": "Apply",
                            "apiVersion": "v1",
                            "fieldsType": "FieldsV1",
                            "fieldsV1": {"f:metadata": {}},
                        }
                    ],
                },
            },
        ),
    ),
    case("an applied object that is deleted and applied again", _START, delete("pods/p"), _START),
    case("a resulting object that is invalid is refused", apply("pods/p", pod("p", container("Bad Name")))),
    case(
        "apply to what is being deleted",
        apply("pods/p", {**_POD, "metadata": {"name": "p", "finalizers": ["example.com/a"]}}),
        delete("pods/p"),
        apply("pods/p", _labels(a="1"), "bob"),
        merge("pods/p", {"metadata": {"finalizers": None}}),
    ),
]
