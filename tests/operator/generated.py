"""Manifests drawn at random from what users write: every one passes KubeRay's validation."""

from __future__ import annotations

import random
from typing import Any

from rayward.kinds.shapes.metadata import fresh

Object = dict[str, Any]

_AMOUNTS = ("1", "500m", "2", "0.25", "1e3", "1500m", "0", "3.7")
_MEMORIES = ("1Gi", "512Mi", "1G", "1.5Gi", "1000000", "0", "100M")
_EXTENDED = ("nvidia.com/gpu", "amd.com/gpu", "google.com/tpu", "aws.amazon.com/neuroncore", "nvidia.com/mig-1g.5gb")
_VERSIONS = ("", "2.9.3", "2.52.0", "2.53.0", "v2.54", "2.100.0", "nightly", "3.0", "2.53rc1")
_FLAGS = {
    "num-cpus": ("0", "4"),
    "num-gpus": ("0", "2"),
    "memory": ("1000",),
    "port": ("6380", "1"),
    "dashboard-host": ("127.0.0.1",),
    "dashboard-port": ("9000", "x", "99999999999", "-1", "+5"),
    "dashboard-agent-listen-port": ("1234", "", "0x10"),
    "metrics-export-port": ("9999",),
    "plasma-directory": ("/tmp/plasma",),
    "block": ("false", "TRUE"),
    "log-color": ("false", "auto", "True"),
    "include-dashboard": ("false",),
    "verbose": ("true", "False"),
    "system-config": ("'{\"a\": 1}'",),
    "resources": ("'{\"A\": 1}'", '"{\\"A\\": 1}"', "{}", "nonsense", '\'{"TPU": 2, "b": 0.5}\'', '{"a": "text"}'),
    "address": ("elsewhere:1",),
}
_VARIABLES = (
    {"name": "RAY_PORT", "value": "7"},
    {"name": "RAY_ADDRESS", "value": "auto"},
    {"name": "RAY_IP", "value": "mine"},
    {"name": "RAY_CLUSTER_NAME", "value": "mine"},
    {"name": "KUBERAY_GEN_RAY_START_CMD", "value": "mine"},
    {"name": "RAY_USAGE_STATS_EXTRA_TAGS", "value": "mine=1"},
    {"name": "RAY_AUTH_MODE", "value": "disabled"},
    {"name": "EMPTY", "value": ""},
    {"name": "NOTHING"},
    {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
)
_COMMANDS = (["echo", "hi"], ["/bin/bash", "-c"], ["sh", "-c", "ray start --head"], [])
_ANNOTATIONS = ({}, {"a": "b"}, {"ray.io/overwrite-container-cmd": "true"}, {"ray.io/ft-enabled": "x"})
_LABELS = (
    "ray.io/serve",
    "ray.io/worker-group-replica-index",
    "ray.io/cluster",
    "ray.io/identifier",
    "ray.io/zone",
    "app",
    "app.kubernetes.io/name",
    "ray.io/node-type",
)
_HEAD_SERVICES: tuple[Object, ...] = (
    {},
    {"metadata": {"name": "own", "labels": {"ray.io/node-type": "x", "a": "b"}}},
    {"metadata": {"annotations": {"a": "own"}}, "spec": {"type": "NodePort", "externalTrafficPolicy": "Local"}},
    {
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "None",
            "ports": [{"name": "extra", "port": 1, "targetPort": "client"}],
        }
    },
)
_PORT_NAMES = ("gcs-server", "dashboard", "client", "serve", "metrics", "serve-grpc", "", "other")


def generated(seed: int) -> Object:
    """The manifest of one seed."""
    draw = random.Random(seed)
    autoscaling = draw.random() < 0.4
    spec: Object = {"headGroupSpec": _group(draw, head=True), "rayVersion": draw.choice(_VERSIONS)}
    if autoscaling:
        spec["enableInTreeAutoscaling"] = True
        spec["autoscalerOptions"] = draw.choice(
            ({}, {"version": "v2"}, {"image": "own"}, {"imagePullPolicy": "Never", "env": [{"name": "A", "value": ""}]})
        )
    if spec["autoscalerOptions"].get("version") == "v2" if autoscaling else False:
        spec["headGroupSpec"]["template"]["spec"].pop("restartPolicy", None)
    spec["workerGroupSpecs"] = []
    for index in range(draw.randint(0, 2)):
        group = _group(draw, head=False)
        if autoscaling:
            group["template"]["spec"].pop("restartPolicy", None)
        sizes = {"replicas": draw.randint(0, 2), "minReplicas": draw.randint(0, 1), "maxReplicas": draw.randint(1, 2)}
        if not autoscaling and draw.random() < 0.2:
            group["suspend"] = draw.choice((True, False))
        spec["workerGroupSpecs"].append(
            {"groupName": f"g{index}", "numOfHosts": draw.choice((1, 1, 2)), **sizes, **group}
        )
    annotations: dict[str, str] = {}
    if draw.random() < 0.3:
        annotations["ray.io/overwrite-container-cmd"] = draw.choice(("true", "True", "false", ""))
    if draw.random() < 0.3:
        annotations["ray.io/enable-serve-service"] = "true"
        spec["headGroupSpec"]["template"]["spec"]["containers"][0].pop("ports", None)
    if draw.random() < 0.3:
        spec["headServiceAnnotations"] = {"a": "b"}
    _fault_tolerance(draw, spec, annotations)
    if draw.random() < 0.4 and spec["rayVersion"] in ("2.52.0", "2.53.0", "v2.54", "3.0"):
        spec["authOptions"] = draw.choice(
            ({"mode": "token"}, {"mode": "token", "secretName": "x"}, {"mode": "disabled"})
        )
    labels = draw.choice(
        ({}, {}, {"ray.io/originated-from-crd": "RayService"}, {"ray.io/originated-from-crd": "RayJob"})
    )
    name = draw.choice(("short", "a" * 53, "with-0-digits", "a0123456789-0123456789-0123456789-0123456789-01234567"))
    metadata = {"name": name, "annotations": annotations, "labels": labels}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": spec}


