"""Tables and partial metadata: what `kubectl get` asks for."""

from __future__ import annotations

from typing import Any

from tests.contract.case import Case, Step, case, create, delete, get, merge
from tests.contract.objects import claim, configmap, container, deployment, job, lease, node, pod, raycluster, secret, service, worker_group

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
KUBECTL = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

_EVENT = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "namespace": "{ns}", "name": "p", "fieldPath": "spec.containers{main}"}, "reason": "R", "message": "m\n", "type": "Normal", "firstTimestamp": "2020-01-01T00:00:00Z", "lastTimestamp": "2020-01-01T00:00:00Z", "count": 3, "source": {"component": "c", "host": "h"}}
_RULES = {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
_ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
_HOOK = {"name": "a.example.com", "clientConfig": {"url": "https://127.0.0.1:1/x"}, "sideEffects": "None", "admissionReviewVersions": ["v1"]}
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
    "controllerrevisions": {"metadata": {"name": "x-{ns}", "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "u", "controller": True}]}, "revision": 4, "data": {"a": 1}},
    "endpoints": {"metadata": {"name": "x-{ns}"}, "subsets": [{"addresses": [{"ip": f"10.1.2.{n}"} for n in range(1, 6)], "ports": [{"port": 80}]}]},
    "endpointslices": {"metadata": {"name": "x-{ns}"}, "addressType": "IPv4", "endpoints": [{"addresses": ["10.1.2.3"]}, {"addresses": ["10.1.2.4"]}], "ports": [{"port": 80}, {"name": "b", "port": 81}]},
    "resourcequotas": {"metadata": {"name": "x-{ns}"}, "spec": {"hard": {"pods": "5", "limits.cpu": "2"}}},
    "roles": {"metadata": {"name": "x-{ns}"}, **_RULES},
    "rolebindings": {"metadata": {"name": "x-{ns}"}, "roleRef": _ROLE, "subjects": [{"kind": "ServiceAccount", "name": "default"}, {"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"}]},
    "clusterroles": {"metadata": {"name": "x-{ns}"}, **_RULES},
    "clusterrolebindings": {"metadata": {"name": "x-{ns}"}, "roleRef": {**_ROLE, "kind": "ClusterRole"}, "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "b"}]},
    "ingresses": {"metadata": {"name": "x-{ns}"}, "spec": {"ingressClassName": "c", "tls": [{"hosts": ["a.example.com"]}], "rules": [{"host": "a.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": _BACKEND}]}}]}},
    "networkpolicies": {"metadata": {"name": "x-{ns}"}, "spec": {"podSelector": {"matchLabels": {"a": "b"}}}},
    "poddisruptionbudgets": {"metadata": {"name": "x-{ns}"}, "spec": {"minAvailable": 1}},
    "priorityclasses": {"metadata": {"name": "x-{ns}"}, "value": 5, "globalDefault": False},
    "validatingwebhookconfigurations": {"metadata": {"name": "x-{ns}"}, "webhooks": [_HOOK]},
    "mutatingwebhookconfigurations": {"metadata": {"name": "x-{ns}"}, "webhooks": [_HOOK]},
    "namespaces": {"metadata": {"name": "x-{ns}"}},
    "nodes": node("x-{ns}"),
    "rayclusters": raycluster("x-{ns}", workerGroupSpecs=[worker_group("a", 2)]),
}


def _status(*containers: dict[str, Any], phase: str = "Running", **more: Any) -> Step:
    statuses = [{"image": "i", "imageID": "", "ready": False, "restartCount": 0, **state} for state in containers]
    return merge("pods/p/status", {"status": {"phase": phase, "podIP": "10.0.0.9", "podIPs": [{"ip": "10.0.0.9"}], "containerStatuses": statuses, **more}})


def _pod(name: str, *steps: Step, **spec: Any) -> Case:
    spec = {"nodeName": "node-1", **spec}
    return case(f"pods: {name}", create("pods", pod("p", *spec.pop("of", []), **spec)), *steps, get("pods/p", TABLE).only_of("rows[0].cells"))


_READY = {"type": "Ready", "status": "True"}
_RUNNING = {"name": "main", "state": {"running": {"startedAt": "2020-01-01T00:00:00Z"}}, "ready": True, "started": True}

