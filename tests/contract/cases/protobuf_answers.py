"""Answers to clients that read nothing but protobuf."""

from __future__ import annotations

from tests.contract.case import Step, apply, case, create, delete, get, merge, socket, update, watch
from tests.contract.objects import configmap

_PROTOBUF = "application/vnd.kubernetes.protobuf"
_STREAM = f"{_PROTOBUF};stream=watch"
_METADATA = f"{_PROTOBUF};as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_METADATA_LIST = f"{_PROTOBUF};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_TABLE = f"{_PROTOBUF};as=Table;v=v1;g=meta.k8s.io"
_MAKE = create("configmaps", configmap("m")).keeping(rv="metadata.resourceVersion").only_of("kind")
_POD = {
    "metadata": {"name": "p", "labels": {"a": "b"}, "annotations": {"é": ""}},
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "ports": [{"containerPort": 80}],
                "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}},
                "readinessProbe": {"httpGet": {"port": "web"}},
                "env": [
                    {"name": "A", "value": ""},
                    {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                ],
            }
        ],
        "volumes": [{"name": "v", "emptyDir": {}}],
    },
}


def _asking(step: Step, accept: str = _PROTOBUF) -> Step:
    return step.with_headers(Accept=accept)


CASES = [
    case("an object", _MAKE, _asking(get("configmaps/m"))),
    case("a pod", _asking(create("pods", _POD)), _asking(get("pods/p")), _asking(get("pods"))),
    case(
        "what is written",
        _asking(create("configmaps", configmap("m"))),
        _asking(update("configmaps/m", configmap("m", a="2"))),
        _asking(merge("configmaps/m", {"data": {"a": "3"}})),
        _asking(apply("configmaps/n", {**configmap("n"), "apiVersion": "v1", "kind": "ConfigMap"})),
        _asking(delete("configmaps/m")),
    ),
    case(
        "kinds of several groups",
        _asking(
            create(
                "deployments",
                {
                    "metadata": {"name": "d"},
                    "spec": {
                        "selector": {"matchLabels": {"a": "b"}},
                        "strategy": {"rollingUpdate": {"maxSurge": "30%", "maxUnavailable": 1}},
                        "template": {"metadata": {"labels": {"a": "b"}}, "spec": _POD["spec"]},
                    },
                },
            )
        ),
        _asking(create("leases", {"metadata": {"name": "l"}, "spec": {"renewTime": "2026-01-02T03:04:05.678901Z"}})),
        _asking(create("secrets", {"metadata": {"name": "s"}, "data": {"k": "/wA="}, "stringData": {"t": "x"}})),
        _asking(get("clusterroles/view")).only_of("kind", "metadata.name", "aggregationRule"),
        _asking(get("customresourcedefinitions/rayclusters.ray.io")).only_of("kind", "spec.names", "spec.group"),
    ),
    case("a list", _MAKE, _asking(get("configmaps")), _asking(get("configmaps", labelSelector="no"))),
    case("metadata alone", _MAKE, _asking(get("configmaps/m"), _METADATA), _asking(get("configmaps"), _METADATA_LIST)),
    case("metadata of a custom object", _asking(get("rayclusters"), _METADATA_LIST)),
    case("no tables", _MAKE, _asking(get("configmaps/m"), _TABLE), _asking(get("configmaps"), _TABLE)),
    case("nothing there", _asking(get("configmaps/none")), _asking(get("nopes"))),
    case("what is refused", _asking(create("configmaps", {"metadata": {"name": "A"}}))),
    case("the status of a deletion", _MAKE, _asking(delete("configmaps/m"))),
    case("a scale", _asking(get("deployments/none/scale"))),
    case("a watch", _MAKE, _asking(watch("configmaps", 1, labelSelector="!no"))),
    case("a watch as client-go asks", _MAKE, _asking(watch("configmaps", 1, labelSelector="!no"), _STREAM)),
    case(
        "changes",
        _MAKE,
        merge("configmaps/m", {"data": {"a": "2"}}).only_of("kind"),
        delete("configmaps/m").only_of("kind"),
        _asking(watch("configmaps", 2, resourceVersion="{rv}")),
    ),
    case(
        "the initial events and their end",
        _MAKE,
        _asking(
            watch(
                "configmaps",
                2,
                sendInitialEvents=True,
                allowWatchBookmarks=True,
                resourceVersionMatch="NotOlderThan",
                labelSelector="!no",
            )
        ),
    ),
    case("a watch of metadata", _MAKE, _asking(watch("configmaps", 1, labelSelector="!no"), _METADATA)),
    case("a WebSocket", _MAKE, _asking(socket("configmaps", 1, watch=True, labelSelector="!no"))),
    case(
        "a WebSocket as client-go asks",
        _MAKE,
        _asking(socket("configmaps", 1, watch=True, labelSelector="!no"), _STREAM),
    ),
    case(
        "changes over a WebSocket",
        _MAKE,
        merge("configmaps/m", {"data": {"a": "2"}}).only_of("kind"),
        delete("configmaps/m").only_of("kind"),
        _asking(socket("configmaps", 2, watch=True, resourceVersion="{rv}")),
    ),
    case("a WebSocket until its time is over", _MAKE, _asking(socket("configmaps", 0, watch=True, timeoutSeconds=1))),
    case(
        "a WebSocket of metadata", _MAKE, _asking(socket("configmaps", 1, watch=True, labelSelector="!no"), _METADATA)
    ),
]
