"""Tables and partial metadata: what `kubectl get` asks for."""

from __future__ import annotations

from typing import Any

from tests.contract.case import Step, case, create, get
from tests.contract.objects import (
    claim,
    configmap,
    deployment,
    job,
    lease,
    node,
    pod,
    raycluster,
    secret,
    service,
    worker_group,
)

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
KUBECTL = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)

_EVENT = {
    "metadata": {"name": "e"},
    "involvedObject": {"kind": "Pod", "namespace": "{ns}", "name": "p", "fieldPath": "spec.containers{main}"},
    "reason": "R",
    "message": "m\n",
    "type": "Normal",
    "firstTimestamp": "2020-01-01T00:00:00Z",
    "lastTimestamp": "2020-01-01T00:00:00Z",
    "count": 3,
    "source": {"component": "c", "host": "h"},
}
_RULES = {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
_ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
_HOOK = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://127.0.0.1:1/x"},
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
_BACKEND = {"service": {"name": "s", "port": {"number": 80}}}

_OBJECTS: dict[str, dict[str, Any]] = {
    "configmaps": configmap("x-{ns}", {"a": "1", "b": "2"}),
    "secrets": secret("x-{ns}", {"a": "1", "b": "2"}),
    "services": service("x-{ns}", {"name": "a", "port": 80}, {"name": "b", "port": 81, "protocol": "UDP"}),
    "serviceaccounts": {"metadata": {"name": "x-{ns}"}, "secrets": [{"name": "s"}]},
    "persistentvolumeclaims": claim("x-{ns}", storageClassName="fast"),
    "leases": lease("x-{ns}", holderIdentity="me"),
    "jobs": job("x-{ns}", completions=3),
    "deployments": deployment("x-{ns}", replicas=2),
    "controllerrevisions": {
        "metadata": {
            "name": "x-{ns}",
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "u", "controller": True}
            ],
        },
        "revision": 4,
        "data": {"a": 1},
    },
    "endpoints": {
        "metadata": {"name": "x-{ns}"},
        "subsets": [{"addresses": [{"ip": f"10.1.2.{n}"} for n in range(1, 6)], "ports": [{"port": 80}]}],
    },
    "endpointslices": {
        "metadata": {"name": "x-{ns}"},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.1.2.3"]}, {"addresses": ["10.1.2.4"]}],
        "ports": [{"port": 80}, {"name": "b", "port": 81}],
    },
    "resourcequotas": {"metadata": {"name": "x-{ns}"}, "spec": {"hard": {"pods": "5", "limits.cpu": "2"}}},
    "roles": {"metadata": {"name": "x-{ns}"}, **_RULES},
    "rolebindings": {
        "metadata": {"name": "x-{ns}"},
        "roleRef": _ROLE,
        "subjects": [
            {"kind": "ServiceAccount", "name": "default"},
            {"kind": "User", "name": "u"},
            {"kind": "Group", "name": "g"},
        ],
    },
    "clusterroles": {"metadata": {"name": "x-{ns}"}, **_RULES},
    "clusterrolebindings": {
        "metadata": {"name": "x-{ns}"},
        "roleRef": {**_ROLE, "kind": "ClusterRole"},
        "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "b"}],
    },
    "ingresses": {
        "metadata": {"name": "x-{ns}"},
        "spec": {
            "ingressClassName": "c",
            "tls": [{"hosts": ["a.example.com"]}],
            "rules": [
                {"host": "a.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": _BACKEND}]}}
            ],
        },
    },
    "networkpolicies": {"metadata": {"name": "x-{ns}"}, "spec": {"podSelector": {"matchLabels": {"a": "b"}}}},
    "poddisruptionbudgets": {"metadata": {"name": "x-{ns}"}, "spec": {"minAvailable": 1}},
    "priorityclasses": {"metadata": {"name": "x-{ns}"}, "value": 5, "globalDefault": False},
    "validatingwebhookconfigurations": {"metadata": {"name": "x-{ns}"}, "webhooks": [_HOOK]},
    "mutatingwebhookconfigurations": {"metadata": {"name": "x-{ns}"}, "webhooks": [_HOOK]},
    "namespaces": {"metadata": {"name": "x-{ns}"}},
    "nodes": node("x-{ns}"),
    "rayclusters": raycluster("x-{ns}", workerGroupSpecs=[worker_group("a", 2)]),
}


def _created(kind: str, body: Any) -> list[Step]:
    """The object, and what a controller says of it first."""
    if kind != "resourcequotas":
        return [create(kind, body)]
    used = get("resourcequotas/x-{ns}").polled(status__used={"pods": "0", "limits.cpu": "0"}).only_of("status")
    return [create(kind, body).only_of("kind"), used]


CASES = [
    *[case(f"{kind}: one", _created(kind, body), get(f"{kind}/x-{{ns}}", TABLE)) for kind, body in _OBJECTS.items()],
    *[
        case(
            f"{kind}: a list as kubectl asks for it",
            _created(kind, body),
            get(kind, KUBECTL, fieldSelector="metadata.name=x-{ns}"),
        )
        for kind, body in _OBJECTS.items()
    ],
    case("pods: one", create("pods", pod("p")), get("pods/p", TABLE)),
    case(
        "events: one",
        create("events", _EVENT),
        get("events/e", TABLE),
        get("/apis/events.k8s.io/v1/namespaces/{ns}/events/e", TABLE),
    ),
    case(
        "customresourcedefinitions: one",
        get("customresourcedefinitions/rayclusters.ray.io", TABLE).only_of(
            "kind", "apiVersion", "columnDefinitions", "rows[0].cells"
        ),
    ),
]
