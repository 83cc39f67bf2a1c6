"""The rows of Pods and Services in each of their states."""

from __future__ import annotations

from typing import Any

from tests.contract.case import Case, Step, case, create, delete, get, merge
from tests.contract.objects import (
    container,
    job,
    node,
    pod,
    raycluster,
    service,
)

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


def _status(*containers: dict[str, Any], phase: str = "Running", **more: Any) -> Step:
    statuses = [{"image": "i", "imageID": "", "ready": False, "restartCount": 0, **state} for state in containers]
    return merge(
        "pods/p/status",
        {
            "status": {
                "phase": phase,
                "podIP": "10.0.0.9",
                "podIPs": [{"ip": "10.0.0.9"}],
                "containerStatuses": statuses,
                **more,
            }
        },
    )


def _pod(name: str, *steps: Step, **spec: Any) -> Case:
    spec = {"nodeName": "node-1", **spec}
    return case(
        f"pods: {name}",
        create("pods", pod("p", *spec.pop("of", []), **spec)),
        *steps,
        get("pods/p", TABLE).only_of("rows[0].cells"),
    )


_READY = {"type": "Ready", "status": "True"}
_RUNNING = {"name": "main", "state": {"running": {"startedAt": "2020-01-01T00:00:00Z"}}, "ready": True, "started": True}