CASES = [
    *[case(f"{kind}: one", create(kind, body), get(f"{kind}/x-{{ns}}", TABLE)) for kind, body in _OBJECTS.items()],
    *[case(f"{kind}: a list as kubectl asks for it", create(kind, body), get(kind, KUBECTL, fieldSelector="metadata.name=x-{ns}")) for kind, body in _OBJECTS.items()],
    case("pods: one", create("pods", pod("p")), get("pods/p", TABLE)),
    case("events: one", create("events", _EVENT), get("events/e", TABLE), get("/apis/events.k8s.io/v1/namespaces/{ns}/events/e", TABLE)),
    case("customresourcedefinitions: one", get("customresourcedefinitions/rayclusters.ray.io", TABLE).only_of("kind", "apiVersion", "columnDefinitions", "rows[0].cells")),
    _pod("pending"),
    _pod("not scheduled", nodeName=""),
    _pod("behind gates", nodeName="", schedulingGates=[{"name": "example.com/g"}]),
    _pod("running", _status(_RUNNING, conditions=[_READY])),
    _pod("running, not ready", _status({**_RUNNING, "ready": False})),
    _pod("restarted", _status({**_RUNNING, "restartCount": 3, "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2020-01-01T00:00:00Z"}}})),
    _pod("ContainerCreating", _status({"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}}, phase="Pending")),
    _pod("ImagePullBackOff", _status({"name": "main", "state": {"waiting": {"reason": "ImagePullBackOff"}}}, phase="Pending")),
    _pod("CrashLoopBackOff", _status({"name": "main", "restartCount": 5, "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "2020-01-01T00:00:00Z"}}})),
    _pod("OOMKilled", _status({"name": "main", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}, phase="Failed"), restartPolicy="Never"),
    _pod("ended by an exit code", _status({"name": "main", "state": {"terminated": {"exitCode": 3}}}, phase="Failed"), restartPolicy="Never"),
    _pod("ended by a signal", _status({"name": "main", "state": {"terminated": {"exitCode": 137, "signal": 9}}}, phase="Failed"), restartPolicy="Never"),
    _pod("completed", _status({"name": "main", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}, phase="Succeeded"), restartPolicy="Never"),
    _pod("completed but one still runs", _status({"name": "main", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}, {**_RUNNING, "name": "b"}, conditions=[_READY]), of=[container(), container("b")]),
    _pod("completed but one is not ready", _status({"name": "main", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}, {**_RUNNING, "name": "b"}), of=[container(), container("b")]),
    _pod("evicted", merge("pods/p/status", {"status": {"phase": "Failed", "reason": "Evicted", "message": "x"}})),
    _pod("lost with its node", merge("pods/p/status", {"status": {"reason": "NodeLost"}}), delete("pods/p")),
    _pod("terminating", _status(_RUNNING), delete("pods/p")),
    _pod("init waiting", merge("pods/p/status", {"status": {"phase": "Pending", "initContainerStatuses": [{"name": "i", "image": "x", "imageID": "", "ready": False, "restartCount": 0, "state": {"running": {}}}]}}), initContainers=[container("i"), container("j")]),
    _pod("init broken", merge("pods/p/status", {"status": {"phase": "Pending", "initContainerStatuses": [{"name": "i", "image": "x", "imageID": "", "ready": False, "restartCount": 2, "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}]}}), initContainers=[container("i")]),
    _pod("init crash loop", merge("pods/p/status", {"status": {"phase": "Pending", "initContainerStatuses": [{"name": "i", "image": "x", "imageID": "", "ready": False, "restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}}), initContainers=[container("i")]),
    _pod("init exit code", merge("pods/p/status", {"status": {"phase": "Pending", "initContainerStatuses": [{"name": "i", "image": "x", "imageID": "", "ready": False, "restartCount": 0, "state": {"terminated": {"exitCode": 5}}}]}}), initContainers=[container("i")]),
    _pod("a sidecar runs", merge("pods/p/status", {"status": {"phase": "Running", "conditions": [_READY, {"type": "Initialized", "status": "True"}], "initContainerStatuses": [{"name": "s", "image": "x", "imageID": "", "ready": True, "started": True, "restartCount": 1, "state": {"running": {}}}], "containerStatuses": [{**_RUNNING, "image": "i", "imageID": "", "restartCount": 0}]}}), initContainers=[container("s", restartPolicy="Always")]),
    _pod("nominated and gated for readiness", merge("pods/p/status", {"status": {"nominatedNodeName": "n2", "conditions": [{"type": "a.example.com/g", "status": "True"}]}}), nodeName="", readinessGates=[{"conditionType": "a.example.com/g"}, {"conditionType": "a.example.com/h"}]),
    case("services: of each type", create("services", service("a", type="NodePort")), create("services", service("b", type="LoadBalancer")), create("services", service("c", clusterIP="None")), create("services", {"metadata": {"name": "d"}, "spec": {"type": "ExternalName", "externalName": "example.com"}}), create("services", service("e", externalIPs=["192.0.2.5"])), merge("services/b/status", {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "h.example.com"}]}}}), get("services", TABLE).only_of("rows[0].cells", "rows[1].cells", "rows[2].cells", "rows[3].cells", "rows[4].cells")),
    case("jobs: in each state", create("jobs", job("a")), create("jobs", job("b", suspend=True)), merge("jobs/a/status", {"status": {"startTime": "2020-01-01T00:00:00Z", "completionTime": "2020-01-01T01:01:05Z", "succeeded": 1, "conditions": [{"type": "SuccessCriteriaMet", "status": "True", "lastTransitionTime": "2020-01-01T00:00:05Z"}, {"type": "Complete", "status": "True", "lastTransitionTime": "2020-01-01T00:00:05Z"}]}}), merge("jobs/b/status", {"status": {"conditions": [{"type": "Suspended", "status": "True", "lastTransitionTime": "2020-01-01T00:00:05Z"}]}}), get("jobs", TABLE).only_of("rows[0].cells", "rows[1].cells")),
    case("nodes: in each state", create("nodes", node("a-{ns}", metadata={"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "x"}}, unschedulable=True)), merge("nodes/a-{ns}/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}], "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "ExternalIP", "address": "192.0.2.1"}], "nodeInfo": {"kubeletVersion": "v1.36.3", "osImage": "Debian", "kernelVersion": "6.1", "containerRuntimeVersion": "containerd://2", "machineID": "", "systemUUID": "", "bootID": "", "kubeProxyVersion": "", "operatingSystem": "", "architecture": ""}}}), get("nodes/a-{ns}", TABLE).only_of("rows[0].cells")),
    case("rayclusters: with a status", create("rayclusters", raycluster("r")), merge("rayclusters/r/status", {"status": {"desiredWorkerReplicas": 2, "availableWorkerReplicas": 1, "desiredCPU": "4", "desiredMemory": "8Gi", "desiredGPU": "0", "desiredTPU": "0", "state": "ready", "head": {"podIP": "10.0.0.1", "serviceIP": "10.0.0.2"}}}), get("rayclusters/r", TABLE).only_of("rows[0].cells")),
    case("the object of a row: full, metadata or none", create("configmaps", configmap("c")), get("configmaps/c", TABLE, includeObject="Object").only_of("rows"), get("configmaps/c", TABLE, includeObject="None").only_of("rows"), get("configmaps/c", TABLE, includeObject="Metadata").only_of("rows"), get("configmaps/c", TABLE, includeObject="Odd")),
    case("an empty list", get("leases", TABLE), get("rayclusters", TABLE)),
    case("a page of a list", *[create("leases", lease(name)) for name in "abc"], get("leases", TABLE, limit=2).only_of("metadata", "rows[0].cells", "rows[2]")),
    case("the older version of tables", create("configmaps", configmap("c")), get("configmaps/c", "application/json;as=Table;g=meta.k8s.io;v=v1beta1").only_of("kind", "apiVersion", "columnDefinitions")),
    case("what does not exist is a Status", get("configmaps/nothing", TABLE)),
    case("a created object as a table", create("configmaps", configmap("c")).with_headers(Accept=TABLE)),
    case("a deletion asked for as a table", create("configmaps", configmap("c")), delete("configmaps/c").with_headers(Accept=TABLE)),
    case("the status subresource as a table", create("rayclusters", raycluster("r")), get("rayclusters/r/status", TABLE).only_of("kind", "rows[0].cells")),
    case("partial metadata: one", create("pods", pod("p", metadata={"labels": {"a": "b"}})), get("pods/p", PARTIAL)),
    case("partial metadata: a list", create("leases", lease("l")), get("leases", PARTIAL_LIST), get("leases", PARTIAL)),
    case("partial metadata: of a custom kind", create("rayclusters", raycluster("r")), get("rayclusters/r", PARTIAL), get("rayclusters", PARTIAL_LIST)),
    case("partial metadata: of a patch and a delete", create("configmaps", configmap("c", finalizers=["example.com/a"])), merge("configmaps/c", {"data": {"a": "2"}}).with_headers(Accept=PARTIAL), delete("configmaps/c").with_headers(Accept=PARTIAL), merge("configmaps/c", {"metadata": {"finalizers": None}}).with_headers(Accept=PARTIAL)),
    case("partial metadata: of what is no single object", get("leases/l", PARTIAL_LIST), create("leases", lease("l")), get("leases/l", PARTIAL_LIST)),
]
