"""The ingress."""

from __future__ import annotations

from rayward.operator.cluster import children
from tests.kinds.shapes.sample import Object, cluster, template


def _backend(port: int) -> Object:
    return {"service": {"name": "demo-head-svc", "port": {"number": port}}}


def test_none_unless_asked_for() -> None:
    assert children.ingress(cluster()) is None
    assert children.ingress(cluster(head={"enableIngress": False})) is None


def test_annotations_of_the_cluster_are_its_settings() -> None:
    annotations = {"kubernetes.io/ingress.class": "nginx", "a": "b"}
    ports = [{"name": "dashboard", "containerPort": 9}]

    made = children.ingress(
        cluster(head={"enableIngress": True, "template": template({"ports": ports})}, annotations=annotations)
    )

    assert made is not None
    assert made["metadata"]["name"] == "demo-head-ingress"
    assert made["metadata"]["annotations"] == {"a": "b"}
    path = {"path": "/demo/(.*)", "pathType": "Exact", "backend": _backend(9)}
    assert made["spec"] == {"ingressClassName": "nginx", "rules": [{"http": {"paths": [path]}}]}


def test_options_say_where() -> None:
    tls = [{"hosts": ["ray.example"], "secretName": "tls"}]
    options = {"host": "ray.example", "tls": tls}

    made = children.ingress(cluster(head={"enableIngress": True, "ingressOptions": options}))

    assert made is not None
    path = {"path": "/", "pathType": "Prefix", "backend": _backend(8265)}
    assert made["spec"] == {"rules": [{"host": "ray.example", "http": {"paths": [path]}}], "tls": tls}
