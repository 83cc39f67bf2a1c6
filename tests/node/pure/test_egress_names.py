"""What pods call services when they leave the name to their proxy."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayward.kube.core.objects import Key
from rayward.kube.core.pod import Pod
from rayward.kube.core.service import Service
from rayward.local.node.egress.names import address_of, namespace_of, service_key


@pytest.mark.parametrize(
    ("host", "key"),
    [
        ("web", Key("mine", "web")),
        ("Web.", Key("mine", "web")),
        ("web.other", Key("other", "web")),
        ("web.other.svc", Key("other", "web")),
        ("web.other.svc.cluster.local", Key("other", "web")),
        ("www.example.com", None),
        ("", None),
    ],
)
def test_names(host: str, key: Key | None) -> None:
    assert service_key(host, "mine") == key


def _pod(name: str, address: str, *, ready: bool = True, **labels: str) -> Pod:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    metadata = {"name": name, "namespace": "mine", "labels": labels}
    return msgspec.convert({"metadata": metadata, "status": {"podIP": address, "conditions": conditions}}, Pod)


_PODS = [_pod("a", "10.42.0.2", ready=False, app="x"), _pod("b", "10.42.0.3", app="x"), _pod("c", "10.42.0.4")]


def _service(**spec: Any) -> Service:
    return msgspec.convert({"spec": spec}, Service)


@pytest.mark.parametrize(
    ("service", "address"),
    [
        (_service(clusterIP="10.43.0.7", selector={"app": "x"}), "10.43.0.7"),
        (_service(clusterIP="None", selector={"app": "x"}), "10.42.0.3"),
        (_service(clusterIP="None", selector={"app": "y"}), None),
        (_service(clusterIP="None"), None),
    ],
)
def test_addresses(service: Service, address: str | None) -> None:
    assert address_of(service, _PODS) == address


def test_the_namespace_of_a_pod() -> None:
    assert namespace_of("10.42.0.4", _PODS) == "mine"
    assert namespace_of("10.42.9.9", _PODS) is None
