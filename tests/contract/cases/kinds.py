"""The other built-in kinds: what is filled in and what is refused."""

from __future__ import annotations

from tests.contract.case import case, create, delete, get, merge
from tests.contract.objects import claim, configmap, service

_HOOK = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://127.0.0.1:1/x"},
    "rules": [
        {"apiGroups": ["nothing.example.com"], "apiVersions": ["v1"], "resources": ["x"], "operations": ["CREATE"]}
    ],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
_HTTP = {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}

_NOTHING_USED = {"pods": "0", "requests.cpu": "0", "count/configmaps": "0"}

CASES = [
    case("claim: defaults", create("persistentvolumeclaims", claim("c")), get("persistentvolumeclaims/c")),
    case(
        "claim: what is not allowed",
        create("persistentvolumeclaims", claim("c", accessModes=[])),
        create("persistentvolumeclaims", claim("c", accessModes=["Odd"])),
        create("persistentvolumeclaims", claim("c", resources={})),
        create("persistentvolumeclaims", claim("c", resources={"requests": {"storage": "-1"}})),
        create("persistentvolumeclaims", claim("c", volumeMode="Odd")),
        create("persistentvolumeclaims", claim("c", storageClassName="Not A Name")),
    ),
    case(
        "claim: what may change",
        create("persistentvolumeclaims", claim("c", storageClassName="a")),
        merge("persistentvolumeclaims/c", {"spec": {"storageClassName": "b"}}),
        merge("persistentvolumeclaims/c", {"spec": {"accessModes": ["ReadWriteMany"]}}),
        merge("persistentvolumeclaims/c", {"spec": {"volumeName": "v"}}),
        merge(
            "persistentvolumeclaims/c/status",
            {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}},
        ),
        merge("persistentvolumeclaims/c", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}),
    ),
    case(
        "claim: is protected",
        create("persistentvolumeclaims", claim("c")),
        delete("persistentvolumeclaims/c"),
        get("persistentvolumeclaims/c"),
    ),
    case(
        "endpoints",
        create(
            "endpoints",
            {
                "metadata": {"name": "e"},
                "subsets": [
                    {
                        "addresses": [
                            {"ip": "10.1.2.4"},
                            {"ip": "10.1.2.3", "targetRef": {"kind": "Pod", "name": "p"}},
                        ],
                        "ports": [{"port": 80, "name": "b"}, {"port": 81, "name": "a"}],
                    }
                ],
            },
        ),
        create(
            "endpoints",
            {
                "metadata": {"name": "f"},
                "subsets": [{"addresses": [{"ip": "127.0.0.1"}, {"ip": "x"}], "ports": [{"port": 0}]}],
            },
        ),
    ),
    case(
        "endpointslice",
        create(
            "endpointslices",
            {
                "metadata": {"name": "e", "labels": {"kubernetes.io/service-name": "s"}},
                "addressType": "IPv4",
                "endpoints": [{"addresses": ["10.1.2.3"], "conditions": {"ready": True}}],
                "ports": [{"port": 80}],
            },
        ),
        create("endpointslices", {"metadata": {"name": "f"}, "addressType": "Odd", "endpoints": [{"addresses": []}]}),
        create(
            "endpointslices",
            {
                "metadata": {"name": "f"},
                "addressType": "IPv4",
                "endpoints": [{"addresses": ["127.0.0.1"]}, {"addresses": ["x"]}],
                "ports": [{"name": "Up", "port": 80}],
            },
        ),
        merge("endpointslices/e", {"addressType": "IPv6"}),
    ),
    case(
        "ingress",
        create(
            "ingresses",
            {
                "metadata": {"name": "i"},
                "spec": {
                    "rules": [{"host": "a.example.com", "http": _HTTP}],
                    "tls": [{"hosts": ["a.example.com"], "secretName": "t"}],
                },
            },
        ),
        merge("ingresses/i/status", {"status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}}),
    ),
    case(
        "ingress: what is not allowed",
        create("ingresses", {"metadata": {"name": "i"}, "spec": {}}),
        create(
            "ingresses", {"metadata": {"name": "i"}, "spec": {"rules": [{"host": "1.2.3.4", "http": {"paths": []}}]}}
        ),
        create(
            "ingresses",
            {
                "metadata": {"name": "i"},
                "spec": {
                    "rules": [
                        {
                            "http": {
                                "paths": [
                                    {"path": "x", "pathType": "Exact", "backend": {}},
                                    {"path": "/", "backend": {"service": {"name": "s", "port": {}}}},
                                ]
                            }
                        }
                    ]
                },
            },
        ),
    ),
    case(
        "networkpolicy",
        create(
            "networkpolicies",
            {
                "metadata": {"name": "n"},
                "spec": {
                    "podSelector": {},
                    "ingress": [{"from": [{"podSelector": {"matchLabels": {"a": "b"}}}], "ports": [{"port": 80}]}],
                },
            },
        ),
        create(
            "networkpolicies",
            {"metadata": {"name": "m"}, "spec": {"podSelector": {}, "egress": [{"to": [{"ipBlock": {"cidr": "x"}}]}]}},
        ),
        create(
            "networkpolicies",
            {"metadata": {"name": "m"}, "spec": {"podSelector": {"matchLabels": {"a b": "c"}}, "policyTypes": ["Odd"]}},
        ),
    ),
    case(
        "poddisruptionbudget",
        create(
            "poddisruptionbudgets",
            {"metadata": {"name": "p"}, "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}}},
        ),
        create("poddisruptionbudgets", {"metadata": {"name": "q"}, "spec": {"minAvailable": 1, "maxUnavailable": 1}}),
        create("poddisruptionbudgets", {"metadata": {"name": "q"}, "spec": {"minAvailable": "x"}}),
        merge("poddisruptionbudgets/p", {"spec": {"minAvailable": 1}}),
    ),
    case(
        "priorityclass",
        create("priorityclasses", {"metadata": {"name": "p-{ns}"}, "value": 5, "description": "d"}),
        merge("priorityclasses/p-{ns}", {"value": 6}),
        merge("priorityclasses/p-{ns}", {"preemptionPolicy": "Never"}),
        merge("priorityclasses/p-{ns}", {"description": "e"}),
        create("priorityclasses", {"metadata": {"name": "q-{ns}"}, "value": 2_000_000_000}),
        create("priorityclasses", {"metadata": {"name": "system-{ns}"}, "value": 1}),
    ),
    case(
        "resourcequota",
        create(
            "resourcequotas",
            {
                "metadata": {"name": "q"},
                "spec": {"hard": {"pods": "5", "requests.cpu": "1", "count/configmaps": "1"}},
            },
        ),
        create("resourcequotas", {"metadata": {"name": "r"}, "spec": {"hard": {"pods": "-1"}}}),
        create("resourcequotas", {"metadata": {"name": "r"}, "spec": {"hard": {"odd": "1"}}}),
        get("resourcequotas/q").polled(status__used=_NOTHING_USED).only_of("status"),
        merge("resourcequotas/q/status", {"status": {"hard": {"pods": "5"}, "used": {"pods": "1"}}}).only_of("status"),
    ),
    case(
        "webhook configurations: defaults",
        create("validatingwebhookconfigurations", {"metadata": {"name": "v-{ns}"}, "webhooks": [_HOOK]}),
        create("mutatingwebhookconfigurations", {"metadata": {"name": "m-{ns}"}, "webhooks": [_HOOK]}),
    ),
    case(
        "webhook configurations: what is not allowed",
        create(
            "validatingwebhookconfigurations",
            {
                "metadata": {"name": "v-{ns}"},
                "webhooks": [
                    {"name": "short", "clientConfig": {}, "sideEffects": "Some", "admissionReviewVersions": []}
                ],
            },
        ),
        create(
            "validatingwebhookconfigurations",
            {
                "metadata": {"name": "v-{ns}"},
                "webhooks": [{**_HOOK, "timeoutSeconds": 60, "failurePolicy": "Odd", "matchPolicy": "Odd"}],
            },
        ),
        create("validatingwebhookconfigurations", {"metadata": {"name": "v-{ns}"}, "webhooks": [_HOOK, _HOOK]}),
        create(
            "validatingwebhookconfigurations",
            {"metadata": {"name": "v-{ns}"}, "webhooks": [{**_HOOK, "clientConfig": {"url": "http://x/y?z#a"}}]},
        ),
        create(
            "validatingwebhookconfigurations",
            {
                "metadata": {"name": "v-{ns}"},
                "webhooks": [{**_HOOK, "matchConditions": [{"name": "c", "expression": "1 +"}]}],
            },
        ),
        create(
            "mutatingwebhookconfigurations",
            {"metadata": {"name": "v-{ns}"}, "webhooks": [{**_HOOK, "reinvocationPolicy": "Odd"}]},
        ),
    ),
    case(
        "owner references and their flags",
        create("configmaps", configmap("c")).keeping(uid="metadata.uid"),
        create(
            "services",
            service(
                "s",
                metadata={
                    "ownerReferences": [
                        {
                            "apiVersion": "v1",
                            "kind": "ConfigMap",
                            "name": "c",
                            "uid": "{uid}",
                            "controller": True,
                            "blockOwnerDeletion": True,
                        }
                    ]
                },
            ),
        ),
        merge("services/s", {"metadata": {"ownerReferences": []}}),
    ),
]
