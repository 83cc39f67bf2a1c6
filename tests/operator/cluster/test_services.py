"""Services."""

from __future__ import annotations

import pytest

from rayward.kinds import shapes
from rayward.operator.cluster import services
from tests.kinds.shapes.sample import Object, cluster, template

_SELECTOR = {
    "ray.io/cluster": "demo",
    "ray.io/node-type": "head",
    "ray.io/identifier": "demo-head",
    "app.kubernetes.io/name": "kuberay",
    "app.kubernetes.io/created-by": "kuberay-operator",
}


def _ports(service: Object | None) -> dict[str, int]:
    assert service is not None
    return {port["name"]: port["port"] for port in service["spec"]["ports"]}


def test_a_head_is_found_by_its_own_name() -> None:
    made = services.head_service(cluster({"headServiceAnnotations": {"a": "b"}}))

    assert made["metadata"]["name"] == "demo-head-svc"
    assert made["metadata"]["annotations"] == {"a": "b"}
    assert made["metadata"]["labels"] == made["spec"]["selector"] == _SELECTOR
    assert made["spec"]["clusterIP"] == "None"
    assert made["spec"]["publishNotReadyAddresses"] is True
    assert made["spec"]["ports"] == [
        {"name": "client", "port": 10001, "appProtocol": "tcp"},
        {"name": "dashboard", "port": 8265, "appProtocol": "tcp"},
        {"name": "gcs-server", "port": 6379, "appProtocol": "tcp"},
        {"name": "metrics", "port": 8080, "appProtocol": "tcp"},
        {"name": "serve", "port": 8000, "appProtocol": "tcp"},
    ]


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        ([{"containerPort": 5}], {"5-port": 5, "metrics": 8080}),
        ([{"containerPort": 5, "name": "metrics"}], {"metrics": 5}),
        ([{"containerPort": 8080, "name": "http"}], {"http": 8080}),
        ([{"containerPort": 5, "name": "b"}, {"containerPort": 5, "name": "a"}], {"a": 5, "metrics": 8080}),
    ],
    ids=["unnamed", "own metrics", "the number of metrics is taken", "one number twice"],
)
def test_ports_are_the_containers(ports: list[Object], expected: dict[str, int]) -> None:
    assert _ports(services.head_service(cluster(head={"template": template({"ports": ports})}))) == expected


@pytest.mark.parametrize("kind", ["NodePort", "LoadBalancer"])
def test_a_type_of_service_has_an_address(kind: str) -> None:
    spec = services.head_service(cluster(head={"serviceType": kind}))["spec"]

    assert spec["type"] == kind
    assert "clusterIP" not in spec


def test_labels_that_the_head_overrides_are_looked_for() -> None:
    overriding = {"ray.io/identifier": "own", "app.kubernetes.io/name": "app"}
    made = services.head_service(cluster(head={"template": {**template(), "metadata": {"labels": overriding}}}))

    assert made["spec"]["selector"] == {**_SELECTOR, **overriding}
    assert made["metadata"]["labels"] == {**_SELECTOR, "app.kubernetes.io/name": "app"}


def test_a_service_of_the_users_own() -> None:
    own = {
        "metadata": {"name": "mine", "namespace": "x", "labels": {"a": "b"}, "annotations": {"c": "own", "d": "own"}},
        "spec": {
            "selector": {"x": "y"},
            "ports": [{"name": "dashboard", "port": 80}, {"name": "more", "port": 6379}],
            "externalIPs": ["192.0.2.1"],
        },
    }
    made = cluster({"headServiceAnnotations": {"c": "cluster"}}, head={"headService": own, "serviceType": "NodePort"})

    service = services.head_service(made)

    assert (service["metadata"]["name"], service["metadata"]["namespace"]) == ("mine", "lab")
    assert service["metadata"]["labels"] == {"a": "b", **_SELECTOR}
    assert service["metadata"]["annotations"] == {"c": "cluster", "d": "own"}
    assert service["spec"]["selector"] == _SELECTOR
    assert service["spec"]["type"] == "NodePort"
    assert service["spec"]["externalIPs"] == ["192.0.2.1"]
    assert _ports(service) == {"dashboard": 80, "more": 6379, "client": 10001, "metrics": 8080, "serve": 8000}
    address = shapes.worker_pod(made, made.groups[0], "w")["spec"]["containers"][0]["env"][0]["value"]
    assert address == "mine.lab.svc.cluster.local"


def test_workers_of_many_hosts_have_names() -> None:
    assert services.headless_service(cluster()) is None
    made = services.headless_service(cluster(groups=[{}, {"numOfHosts": 2}]))

    assert made is not None
    assert made["metadata"]["name"] == "demo-headless"
    assert made["metadata"]["labels"] == {"ray.io/headless-worker-svc": "demo"}
    assert made["spec"] == {
        "type": "ClusterIP",
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {"ray.io/cluster": "demo", "ray.io/node-type": "worker"},
    }


def test_a_serve_service_is_made_where_it_is_asked_for() -> None:
    asked = {"ray.io/enable-serve-service": "true"}
    ports = [
        {"name": name, "containerPort": 9000 + index} for index, name in enumerate(("serve", "serve-grpc", "server"))
    ]

    made = services.serve_service(cluster(annotations=asked, head={"template": template({"ports": ports})}))

    assert _ports(made) == {"serve": 9000, "serve-grpc": 9001}
    assert made is not None
    assert made["metadata"]["name"] == "demo-serve-svc"
    assert made["spec"]["selector"] == {"ray.io/cluster": "demo"}
    assert _ports(services.serve_service(cluster(annotations=asked))) == {"serve": 8000}
    assert services.serve_service(cluster()) is None
    assert services.serve_service(cluster(annotations=asked, head={"template": template({"ports": ports[2:]})})) is None


_NAMED = [{"name": "dashboard", "containerPort": 9000}]


@pytest.mark.parametrize(
    ("told", "ports", "listens"),
    [
        pytest.param(None, None, 8265, id="nobody says"),
        pytest.param("8299", _NAMED, 8299, id="Ray is told"),
        pytest.param(None, _NAMED, 9000, id="the container says"),
        pytest.param(None, [{"name": "client", "containerPort": 10001}], 8265, id="the container says others"),
        pytest.param("65536", _NAMED, 9000, id="Ray is told none that there is"),
        pytest.param("1" * 4301, None, 8265, id="Ray is told more than can be read"),
        pytest.param("x", None, 8265, id="Ray is told no number"),
        pytest.param("0", None, 8265, id="Ray is told to take any"),
    ],
)
def test_the_dashboard_listens_where_ray_is_told(told: str | None, ports: list[Object] | None, listens: int) -> None:
    params = {} if told is None else {"dashboard-port": told}
    made = cluster(head={"rayStartParams": params, "template": template({"ports": ports})})
    assert services.listening_port(made) == listens
