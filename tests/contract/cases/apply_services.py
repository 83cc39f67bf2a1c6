"""Server-side apply to Services and other built-in kinds."""

from __future__ import annotations

from tests.contract.case import NEVER_A_SERVER_ERROR, apply, bad_request_in, case, create, get, merge, update
from tests.contract.objects import configmap, deployment, job, lease, secret, service

_START = apply("services/s", service("s", {"name": "http", "port": 80}))

_LAST_APPLIED = (
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","annotations":{}},"data":{"a":"1","b":"1"}}'
)

CASES = [
    case("a Service is created", _START, get("services/s")),
    case(
        "a port of another number is another item",
        _START,
        apply("services/s", service("s", {"name": "http", "port": 81})),
    ),
    case(
        "a second manager adds a port",
        _START,
        apply(
            "services/s",
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "s"},
                "spec": {"ports": [{"name": "more", "port": 81}]},
            },
            "bob",
        ),
        apply("services/s", service("s", {"name": "http", "port": 80}, {"name": "third", "port": 82})),
    ),
    case(
        "ports of one number and two protocols",
        apply(
            "services/s",
            service(
                "s", {"name": "tcp", "port": 53, "protocol": "TCP"}, {"name": "udp", "port": 53, "protocol": "UDP"}
            ),
        ),
        apply("services/s", service("s", {"name": "udp", "port": 53, "protocol": "UDP"})),
    ),
    case(
        "two ports of one key are refused",
        apply("services/s", service("s", {"name": "a", "port": 80}, {"name": "b", "port": 80})),
        differs=NEVER_A_SERVER_ERROR,
        ours=bad_request_in(0),
    ),
    case(
        "a selector is atomic",
        _START,
        apply(
            "services/s",
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"tier": "x"}}},
            "bob",
        ),
        apply(
            "services/s",
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"tier": "x"}}},
            "bob",
            force=True,
        ),
    ),
    case(
        "a target port by name or number",
        _START,
        apply("services/s", service("s", {"name": "http", "port": 80, "targetPort": "web"})),
        apply("services/s", service("s", {"name": "http", "port": 80, "targetPort": 8080})),
    ),
    case("a headless Service", apply("services/s", service("s", clusterIP="None"))),
    case(
        "a Service becomes a node port and back",
        _START,
        apply("services/s", service("s", {"name": "http", "port": 80}, type="NodePort")),
        _START,
    ),
    case(
        "its status is applied apart",
        _START,
        apply(
            "services/s/status",
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "s"},
                "status": {"loadBalancer": {"ingress": [{"hostname": "h.example.com"}]}},
            },
            "balancer",
        ),
        apply("services/s", service("s", type="LoadBalancer")),
        apply(
            "services/s/status",
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "s"},
                "status": {"loadBalancer": {"ingress": [{"hostname": "h.example.com"}]}},
            },
            "balancer",
        ),
    ),
    case(
        "an immutable change is refused",
        apply("services/s", service("s", clusterIP="None")),
        apply(
            "services/s",
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"clusterIP": "10.96.77.77"}},
            "bob",
            force=True,
        ),
    ),
    case(
        "data of a ConfigMap is granular",
        apply("configmaps/c", configmap("c", {"a": "1"})),
        apply("configmaps/c", configmap("c", {"b": "1"}), "bob"),
        apply("configmaps/c", configmap("c", {"z": "1"})),
    ),
    case(
        "the last field of a ConfigMap is given up",
        apply("configmaps/c", configmap("c", {"a": "1"})),
        apply("configmaps/c", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}),
    ),
    case(
        "plain strings of a Secret",
        apply("secrets/s", secret("s", {"a": "1"})),
        apply("secrets/s", secret("s", {"b": "1"})),
        apply(
            "secrets/s", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "Mg=="}}, "bob"
        ),
    ),
    case(
        "a Deployment's replicas change hands",
        apply("deployments/d", deployment("d", replicas=1)),
        merge("deployments/d/scale", {"spec": {"replicas": 3}}).as_("scaler"),
        apply("deployments/d", deployment("d", replicas=1)),
        apply("deployments/d", deployment("d")),
    ),
    case(
        "a Deployment's replicas given up fall back to the default",
        apply("deployments/d", deployment("d", replicas=3)),
        apply("deployments/d", deployment("d")),
    ),
    case(
        "a Job",
        apply("jobs/j", job("j")),
        apply("jobs/j", job("j", suspend=True)),
        apply("jobs/j", job("j", parallelism=2)),
    ),
    case(
        "a Lease",
        apply("leases/l", lease("l", holderIdentity="a", renewTime="2020-01-01T00:00:00.000000Z")),
        apply("leases/l", lease("l", holderIdentity="b", renewTime="2020-01-01T00:00:01.000000Z"), "bob"),
        apply("leases/l", lease("l", renewTime="2020-01-01T00:00:00.000000Z"), "carol"),
    ),
    case(
        "a Namespace",
        apply(
            "namespaces/{ns}",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{ns}", "labels": {"team": "a"}}},
        ),
        get("namespaces/{ns}"),
    ),
    case(
        "rules of a Role are atomic",
        apply(
            "roles/r",
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "metadata": {"name": "r"},
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
            },
        ),
        apply(
            "roles/r",
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "metadata": {"name": "r"},
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}],
            },
            "bob",
        ),
    ),
    case(
        "an apply after an update by the same program",
        create("configmaps", configmap("c", {"a": "1", "b": "1"}), fieldManager="tool"),
        apply("configmaps/c", configmap("c", {"a": "1"}), "tool"),
        apply("configmaps/c", configmap("c", {"a": "2"}), "tool"),
    ),
    case(
        "kubectl's old annotation hands over its fields",
        create(
            "configmaps",
            configmap(
                "c",
                {"a": "1", "b": "1"},
                annotations={"kubectl.kubernetes.io/last-applied-configuration": _LAST_APPLIED},
            ),
            fieldManager="kubectl-client-side-apply",
        ),
        apply("configmaps/c", configmap("c", {"a": "2"}), "kubectl"),
    ),
    case(
        "the update of an applied object keeps both owners",
        apply("configmaps/c", configmap("c", {"a": "1", "b": "1"})),
        update("configmaps/c", configmap("c", {"a": "1", "b": "2", "c": "3"})).as_("editor"),
        get("configmaps/c"),
    ),
    case(
        "an object of many managers",
        apply("configmaps/c", configmap("c", {"k0": "x"}), "m0"),
        *[merge("configmaps/c", {"data": {f"k{n}": "x"}}, fieldManager=f"m{n:02}") for n in range(1, 13)],
        get("configmaps/c"),
    ),
]