CASES = [
    _pod("pending"),
    _pod("not scheduled", nodeName=""),
    _pod("behind gates", nodeName="", schedulingGates=[{"name": "example.com/g"}]),
    _pod("running", _status(_RUNNING, conditions=[_READY])),
    _pod("running, not ready", _status({**_RUNNING, "ready": False})),
    _pod(
        "restarted",
        _status(
            {
                **_RUNNING,
                "restartCount": 3,
                "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2020-01-01T00:00:00Z"}},
            }
        ),
    ),
    _pod(
        "ContainerCreating",
        _status({"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}}, phase="Pending"),
    ),
    _pod(
        "ImagePullBackOff",
        _status({"name": "main", "state": {"waiting": {"reason": "ImagePullBackOff"}}}, phase="Pending"),
    ),
    _pod(
        "CrashLoopBackOff",
        _status(
            {
                "name": "main",
                "restartCount": 5,
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "2020-01-01T00:00:00Z"}},
            }
        ),
    ),
    _pod(
        "OOMKilled",
        _status({"name": "main", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}, phase="Failed"),
        restartPolicy="Never",
    ),
    _pod(
        "ended by an exit code",
        _status({"name": "main", "state": {"terminated": {"exitCode": 3}}}, phase="Failed"),
        restartPolicy="Never",
    ),
    _pod(
        "ended by a signal",
        _status({"name": "main", "state": {"terminated": {"exitCode": 137, "signal": 9}}}, phase="Failed"),
        restartPolicy="Never",
    ),
    _pod(
        "completed",
        _status({"name": "main", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}, phase="Succeeded"),
        restartPolicy="Never",
    ),
    _pod(
        "completed but one still runs",
        _status(
            {"name": "main", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}},
            {**_RUNNING, "name": "b"},
            conditions=[_READY],
        ),
        of=[container(), container("b")],
    ),
    _pod(
        "completed but one is not ready",
        _status(
            {"name": "main", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}, {**_RUNNING, "name": "b"}
        ),
        of=[container(), container("b")],
    ),
    _pod("evicted", merge("pods/p/status", {"status": {"phase": "Failed", "reason": "Evicted", "message": "x"}})),
    _pod("lost with its node", merge("pods/p/status", {"status": {"reason": "NodeLost"}}), delete("pods/p")),
    _pod("terminating", _status(_RUNNING), delete("pods/p")),
    _pod(
        "init waiting",
        merge(
            "pods/p/status",
            {
                "status": {
                    "phase": "Pending",
                    "initContainerStatuses": [
                        {
                            "name": "i",
                            "image": "x",
                            "imageID": "",
                            "ready": False,
                            "restartCount": 0,
                            "state": {"running": {}},
                        }
                    ],
                }
            },
        ),
        initContainers=[container("i"), container("j")],
    ),
    _pod(
        "init broken",
        merge(
            "pods/p/status",
            {
                "status": {
                    "phase": "Pending",
                    "initContainerStatuses": [
                        {
                            "name": "i",
                            "image": "x",
                            "imageID": "",
                            "ready": False,
                            "restartCount": 2,
                            "state": {"terminated": {"exitCode": 1, "reason": "Error"}},
                        }
                    ],
                }
            },
        ),
        initContainers=[container("i")],
    ),
    _pod(
        "init crash loop",
        merge(
            "pods/p/status",
            {
                "status": {
                    "phase": "Pending",
                    "initContainerStatuses": [
                        {
                            "name": "i",
                            "image": "x",
                            "imageID": "",
                            "ready": False,
                            "restartCount": 2,
                            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                        }
                    ],
                }
            },
        ),
        initContainers=[container("i")],
    ),
    _pod(
        "init exit code",
        merge(
            "pods/p/status",
            {
                "status": {
                    "phase": "Pending",
                    "initContainerStatuses": [
                        {
                            "name": "i",
                            "image": "x",
                            "imageID": "",
                            "ready": False,
                            "restartCount": 0,
                            "state": {"terminated": {"exitCode": 5}},
                        }
                    ],
                }
            },
        ),
        initContainers=[container("i")],
    ),
    _pod(
        "a sidecar runs",
        merge(
            "pods/p/status",
            {
                "status": {
                    "phase": "Running",
                    "conditions": [_READY, {"type": "Initialized", "status": "True"}],
                    "initContainerStatuses": [
                        {
                            "name": "s",
                            "image": "x",
                            "imageID": "",
                            "ready": True,
                            "started": True,
                            "restartCount": 1,
                            "state": {"running": {}},
                        }
                    ],
                    "containerStatuses": [{**_RUNNING, "image": "i", "imageID": "", "restartCount": 0}],
                }
            },
        ),
        initContainers=[container("s", restartPolicy="Always")],
    ),
    _pod(
        "nominated and gated for readiness",
        merge(
            "pods/p/status",
            {"status": {"nominatedNodeName": "n2", "conditions": [{"type": "a.example.com/g", "status": "True"}]}},
        ),
        nodeName="",
        readinessGates=[{"conditionType": "a.example.com/g"}, {"conditionType": "a.example.com/h"}],
    ),
    case(
        "services: of each type",
        create("services", service("a", type="NodePort")),
        create("services", service("b", type="LoadBalancer")),
        create("services", service("c", clusterIP="None")),
        create(
            "services", {"metadata": {"name": "d"}, "spec": {"type": "ExternalName", "externalName": "example.com"}}
        ),
        create("services", service("e", externalIPs=["192.0.2.5"])),
        merge(
            "services/b/status",
            {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "h.example.com"}]}}},
        ),
        get("services", TABLE).only_of(
            "rows[0].cells", "rows[1].cells", "rows[2].cells", "rows[3].cells", "rows[4].cells"
        ),
    ),
    case(
        "jobs: in each state",
        create("jobs", job("a")),
        create("jobs", job("b", suspend=True)),
        merge(
            "jobs/a/status",
            {
                "status": {
                    "startTime": "2020-01-01T00:00:00Z",
                    "completionTime": "2020-01-01T01:01:05Z",
                    "succeeded": 1,
                    "conditions": [
                        {"type": "SuccessCriteriaMet", "status": "True", "lastTransitionTime": "2020-01-01T00:00:05Z"},
                        {"type": "Complete", "status": "True", "lastTransitionTime": "2020-01-01T00:00:05Z"},
                    ],
                }
            },
        ),
        merge(
            "jobs/b/status",
            {
                "status": {
                    "conditions": [
                        {"type": "Suspended", "status": "True", "lastTransitionTime": "2020-01-01T00:00:05Z"}
                    ]
                }
            },
        ),
        get("jobs", TABLE).only_of("rows[0].cells", "rows[1].cells"),
    ),
    case(
        "nodes: in each state",
        create(
            "nodes",
            node(
                "a-{ns}",
                metadata={"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "x"}},
                unschedulable=True,
            ),
        ),
        merge(
            "nodes/a-{ns}/status",
            {
                "status": {
                    "conditions": [{"type": "Ready", "status": "True"}],
                    "addresses": [
                        {"type": "InternalIP", "address": "10.0.0.1"},
                        {"type": "ExternalIP", "address": "192.0.2.1"},
                    ],
                    "nodeInfo": {
                        "kubeletVersion": "v1.36.3",
                        "osImage": "Debian",
                        "kernelVersion": "6.1",
                        "containerRuntimeVersion": "containerd://2",
                        "machineID": "",
                        "systemUUID": "",
                        "bootID": "",
                        "kubeProxyVersion": "",
                        "operatingSystem": "",
                        "architecture": "",
                    },
                }
            },
        ),
        get("nodes/a-{ns}", TABLE).only_of("rows[0].cells"),
    ),
    case(
        "rayclusters: with a status",
        create("rayclusters", raycluster("r")),
        merge(
            "rayclusters/r/status",
            {
                "status": {
                    "desiredWorkerReplicas": 2,
                    "availableWorkerReplicas": 1,
                    "desiredCPU": "4",
                    "desiredMemory": "8Gi",
                    "desiredGPU": "0",
                    "desiredTPU": "0",
                    "state": "ready",
                    "head": {"podIP": "10.0.0.1", "serviceIP": "10.0.0.2"},
                }
            },
        ),
        get("rayclusters/r", TABLE).only_of("rows[0].cells"),
    ),
]
