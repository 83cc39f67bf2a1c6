"""Pods that are refused, and why."""

from __future__ import annotations

from typing import Any

from tests.contract.case import Case, case, create
from tests.contract.objects import container, pod


def _refused(name: str, /, **spec: Any) -> Case:
    return case(f"refused: {name}", create("pods", pod("p", **spec)))


def _container_refused(name: str, /, **fields: Any) -> Case:
    return case(f"refused: {name}", create("pods", pod("p", container(**fields))).in_any_order())


def _volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", **source}]}


CASES = [
    _refused("no containers", containers=[]),
    case("refused: no spec", create("pods", {"metadata": {"name": "p"}})),
    _refused("an unknown restart policy", restartPolicy="Sometimes"),
    _refused("an unknown DNS policy", dnsPolicy="None"),
    _refused("a deadline of zero", activeDeadlineSeconds=0),
    _refused("a bad node selector", nodeSelector={"a b": "c"}),
    _refused("a bad host name", hostname="UP"),
    _refused(
        "a bad toleration",
        tolerations=[{"key": "a", "operator": "Sort"}, {"operator": "Exists", "value": "x"}, {"effect": "No"}],
    ),
    _refused(
        "a bad affinity",
        affinity={
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}},
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ""}]},
        },
    ),
    _refused(
        "a bad spread", topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Maybe"}]
    ),
    _refused("host aliases", hostAliases=[{"ip": "x", "hostnames": ["UP"]}]),
    _refused("a volume without a name", volumes=[{"emptyDir": {}}]),
    _refused("two volumes of one name", volumes=[{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]),
    _refused("two sources of a volume", **_volume(emptyDir={}, hostPath={"path": "/"})),
    _refused("a claim without a name", **_volume(persistentVolumeClaim={})),
    _refused("a host path that climbs", **_volume(hostPath={"path": "/a/../b"})),
    _refused("a secret without a name", **_volume(secret={})),
    _refused(
        "an init container that is no sidecar with a probe",
        initContainers=[{"name": "i", "image": "x", "livenessProbe": {"exec": {"command": ["a"]}}}],
    ),
    _refused("a scheduling gate without a domain", schedulingGates=[{"name": "a b"}, {"name": ""}]),
    _refused("a node name and gates", nodeName="n", schedulingGates=[{"name": "example.com/g"}]),
    _refused(
        "bad security",
        securityContext={"runAsUser": -1, "sysctls": [{"name": "a b", "value": "1"}], "supplementalGroups": [-1]},
    ),
    _container_refused("a container name", name="A_b"),
    _container_refused("no image", image=""),
    _container_refused("an image with spaces", image=" x"),
    _container_refused("a pull policy", imagePullPolicy="Rarely"),
    _container_refused(
        "ports",
        ports=[
            {"containerPort": 0},
            {"containerPort": 70000},
            {"containerPort": 1, "protocol": "ICMP"},
            {"containerPort": 2, "name": "Name"},
            {"containerPort": 3, "hostPort": -1},
        ],
    ),
    _container_refused(
        "two ports of one name", ports=[{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]
    ),
    _container_refused(
        "environment names",
        env=[
            {"name": ""},
            {"name": "a=b"},
            {"name": "x", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "y", "valueFrom": {"fieldRef": {"fieldPath": "spec.nothing"}}},
            {"name": "z", "valueFrom": {}},
        ],
    ),
    _container_refused(
        "mounts",
        volumeMounts=[
            {"name": "nothing", "mountPath": "/x"},
            {"name": "nothing", "mountPath": ""},
            {"name": "nothing", "mountPath": "/x"},
        ],
    ),
    _container_refused(
        "resources", resources={"requests": {"cpu": "2", "memory": "-1"}, "limits": {"cpu": "1", "rockets": "5"}}
    ),
    _container_refused("GPUs without a limit", resources={"requests": {"nvidia.com/gpu": "1"}}),
    _container_refused("GPUs in halves", resources={"limits": {"nvidia.com/gpu": "500m"}}),
    case(
        "refused: a quantity that is none",
        create("pods", pod("p", container(resources={"requests": {"cpu": "much"}}))),
        create("pods", pod("p", container(resources={"requests": {"cpu": ""}}))),
        create("pods", pod("p", container(resources={"requests": {"cpu": True}}))),
    ),
    _container_refused(
        "probes",
        livenessProbe={},
        readinessProbe={"exec": {"command": []}, "successThreshold": 2, "periodSeconds": -1},
        startupProbe={"httpGet": {"port": 0}, "tcpSocket": {"port": 1}},
    ),
    _container_refused(
        "a liveness probe's success threshold", livenessProbe={"tcpSocket": {"port": 1}, "successThreshold": 2}
    ),
    _container_refused("a termination message policy", terminationMessagePolicy="Never"),
    _container_refused("a security context", securityContext={"runAsUser": -1, "runAsGroup": -1, "procMount": "Odd"}),
    case("refused: two containers of one name", create("pods", pod("p", container(), container()))),
]
