"""Pods: what is filled in, what is refused, what may change."""

from __future__ import annotations

from typing import Any

from tests.contract.case import Case, case, create, get, json_patch, merge, strategic
from tests.contract.objects import container, pod


def _refused(name: str, /, **spec: Any) -> Case:
    return case(f"refused: {name}", create("pods", pod("p", **spec)))


def _container_refused(name: str, /, **fields: Any) -> Case:
    return case(f"refused: {name}", create("pods", pod("p", container(**fields))).in_any_order())


def _volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", **source}]}


CASES = [
    case("the smallest Pod", create("pods", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "b"}]}}), get("pods/p")),
    case("defaults: probes", create("pods", pod("p", container(livenessProbe={"httpGet": {"port": 80}}, readinessProbe={"tcpSocket": {"port": "web"}}, startupProbe={"exec": {"command": ["true"]}, "periodSeconds": 3}, lifecycle={"preStop": {"httpGet": {"port": 80}}}, ports=[{"containerPort": 80, "name": "web"}]), container("g", livenessProbe={"grpc": {"port": 1}})))),
    case("defaults: image pull policy", create("pods", pod("p", container("a", image="x"), container("b", image="x:latest"), container("c", image="x:1"), container("d", image="x@sha256:" + "a" * 64)))),
    case("defaults: resources", create("pods", pod("p", container(resources={"limits": {"cpu": "1", "memory": "1Gi"}}), container("b", resources={"requests": {"cpu": "100m"}, "limits": {"cpu": 1, "nvidia.com/gpu": 1}})))),
    case("defaults: quality of service", create("pods", pod("guaranteed", container(resources={"limits": {"cpu": "1", "memory": "1Gi"}}))), create("pods", pod("burstable", container(resources={"requests": {"cpu": "1"}}))), create("pods", pod("effort"))),
    case("defaults: volumes", create("pods", pod("p", volumes=[{"name": "a", "configMap": {"name": "c"}}, {"name": "b", "secret": {"secretName": "s"}}, {"name": "c", "hostPath": {"path": "/x"}}, {"name": "d", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}, {"name": "e", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}}]}}, {"name": "f", "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.labels"}}]}}, {"name": "g"}, {"name": "h", "persistentVolumeClaim": {"claimName": "x"}}]))),
    case("defaults: environment", create("pods", pod("p", container(env=[{"name": "A"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}, {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}, {"name": "D", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}], envFrom=[{"configMapRef": {"name": "c"}}])))),
    case("defaults: init containers", create("pods", pod("p", initContainers=[{"name": "i", "image": "x"}, {"name": "side", "image": "x", "restartPolicy": "Always"}]))),
    case("defaults: host network ports", create("pods", pod("p", container(ports=[{"containerPort": 80}]), hostNetwork=True))),
    case("defaults: security context and the rest", create("pods", pod("p", securityContext={"runAsUser": 1000, "fsGroup": 1}, enableServiceLinks=False, shareProcessNamespace=True, hostname="h", subdomain="s", dnsConfig={"nameservers": ["192.0.2.1"]}, affinity={"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}}]}}, topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]))),
    case("tolerations of the cluster are added unless given", create("pods", pod("p", tolerations=[{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}]))),
    case("the service account's token is mounted", create("pods", {"metadata": {"name": "p"}, "spec": {"containers": [container(), container("b", volumeMounts=[{"name": "v", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}])], "initContainers": [container("i")], "volumes": [{"name": "v", "emptyDir": {}}]}})),
    case("a service account that does not exist", create("pods", pod("p", serviceAccountName="nobody"))),
    case("an own service account", create("serviceaccounts", {"metadata": {"name": "sa"}, "imagePullSecrets": [{"name": "pull"}], "automountServiceAccountToken": False}), create("pods", {"metadata": {"name": "p"}, "spec": {"serviceAccountName": "sa", "containers": [container()]}})),
    case("the old name of the service account field", create("serviceaccounts", {"metadata": {"name": "sa"}}), create("pods", pod("p", serviceAccount="sa"))),
    case("priority classes", create("priorityclasses", {"metadata": {"name": "pc-{ns}"}, "value": 7}), create("pods", pod("p", priorityClassName="pc-{ns}")), create("pods", pod("q", priorityClassName="none-{ns}")), create("pods", pod("r", priority=5)), create("pods", pod("s", priorityClassName="system-node-critical"))),
    _refused("no containers", containers=[]),
    case("refused: no spec", create("pods", {"metadata": {"name": "p"}})),
    _refused("an unknown restart policy", restartPolicy="Sometimes"),
    _refused("an unknown DNS policy", dnsPolicy="None"),
    case("a negative grace period is one second", create("pods", pod("p", terminationGracePeriodSeconds=-1))),
    _refused("a deadline of zero", activeDeadlineSeconds=0),
    _refused("a bad node selector", nodeSelector={"a b": "c"}),
    _refused("a bad host name", hostname="UP"),
    _refused("a bad toleration", tolerations=[{"key": "a", "operator": "Sort"}, {"operator": "Exists", "value": "x"}, {"effect": "No"}]),
    _refused("a bad affinity", affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}, "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ""}]}}),
    _refused("a bad spread", topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Maybe"}]),
    _refused("host aliases", hostAliases=[{"ip": "x", "hostnames": ["UP"]}]),
    _refused("a volume without a name", volumes=[{"emptyDir": {}}]),
    _refused("two volumes of one name", volumes=[{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]),
    _refused("two sources of a volume", **_volume(emptyDir={}, hostPath={"path": "/"})),
    _refused("a claim without a name", **_volume(persistentVolumeClaim={})),
    _refused("a host path that climbs", **_volume(hostPath={"path": "/a/../b"})),
    _refused("a secret without a name", **_volume(secret={})),
    _refused("an init container that is no sidecar with a probe", initContainers=[{"name": "i", "image": "x", "livenessProbe": {"exec": {"command": ["a"]}}}]),
    _refused("a scheduling gate without a domain", schedulingGates=[{"name": "a b"}, {"name": ""}]),
    _refused("a node name and gates", nodeName="n", schedulingGates=[{"name": "example.com/g"}]),
    _refused("bad security", securityContext={"runAsUser": -1, "sysctls": [{"name": "a b", "value": "1"}], "supplementalGroups": [-1]}),
    case("an image pull secret without a name warns", create("pods", pod("p", imagePullSecrets=[{}]))),
    _container_refused("a container name", name="A_b"),
    _container_refused("no image", image=""),
    _container_refused("an image with spaces", image=" x"),
    _container_refused("a pull policy", imagePullPolicy="Rarely"),
    _container_refused("ports", ports=[{"containerPort": 0}, {"containerPort": 70000}, {"containerPort": 1, "protocol": "ICMP"}, {"containerPort": 2, "name": "Name"}, {"containerPort": 3, "hostPort": -1}]),
    _container_refused("two ports of one name", ports=[{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]),
    _container_refused("environment names", env=[{"name": ""}, {"name": "a=b"}, {"name": "x", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, {"name": "y", "valueFrom": {"fieldRef": {"fieldPath": "spec.nothing"}}}, {"name": "z", "valueFrom": {}}]),
    _container_refused("mounts", volumeMounts=[{"name": "nothing", "mountPath": "/x"}, {"name": "nothing", "mountPath": ""}, {"name": "nothing", "mountPath": "/x"}]),
    _container_refused("resources", resources={"requests": {"cpu": "2", "memory": "-1"}, "limits": {"cpu": "1", "rockets": "5"}}),
    _container_refused("GPUs without a limit", resources={"requests": {"nvidia.com/gpu": "1"}}),
    _container_refused("GPUs in halves", resources={"limits": {"nvidia.com/gpu": "500m"}}),
    case("refused: a quantity that is none", create("pods", pod("p", container(resources={"requests": {"cpu": "much"}}))), create("pods", pod("p", container(resources={"requests": {"cpu": ""}}))), create("pods", pod("p", container(resources={"requests": {"cpu": True}})))),
    _container_refused("probes", livenessProbe={}, readinessProbe={"exec": {"command": []}, "successThreshold": 2, "periodSeconds": -1}, startupProbe={"httpGet": {"port": 0}, "tcpSocket": {"port": 1}}),
    _container_refused("a liveness probe's success threshold", livenessProbe={"tcpSocket": {"port": 1}, "successThreshold": 2}),
    _container_refused("a termination message policy", terminationMessagePolicy="Never"),
    _container_refused("a security context", securityContext={"runAsUser": -1, "runAsGroup": -1, "procMount": "Odd"}),
    case("refused: two containers of one name", create("pods", pod("p", container(), container()))),
    case("a second init container of the name of a container", create("pods", pod("p", container("a"), initContainers=[container("a")]))),
    case("quantities keep the form they were given", create("pods", pod("p", container(resources={"requests": {"cpu": "0.5", "memory": "1000Mi", "ephemeral-storage": "1e3"}, "limits": {"cpu": 2, "memory": "1.5Gi", "ephemeral-storage": "2000000000m"}})))),
    case("may change: the image", create("pods", pod("p")), strategic("pods/p", {"spec": {"containers": [{"name": "main", "image": "new"}]}})),
    case("may change: the deadline, downwards", create("pods", pod("p", activeDeadlineSeconds=100)), merge("pods/p", {"spec": {"activeDeadlineSeconds": 50}}), merge("pods/p", {"spec": {"activeDeadlineSeconds": 60}}), merge("pods/p", {"spec": {"activeDeadlineSeconds": None}})),
    case("may change: more tolerations", create("pods", pod("p")), json_patch("pods/p", {"op": "add", "path": "/spec/tolerations/-", "value": {"key": "x", "operator": "Exists"}}), merge("pods/p", {"spec": {"tolerations": []}})),
    case("may change: gates away, never more", create("pods", pod("p", schedulingGates=[{"name": "example.com/a"}, {"name": "example.com/b"}])), merge("pods/p", {"spec": {"schedulingGates": [{"name": "example.com/a"}, {"name": "example.com/c"}]}}), merge("pods/p", {"spec": {"schedulingGates": [{"name": "example.com/b"}]}}), merge("pods/p", {"spec": {"nodeSelector": {"a": "b"}}}), merge("pods/p", {"spec": {"schedulingGates": None}}), merge("pods/p", {"spec": {"nodeSelector": {"a": "c"}}})),
    case("may not change: the rest", create("pods", pod("p")), merge("pods/p", {"spec": {"restartPolicy": "Never"}}), merge("pods/p", {"spec": {"nodeName": "n"}}), merge("pods/p", {"spec": {"hostNetwork": True}}), merge("pods/p", {"spec": {"terminationGracePeriodSeconds": 1}}), strategic("pods/p", {"spec": {"containers": [{"name": "main", "command": ["x"]}]}})),
    case("a status with container states", create("pods", pod("p", nodeName="n")), merge("pods/p/status", {"status": {"phase": "Running", "startTime": "2020-01-01T00:00:00Z", "containerStatuses": [{"name": "main", "ready": True, "restartCount": 2, "image": "b", "imageID": "", "state": {"running": {"startedAt": "2020-01-01T00:00:00Z"}}}]}}), merge("pods/p/status", {"status": {"containerStatuses": [{"name": "main", "ready": True, "restartCount": -1, "image": "b", "imageID": ""}]}}), merge("pods/p/status", {"status": {"phase": "Bored"}})),
    case("a status that goes back", create("pods", pod("p", nodeName="n", restartPolicy="Never")), merge("pods/p/status", {"status": {"phase": "Succeeded", "containerStatuses": [{"name": "main", "ready": False, "restartCount": 0, "image": "b", "imageID": "", "state": {"terminated": {"exitCode": 0}}}]}}), merge("pods/p/status", {"status": {"containerStatuses": [{"name": "main", "ready": True, "restartCount": 0, "image": "b", "imageID": "", "state": {"running": {}}}]}})),
    case("a pod's address", create("pods", pod("p", nodeName="n")), merge("pods/p/status", {"status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}}), merge("pods/p/status", {"status": {"podIPs": [{"ip": "nonsense"}]}}), merge("pods/p/status", {"status": {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}})),
]
