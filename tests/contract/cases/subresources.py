"""The status and scale subresources."""

from __future__ import annotations

from tests.contract.case import NEVER_A_SERVER_ERROR, bad_request_in, case, create, get, json_patch, merge, update
from tests.contract.objects import deployment, pod, raycluster, service

_RAY_STATUS = {
    "state": "ready",
    "desiredWorkerReplicas": 2,
    "conditions": [
        {"type": "A", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    ],
}

CASES = [
    case(
        "status: of a Pod",
        create("pods", pod("p")).keeping(rv="metadata.resourceVersion"),
        get("pods/p/status"),
        update(
            "pods/p/status",
            {
                **pod("p", metadata={"resourceVersion": "{rv}", "labels": {"x": "1"}}),
                "status": {
                    "phase": "Running",
                    "podIP": "10.0.0.1",
                    "podIPs": [{"ip": "10.0.0.1"}],
                    "hostIP": "10.1.1.1",
                    "hostIPs": [{"ip": "10.1.1.1"}],
                },
            },
        ),
        get("pods/p"),
    ),
    case(
        "status: a stale update",
        create("pods", pod("p")),
        update("pods/p/status", {**pod("p", metadata={"resourceVersion": "1"}), "status": {"phase": "Running"}}),
    ),
    case(
        "status: of what does not exist",
        get("pods/p/status"),
        update("pods/p/status", pod("p")),
        merge("pods/p/status", {"status": {}}),
    ),
    case(
        "status: is dropped on create",
        create("pods", {**pod("p"), "status": {"phase": "Failed"}}),
        create("rayclusters", {**raycluster("r"), "status": {"state": "ready"}}),
        create("deployments", {**deployment("d"), "status": {"replicas": 5}}),
    ),
    case(
        "status: is kept on update of the rest",
        create("rayclusters", raycluster("r")),
        merge("rayclusters/r/status", {"status": _RAY_STATUS}).keeping(rv="metadata.resourceVersion"),
        update("rayclusters/r", raycluster("r", metadata={"resourceVersion": "{rv}"}, suspend=True)),
        get("rayclusters/r").only_of("status", "spec", "metadata.generation"),
    ),
    case(
        "status: of a RayCluster",
        create("rayclusters", raycluster("r")).keeping(rv="metadata.resourceVersion"),
        update(
            "rayclusters/r/status",
            {
                **raycluster("r", metadata={"resourceVersion": "{rv}", "labels": {"x": "1"}}, suspend=True),
                "status": _RAY_STATUS,
            },
        ),
        get("rayclusters/r/status"),
    ),
    case(
        "status: of a RayCluster needs a resource version",
        create("rayclusters", raycluster("r")),
        update("rayclusters/r/status", {**raycluster("r"), "status": _RAY_STATUS}),
        update("rayclusters/r", raycluster("r")),
    ),
    case(
        "status: an invalid one of a RayCluster",
        create("rayclusters", raycluster("r")),
        merge("rayclusters/r/status", {"status": {"desiredWorkerReplicas": "two"}}),
        merge("rayclusters/r/status", {"status": {"conditions": [{"type": "A"}]}}),
        merge("rayclusters/r/status", {"status": {"mood": "good"}}, fieldValidation="Strict"),
    ),
    case(
        "status: removed",
        create("rayclusters", raycluster("r")),
        merge("rayclusters/r/status", {"status": _RAY_STATUS}),
        merge("rayclusters/r/status", {"status": None}),
        json_patch("rayclusters/r/status", {"op": "add", "path": "/status", "value": {}}),
    ),
    case(
        "status: of a Service",
        create("services", service("s", type="LoadBalancer")),
        merge("services/s/status", {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}),
        merge("services/s/status", {"status": {"loadBalancer": {"ingress": [{"ip": "nonsense"}]}}}),
    ),
    case(
        "status: of a Deployment",
        create("deployments", deployment("d")),
        merge(
            "deployments/d/status",
            {"status": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "observedGeneration": 1}},
        ),
        merge("deployments/d/status", {"status": {"replicas": -1}}),
    ),
    case(
        "status: labels changed through it",
        create("deployments", deployment("d")),
        merge(
            "deployments/d/status",
            {"metadata": {"labels": {"a": "b"}, "annotations": {"x": "y"}, "finalizers": ["example.com/a"]}},
        ),
    ),
    case(
        "status: finalizers of a custom object changed through it",
        create("rayclusters", raycluster("r")),
        merge(
            "rayclusters/r/status",
            {"metadata": {"labels": {"a": "b"}, "annotations": {"x": "y"}, "finalizers": ["example.com/a"]}},
        ),
    ),
    case(
        "scale: of a Deployment",
        create("deployments", deployment("d")),
        get("deployments/d/scale").keeping(rv="metadata.resourceVersion"),
        update(
            "deployments/d/scale",
            {
                "apiVersion": "autoscaling/v1",
                "kind": "Scale",
                "metadata": {"name": "d", "namespace": "{ns}", "resourceVersion": "{rv}"},
                "spec": {"replicas": 3},
            },
        ),
        merge("deployments/d/scale", {"spec": {"replicas": 0}}),
        get("deployments/d"),
    ),
    case(
        "scale: what is not allowed",
        create("deployments", deployment("d")),
        merge("deployments/d/scale", {"spec": {"replicas": -1}}),
        merge("deployments/d/scale", {"spec": {"replicas": "two"}}),
        update("deployments/d/scale", {"metadata": {"name": "d", "resourceVersion": "1"}, "spec": {"replicas": 3}}),
        get("deployments/nothing/scale"),
        update("deployments/d/scale", {"metadata": {"name": "other"}, "spec": {"replicas": 3}}),
        update("deployments/d/scale", deployment("d")),
    ),
    case(
        "scale: an update without a resource version",
        create("deployments", deployment("d")),
        update("deployments/d/scale", {"metadata": {"name": "d"}, "spec": {"replicas": 3}}),
    ),
    case(
        "scale: patched as another program",
        create("deployments", deployment("d", replicas=1)).as_("a"),
        merge("deployments/d/scale", {"spec": {"replicas": 2}}).as_("b"),
        merge("deployments/d/scale", {"spec": {"replicas": 2}}, dryRun="All"),
    ),
    case("scale: a kind without one", create("rayclusters", raycluster("r")), get("rayclusters/r/scale")),
    case(
        "binding: puts a Pod on a node",
        create("pods", pod("p")),
        create(
            "pods/p/binding",
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "p"},
                "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"},
            },
        ),
        get("pods/p"),
        create("pods/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "node-2"}}),
    ),
    case(
        "binding: what is not allowed",
        create("pods", pod("p")),
        create("pods/p/binding", {"metadata": {"name": "p"}, "target": {}}),
        create("pods/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Planet", "name": "mars"}}),
        create("pods/q/binding", {"metadata": {"name": "q"}, "target": {"kind": "Node", "name": "n"}}),
        create("pods/p/binding", {"metadata": {"name": "other"}, "target": {"kind": "Node", "name": "n"}}),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(1, 2),
    ),
    case(
        "binding: a Pod with gates",
        create("pods", pod("p", schedulingGates=[{"name": "example.com/g"}])),
        create("pods/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}),
        merge("pods/p", {"spec": {"schedulingGates": []}}),
        create("pods/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}),
    ),
    case(
        "binding: through the collection",
        create("pods", pod("p")),
        create(
            "bindings",
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "p"},
                "target": {"kind": "Node", "name": "node-1"},
            },
        ),
        get("pods/p").only_of("spec.nodeName"),
    ),
    case(
        "eviction: deletes a Pod",
        create("pods", pod("p", nodeName="n")),
        create("pods/p/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}),
        get("pods/p"),
    ),
    case(
        "eviction: with options",
        create("pods", pod("p", nodeName="n")),
        create(
            "pods/p/eviction",
            {
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": {"name": "p"},
                "deleteOptions": {"gracePeriodSeconds": 0},
            },
        ),
        get("pods/p"),
    ),
    case(
        "eviction: dry run",
        create("pods", pod("p", nodeName="n")),
        create(
            "pods/p/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}, dryRun="All"
        ),
        get("pods/p").only_of("metadata.deletionTimestamp"),
    ),
    case(
        "eviction: of what does not exist",
        create("pods/p/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}),
    ),
    case(
        "eviction: another name in the body",
        create("pods", pod("p")),
        create("pods/p/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "q"}}),
    ),
    case(
        "ephemeral containers are added through their subresource",
        create("pods", pod("p")),
        merge("pods/p/ephemeralcontainers", {"spec": {"ephemeralContainers": [{"name": "debug", "image": "busybox"}]}}),
        get("pods/p").only_of("spec.ephemeralContainers"),
    ),
    case(
        "resize changes resources",
        create("pods", pod("p", {"name": "a", "image": "b", "resources": {"requests": {"cpu": "1"}}})),
        merge(
            "pods/p", {"spec": {"containers": [{"name": "a", "image": "b", "resources": {"requests": {"cpu": "2"}}}]}}
        ),
        merge(
            "pods/p/resize",
            {"spec": {"containers": [{"name": "a", "image": "b", "resources": {"requests": {"cpu": "2"}}}]}},
        ),
    ),
]
