"""Pods: what is filled in, what is refused, what may change."""

from __future__ import annotations

from tests.contract.case import case, create, get, json_patch, merge, strategic
from tests.contract.objects import container, pod

CASES = [
    case(
        "the smallest Pod",
        create("pods", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "b"}]}}),
        get("pods/p"),
    ),
    case(
        "defaults: probes",
        create(
            "pods",
            pod(
                "p",
                container(
                    livenessProbe={"httpGet": {"port": 80}},
                    readinessProbe={"tcpSocket": {"port": "web"}},
                    startupProbe={"exec": {"command": ["true"]}, "periodSeconds": 3},
                    lifecycle={"preStop": {"httpGet": {"port": 80}}},
                    ports=[{"containerPort": 80, "name": "web"}],
                ),
                container("g", livenessProbe={"grpc": {"port": 1}}),
            ),
        ),
    ),
    case(
        "defaults: image pull policy",
        create(
            "pods",
            pod(
                "p",
                container("a", image="x"),
                container("b", image="x:latest"),
                container("c", image="x:1"),
                container("d", image="x@sha256:" + "a" * 64),
            ),
        ),
    ),
    case(
        "defaults: resources",
        create(
            "pods",
            pod(
                "p",
                container(resources={"limits": {"cpu": "1", "memory": "1Gi"}}),
                container("b", resources={"requests": {"cpu": "100m"}, "limits": {"cpu": 1, "nvidia.com/gpu": 1}}),
            ),
        ),
    ),
    case(
        "defaults: quality of service",
        create("pods", pod("guaranteed", container(resources={"limits": {"cpu": "1", "memory": "1Gi"}}))),
        create("pods", pod("burstable", container(resources={"requests": {"cpu": "1"}}))),
        create("pods", pod("effort")),
    ),
    case(
        "defaults: volumes",
        create(
            "pods",
            pod(
                "p",
                volumes=[
                    {"name": "a", "configMap": {"name": "c"}},
                    {"name": "b", "secret": {"secretName": "s"}},
                    {"name": "c", "hostPath": {"path": "/x"}},
                    {"name": "d", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
                    {
                        "name": "e",
                        "projected": {
                            "sources": [
                                {"serviceAccountToken": {"path": "t"}},
                                {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                            ]
                        },
                    },
                    {
                        "name": "f",
                        "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.labels"}}]},
                    },
                    {"name": "g"},
                    {"name": "h", "persistentVolumeClaim": {"claimName": "x"}},
                ],
            ),
        ),
    ),
    case(
        "defaults: environment",
        create(
            "pods",
            pod(
                "p",
                container(
                    env=[
                        {"name": "A"},
                        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                        {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                        {"name": "D", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                    ],
                    envFrom=[{"configMapRef": {"name": "c"}}],
                ),
            ),
        ),
    ),
    case(
        "defaults: init containers",
        create(
            "pods",
            pod(
                "p",
                initContainers=[{"name": "i", "image": "x"}, {"name": "side", "image": "x", "restartPolicy": "Always"}],
            ),
        ),
    ),
    case(
        "defaults: host network ports",
        create("pods", pod("p", container(ports=[{"containerPort": 80}]), hostNetwork=True)),
    ),
    case(
        "defaults: security context and the rest",
        create(
            "pods",
            pod(
                "p",
                securityContext={"runAsUser": 1000, "fsGroup": 1},
                enableServiceLinks=False,
                shareProcessNamespace=True,
                hostname="h",
                subdomain="s",
                dnsConfig={"nameservers": ["192.0.2.1"]},
                affinity={
                    "podAntiAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "weight": 1,
                                "podAffinityTerm": {
                                    "topologyKey": "zone",
                                    "labelSelector": {"matchLabels": {"a": "b"}},
                                },
                            }
                        ]
                    }
                },
                topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
            ),
        ),
    ),
    case(
        "tolerations of the cluster are added unless given",
        create(
            "pods",
            pod(
                "p",
                tolerations=[
                    {
                        "key": "node.kubernetes.io/not-ready",
                        "operator": "Exists",
                        "effect": "NoExecute",
                        "tolerationSeconds": 5,
                    }
                ],
            ),
        ),
    ),
    case(
        "the service account's token is mounted",
        create(
            "pods",
            {
                "metadata": {"name": "p"},
                "spec": {
                    "containers": [
                        container(),
                        container(
                            "b",
                            volumeMounts=[{"name": "v", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
                        ),
                    ],
                    "initContainers": [container("i")],
                    "volumes": [{"name": "v", "emptyDir": {}}],
                },
            },
        ),
    ),
    case("a service account that does not exist", create("pods", pod("p", serviceAccountName="nobody"))),
    case(
        "an own service account",
        create(
            "serviceaccounts",
            {"metadata": {"name": "sa"}, "imagePullSecrets": [{"name": "pull"}], "automountServiceAccountToken": False},
        ),
        create("pods", {"metadata": {"name": "p"}, "spec": {"serviceAccountName": "sa", "containers": [container()]}}),
    ),
    case(
        "the old name of the service account field",
        create("serviceaccounts", {"metadata": {"name": "sa"}}),
        create("pods", pod("p", serviceAccount="sa")),
    ),
    case(
        "priority classes",
        create("priorityclasses", {"metadata": {"name": "pc-{ns}"}, "value": 7}),
        create("pods", pod("p", priorityClassName="pc-{ns}")),
        create("pods", pod("q", priorityClassName="none-{ns}")),
        create("pods", pod("r", priority=5)),
        create("pods", pod("s", priorityClassName="system-node-critical")),
    ),
    case("a negative grace period is one second", create("pods", pod("p", terminationGracePeriodSeconds=-1))),
    case("an image pull secret without a name warns", create("pods", pod("p", imagePullSecrets=[{}]))),
    case(
        "a second init container of the name of a container",
        create("pods", pod("p", container("a"), initContainers=[container("a")])),
    ),
    case(
        "quantities keep the form they were given",
        create(
            "pods",
            pod(
                "p",
                container(
                    resources={
                        "requests": {"cpu": "0.5", "memory": "1000Mi", "ephemeral-storage": "1e3"},
                        "limits": {"cpu": 2, "memory": "1.5Gi", "ephemeral-storage": "2000000000m"},
                    }
                ),
            ),
        ),
    ),
    case(
        "may change: the image",
        create("pods", pod("p")),
        strategic("pods/p", {"spec": {"containers": [{"name": "main", "image": "new"}]}}),
    ),
    case(
        "may change: the deadline, downwards",
        create("pods", pod("p", activeDeadlineSeconds=100)),
        merge("pods/p", {"spec": {"activeDeadlineSeconds": 50}}),
        merge("pods/p", {"spec": {"activeDeadlineSeconds": 60}}),
        merge("pods/p", {"spec": {"activeDeadlineSeconds": None}}),
    ),
    case(
        "may change: more tolerations",
        create("pods", pod("p")),
        json_patch("pods/p", {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "x", "operator": "Exists"}}),
        merge("pods/p", {"spec": {"tolerations": []}}),
    ),
    case(
        "may change: gates away, never more",
        create("pods", pod("p", schedulingGates=[{"name": "example.com/a"}, {"name": "example.com/b"}])),
        merge("pods/p", {"spec": {"schedulingGates": [{"name": "example.com/a"}, {"name": "example.com/c"}]}}),
        merge("pods/p", {"spec": {"schedulingGates": [{"name": "example.com/b"}]}}),
        merge("pods/p", {"spec": {"nodeSelector": {"a": "b"}}}),
        merge("pods/p", {"spec": {"schedulingGates": None}}),
        merge("pods/p", {"spec": {"nodeSelector": {"a": "c"}}}),
    ),
    case(
        "may not change: the rest",
        create("pods", pod("p")),
        merge("pods/p", {"spec": {"restartPolicy": "Never"}}),
        merge("pods/p", {"spec": {"nodeName": "n"}}),
        merge("pods/p", {"spec": {"hostNetwork": True}}),
        merge("pods/p", {"spec": {"terminationGracePeriodSeconds": 1}}),
        strategic("pods/p", {"spec": {"containers": [{"name": "main", "command": ["x"]}]}}),
    ),
    case(
        "a status with container states",
        create("pods", pod("p", nodeName="n")),
        merge(
            "pods/p/status",
            {
                "status": {
                    "phase": "Running",
                    "startTime": "2020-01-01T00:00:00Z",
                    "containerStatuses": [
                        {
                            "name": "main",
                            "ready": True,
                            "restartCount": 2,
                            "image": "b",
                            "imageID": "",
                            "state": {"running": {"startedAt": "2020-01-01T00:00:00Z"}},
                        }
                    ],
                }
            },
        ),
        merge(
            "pods/p/status",
            {
                "status": {
                    "containerStatuses": [
                        {"name": "main", "ready": True, "restartCount": -1, "image": "b", "imageID": ""}
                    ]
                }
            },
        ),
        merge("pods/p/status", {"status": {"phase": "Bored"}}),
    ),
    case(
        "a status that goes back",
        create("pods", pod("p", nodeName="n", restartPolicy="Never")),
        merge(
            "pods/p/status",
            {
                "status": {
                    "phase": "Succeeded",
                    "containerStatuses": [
                        {
                            "name": "main",
                            "ready": False,
                            "restartCount": 0,
                            "image": "b",
                            "imageID": "",
                            "state": {"terminated": {"exitCode": 0}},
                        }
                    ],
                }
            },
        ),
        merge(
            "pods/p/status",
            {
                "status": {
                    "containerStatuses": [
                        {
                            "name": "main",
                            "ready": True,
                            "restartCount": 0,
                            "image": "b",
                            "imageID": "",
                            "state": {"running": {}},
                        }
                    ]
                }
            },
        ),
    ),
    case(
        "a pod's address",
        create("pods", pod("p", nodeName="n")),
        merge("pods/p/status", {"status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}}),
        merge("pods/p/status", {"status": {"podIPs": [{"ip": "nonsense"}]}}),
        merge("pods/p/status", {"status": {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}}),
    ),
]