def _fault_tolerance(draw: random.Random, spec: Object, annotations: dict[str, str]) -> None:
    chance = draw.random()
    if chance < 0.15:
        annotations["ray.io/ft-enabled"] = draw.choice(("true", "TRUE", "no"))
    elif chance < 0.4:
        options: Object = {"redisAddress": draw.choice(("redis:6379", "rediss://r:1,s:2"))}
        options |= draw.choice(({}, {"redisPassword": {"value": ""}}, {"redisUsername": {"value": "u"}}))
        spec["gcsFaultToleranceOptions"] = options


def _group(draw: random.Random, *, head: bool) -> Object:
    container: Object = {"name": "ray", "image": "ray:1"}
    if draw.random() < 0.5:
        container["resources"] = {
            kind: _amounts(draw) for kind in ("limits", "requests") if kind == "limits" or draw.random() < 0.3
        }
        requests, limits = (container["resources"].get(kind, {}) for kind in ("requests", "limits"))
        container["resources"]["requests"] = {name: limits.get(name, requests[name]) for name in requests}
        for name in _EXTENDED:
            if name in requests and name not in limits:
                del container["resources"]["requests"][name]
    if draw.random() < 0.5:
        container["env"] = draw.sample(_VARIABLES, draw.randint(0, 4))
    if draw.random() < 0.4:
        container["command"] = list(draw.choice(_COMMANDS))
        container["args"] = draw.choice(([], ["a b", "'c'"], ["ray  start"]))
    if draw.random() < 0.5:
        names = draw.sample(_PORT_NAMES, draw.randint(0, 4))
        container["ports"] = [
            {"containerPort": 7000 + index, **({"name": name} if name else {})} for index, name in enumerate(names)
        ]
    if draw.random() < 0.2:
        container["volumeMounts"] = [{"name": "v", "mountPath": draw.choice(("/dev/shm", "/tmp/ray", "/v"))}]
    if draw.random() < 0.2:
        container["readinessProbe"] = {"tcpSocket": {"port": 1}}
    if draw.random() < 0.2:
        container["securityContext"] = {"runAsUser": 0}
    if draw.random() < 0.2:
        container["lifecycle"] = {"postStart": {"exec": {"command": ["true"]}}}
    if draw.random() < 0.2:
        container["envFrom"] = [{"configMapRef": {"name": "c", "optional": True}}]
    spec: Object = {"containers": [container], "volumes": [{"name": "v", "emptyDir": {}}]}
    if draw.random() < 0.3:
        spec["containers"].append({"name": "beside", "image": "b", "resources": {"limits": {"cpu": "1"}}})
    if draw.random() < 0.3:
        spec["initContainers"] = [
            {"name": "before", "image": "b", **draw.choice(({}, {"env": [{"name": "X", "value": "1"}]}))}
        ]
    if draw.random() < 0.3 and not head:
        spec["restartPolicy"] = draw.choice(("Always", "Never"))
    template: Object = {"spec": spec}
    if draw.random() < 0.4:
        # A head whose own labels its service looks for is found by ours and lost by KubeRay's.
        kept = [name for name in draw.sample(_LABELS, 2) if not (head and name == "ray.io/identifier")]
        template["metadata"] = {"labels": dict.fromkeys(kept, "t"), "annotations": draw.choice(_ANNOTATIONS)}
    flags = draw.sample(sorted(_FLAGS), draw.randint(0, 4))
    params = {name: draw.choice(_FLAGS[name]) for name in flags}
    group: Object = {"template": template, "rayStartParams": params} if params else {"template": template}
    if draw.random() < 0.3:
        for name in ("num-cpus", "num-gpus", "memory", "resources"):
            params.pop(name, None)
        group["resources"] = {
            name: draw.choice(_AMOUNTS) for name in draw.sample(("CPU", "memory", "GPU", "a", "b"), 2)
        }
    if draw.random() < 0.3:
        group["labels"] = {"zone": "z", "a.b/c": ""}
    if head and draw.random() < 0.3:
        group["serviceType"] = draw.choice(("ClusterIP", "NodePort", "LoadBalancer"))
    if head and draw.random() < 0.3:
        group["enableIngress"] = draw.choice((True, False))
    if head and draw.random() < 0.3:
        group["headService"] = fresh(draw.choice(_HEAD_SERVICES))
    return group


def _amounts(draw: random.Random) -> Object:
    made: Object = {}
    if draw.random() < 0.6:
        made["cpu"] = draw.choice(_AMOUNTS)
    if draw.random() < 0.6:
        made["memory"] = draw.choice(_MEMORIES)
    for name in draw.sample(_EXTENDED, draw.randint(0, 2)):
        made[name] = draw.choice(("0", "1", "4"))
    return made
