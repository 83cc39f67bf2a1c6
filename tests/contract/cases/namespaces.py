"""Namespaces and Nodes."""

from __future__ import annotations

from tests.contract.case import case, create, delete, get, merge, update
from tests.contract.objects import configmap, node, pod

CASES = [
    case(
        "a namespace has a label of its name and a finalizer",
        create("namespaces", {"metadata": {"name": "x-{ns}"}}),
        get("namespaces/x-{ns}"),
    ),
    case(
        "the label of its name cannot be changed",
        create(
            "namespaces", {"metadata": {"name": "x-{ns}", "labels": {"kubernetes.io/metadata.name": "other", "a": "b"}}}
        ),
        merge("namespaces/x-{ns}", {"metadata": {"labels": {"kubernetes.io/metadata.name": "other"}}}),
        merge("namespaces/x-{ns}", {"metadata": {"labels": None}}),
    ),
    case(
        "a namespace that is deleted is terminating",
        create("namespaces", {"metadata": {"name": "x-{ns}"}}),
        delete("namespaces/x-{ns}"),
        get("namespaces/x-{ns}"),
        create("/api/v1/namespaces/x-{ns}/configmaps", configmap("c")),
        delete("namespaces/x-{ns}"),
    ),
    case(
        "an object in a terminating namespace can still be changed and deleted",
        create("namespaces", {"metadata": {"name": "x-{ns}"}}),
        create("/api/v1/namespaces/x-{ns}/configmaps", configmap("c")),
        delete("namespaces/x-{ns}"),
        merge("/api/v1/namespaces/x-{ns}/configmaps/c", {"data": {"a": "2"}}),
        delete("/api/v1/namespaces/x-{ns}/configmaps/c"),
    ),
    case(
        "finalizing ends a namespace",
        create("namespaces", {"metadata": {"name": "x-{ns}"}}),
        delete("namespaces/x-{ns}"),
        update("namespaces/x-{ns}/finalize", {"metadata": {"name": "x-{ns}"}, "spec": {"finalizers": []}}),
        get("namespaces/x-{ns}"),
    ),
    case(
        "finalizing a namespace that is not deleted",
        create("namespaces", {"metadata": {"name": "x-{ns}"}}),
        update("namespaces/x-{ns}/finalize", {"metadata": {"name": "x-{ns}"}, "spec": {"finalizers": []}}),
        get("namespaces/x-{ns}"),
    ),
    case(
        "an update does not change the spec",
        create("namespaces", {"metadata": {"name": "x-{ns}"}}),
        merge("namespaces/x-{ns}", {"spec": {"finalizers": []}, "status": {"phase": "Terminating"}}),
    ),
    case(
        "a namespace with a finalizer in its metadata",
        create("namespaces", {"metadata": {"name": "x-{ns}", "finalizers": ["example.com/a"]}}),
        delete("namespaces/x-{ns}"),
        update("namespaces/x-{ns}/finalize", {"metadata": {"name": "x-{ns}"}, "spec": {"finalizers": []}}),
        get("namespaces/x-{ns}"),
        merge("namespaces/x-{ns}", {"metadata": {"finalizers": None}}),
        get("namespaces/x-{ns}"),
    ),
    case(
        "names that are not allowed",
        create("namespaces", {"metadata": {"name": "a.b"}}),
        create("namespaces", {"metadata": {"name": "Up"}}),
        create("namespaces", {"metadata": {"name": "a" * 64}}),
        create("namespaces", {"metadata": {"generateName": "x-{ns}-"}}),
    ),
    case(
        "the first namespaces are protected",
        delete("namespaces/default"),
        delete("namespaces/kube-system"),
        delete("namespaces/kube-public"),
    ),
    case(
        "the first namespaces exist",
        *[
            get(f"namespaces/{name}").only_of("metadata.name", "metadata.labels", "spec", "status")
            for name in ("default", "kube-system", "kube-public", "kube-node-lease")
        ],
    ),
    case(
        "the kubernetes Service exists",
        get("/api/v1/namespaces/default/services/kubernetes").only_of(
            "metadata.name",
            "metadata.labels",
            "spec.ports[0].name",
            "spec.ports[0].port",
            "spec.ports[0].protocol",
            "spec.type",
            "spec.ipFamilies",
            "spec.sessionAffinity",
            "spec.internalTrafficPolicy",
            "status",
        ),
    ),
    case(
        "selecting by phase",
        get("namespaces", fieldSelector="metadata.name={ns},status.phase=Active").only_of("items[0].metadata.name"),
        get("namespaces", fieldSelector="metadata.name={ns},status.phase=Terminating").only_of("items"),
    ),
    case(
        "the status of a namespace",
        merge("namespaces/{ns}/status", {"status": {"conditions": [{"type": "A", "status": "True"}]}}),
        merge("namespaces/{ns}/status", {"status": {"phase": "Odd"}}),
    ),
    case("a namespace in a namespace", create("namespaces", {"metadata": {"name": "x-{ns}", "namespace": "default"}})),
    case("node: defaults", create("nodes", node("n-{ns}")), get("nodes/n-{ns}")),
    case(
        "node: spec",
        create(
            "nodes",
            node(
                "n-{ns}",
                podCIDR="10.42.0.0/24",
                providerID="x://1",
                unschedulable=True,
                taints=[{"key": "a", "effect": "NoSchedule"}],
            ),
        ),
        merge("nodes/n-{ns}", {"spec": {"unschedulable": False}}),
        merge("nodes/n-{ns}", {"spec": {"podCIDR": "10.42.1.0/24"}}),
        merge("nodes/n-{ns}", {"spec": {"providerID": "x://2"}}),
    ),
    case(
        "node: status",
        create("nodes", node("n-{ns}")),
        merge(
            "nodes/n-{ns}/status",
            {
                "status": {
                    "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
                    "conditions": [
                        {
                            "type": "Ready",
                            "status": "True",
                            "reason": "Ok",
                            "message": "",
                            "lastHeartbeatTime": "2020-01-01T00:00:00Z",
                            "lastTransitionTime": "2020-01-01T00:00:00Z",
                        }
                    ],
                    "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                    "nodeInfo": {
                        "kubeletVersion": "v1.36.3",
                        "osImage": "x",
                        "kernelVersion": "y",
                        "containerRuntimeVersion": "z://1",
                        "machineID": "",
                        "systemUUID": "",
                        "bootID": "",
                        "kubeProxyVersion": "",
                        "operatingSystem": "linux",
                        "architecture": "amd64",
                    },
                }
            },
        ),
        get("nodes/n-{ns}"),
    ),
    case(
        "node: what is not allowed",
        create("nodes", node("n-{ns}", taints=[{"key": "", "effect": "No"}])),
        create("nodes", node("n-{ns}", podCIDR="x")),
        create("nodes", node("n_{ns}")),
        create(
            "nodes", node("n-{ns}", taints=[{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}])
        ),
    ),
    case("node: in a namespace", create("nodes", node("n-{ns}", metadata={"namespace": "{ns}"}))),
    case(
        "node: pods of it are found",
        create("pods", pod("p", nodeName="n-{ns}")),
        get("/api/v1/pods", fieldSelector="spec.nodeName=n-{ns}").only_of("items[0].metadata.name", "items[1]"),
    ),
]
